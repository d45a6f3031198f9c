#include "model/call/retry_after.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "base/read_float.hpp"

namespace millrace::model {
namespace {

using std::chrono::milliseconds;

std::string_view header_of(std::span<const net::Header> headers, std::string_view name) {
  for (const net::Header& header : headers) {
    // A fetch function may leave blanks behind the value.
    if (equal_ignoring_case(header.name, name)) return json::trim(header.value);
  }
  return {};
}

std::optional<double> take_number(std::string_view& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = read_float(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()));
  return number;
}

std::optional<double> number_of(std::string_view text) {
  const auto number = take_number(text);
  return number && text.empty() ? number : std::nullopt;
}

// Longer than any wait that is kept, and short enough to calculate with.
constexpr double longest_ms = 1e12;

milliseconds from_ms(double ms) {
  return milliseconds(static_cast<std::int64_t>(std::ceil(std::min(ms, longest_ms))));
}

milliseconds until(RetryTime moment, RetryTime now) {
  return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(moment - now));
}

struct Unit {
  std::string_view name;
  double ms;
};
constexpr std::array<Unit, 7> units{
    {{"ms", 1.0}, {"us", 1e-3}, {"ns", 1e-6}, {"h", 3.6e6}, {"m", 6e4}, {"s", 1e3}, {"d", 8.64e7}}};

// Digits of a fixed field; a blank before them counts as none.
std::optional<int> field(std::string_view text, std::size_t at, std::size_t size) {
  if (at + size > text.size()) return std::nullopt;
  std::string_view digits = text.substr(at, size);
  while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

constexpr std::chrono::year first_year{1970};
constexpr std::chrono::year last_year{2200};

struct Parts {
  std::optional<int> year, month, day, hour, minute, second;
};

std::optional<RetryTime> moment_of(const Parts& p) {
  if (!p.year || !p.month || !p.day || !p.hour || !p.minute || !p.second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*p.year),
                                         std::chrono::month(static_cast<unsigned>(*p.month)),
                                         std::chrono::day(static_cast<unsigned>(*p.day))};
  if (!date.ok() || *p.hour > 23 || *p.minute > 59 || *p.second > 60) return std::nullopt;
  // A clock that counts nanoseconds knows no year 9999.
  if (date.year() < first_year) return RetryTime(std::chrono::sys_days(first_year / 1 / 1));
  if (date.year() > last_year) return RetryTime(std::chrono::sys_days(last_year / 1 / 1));
  return std::chrono::sys_days(date) + std::chrono::hours(*p.hour) +
         std::chrono::minutes(*p.minute) + std::chrono::seconds(*p.second);
}

std::optional<int> month_of(std::string_view text) {
  constexpr std::string_view names = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() < 3) return std::nullopt;
  const std::size_t at = names.find(text.substr(0, 3));
  if (at == std::string_view::npos || at % 3 != 0) return std::nullopt;
  return static_cast<int>(at / 3) + 1;
}

// "Sun, 06 Nov 1994 08:49:37 GMT"; with two digits of the year and a full name of the day before
// 1997.
std::optional<RetryTime> read_http_date(std::string_view text) {
  const std::size_t comma = text.find(", ");
  if (comma == std::string_view::npos) {
    // "Sun Nov  6 08:49:37 1994"
    if (text.size() != 24) return std::nullopt;
    return moment_of({field(text, 20, 4), month_of(text.substr(4)), field(text, 8, 2),
                      field(text, 11, 2), field(text, 14, 2), field(text, 17, 2)});
  }
  const std::string_view rest = text.substr(comma + 2);
  if (rest.size() == 24 && rest[2] == ' ') {
    return moment_of({field(rest, 7, 4), month_of(rest.substr(3)), field(rest, 0, 2),
                      field(rest, 12, 2), field(rest, 15, 2), field(rest, 18, 2)});
  }
  if (rest.size() != 22 || rest[2] != '-') return std::nullopt;
  auto year = field(rest, 7, 2);
  if (year) *year += *year < 70 ? 2000 : 1900;
  return moment_of({year, month_of(rest.substr(3)), field(rest, 0, 2), field(rest, 10, 2),
                    field(rest, 13, 2), field(rest, 16, 2)});
}

// "2026-01-31T08:00:00Z", with a fraction or an offset.
std::optional<RetryTime> read_iso_date(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || (text[10] != 'T' && text[10] != ' '))
    return std::nullopt;
  auto moment = moment_of({field(text, 0, 4), field(text, 5, 2), field(text, 8, 2),
                           field(text, 11, 2), field(text, 14, 2), field(text, 17, 2)});
  if (!moment) return std::nullopt;
  const std::string_view rest =
      text.substr(std::min(text.find_first_not_of("0123456789.", 19), text.size()));
  if (rest.size() == 6 && (rest[0] == '+' || rest[0] == '-')) {
    const auto hours = field(rest, 1, 2);
    const auto minutes = field(rest, 4, 2);
    if (!hours || !minutes) return std::nullopt;
    const auto offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
    return rest[0] == '+' ? *moment - offset : *moment + offset;
  }
  return moment;
}

// One limit of a vendor: what is left of it, and when it is full again.
struct ResetRow {
  std::string_view remaining;
  std::string_view reset;
};
constexpr std::array<ResetRow, 9> resets{{
    {"x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"},
    {"x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"},
    {"anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"},
    {"anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"},
    {"anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"},
    {"anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"},
    {"x-ratelimit-remaining", "x-ratelimit-reset"},
    {"ratelimit-remaining", "ratelimit-reset"},
    {"x-ratelimit-remaining", "x-ratelimit-timeremaining"},
}};

// A duration, a moment, or a number: seconds from now, or of the epoch, or its milliseconds.
std::optional<milliseconds> read_reset(std::string_view text, RetryTime now) {
  constexpr double epoch_seconds = 1e9;
  constexpr double epoch_ms = 1e12;
  if (const auto number = number_of(text)) {
    if (*number < epoch_seconds) return from_ms(*number * 1e3);
    constexpr double last_ms = 7e12;  // as late as a moment may be
    const double since = *number < epoch_ms ? *number * 1e3 : *number;
    return until(RetryTime(milliseconds(static_cast<std::int64_t>(std::min(since, last_ms)))), now);
  }
  if (const auto duration = read_duration(text)) return duration;
  if (const auto moment = read_moment(text)) return until(*moment, now);
  return std::nullopt;
}

// The longest wait among the limits that have nothing left.
std::optional<milliseconds> reset_of(std::span<const net::Header> headers, RetryTime now) {
  std::optional<milliseconds> longest;
  for (const ResetRow& row : resets) {
    if (number_of(header_of(headers, row.remaining)).value_or(1) > 0) continue;
    const auto wait = read_reset(header_of(headers, row.reset), now);
    if (wait && (!longest || *wait > *longest)) longest = wait;
  }
  return longest;
}

}  // namespace

std::optional<milliseconds> read_duration(std::string_view text) {
  if (const auto seconds = number_of(text)) return from_ms(*seconds * 1e3);
  double total = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto number = take_number(text);
    const auto* unit = std::find_if(units.begin(), units.end(),
                                    [&](const Unit& u) { return text.starts_with(u.name); });
    if (!number || unit == units.end()) return std::nullopt;
    total += *number * unit->ms;
    text.remove_prefix(unit->name.size());
  }
  return from_ms(total);
}

std::optional<RetryTime> read_moment(std::string_view text) {
  if (const auto iso = read_iso_date(text)) return iso;
  return read_http_date(text);
}

std::optional<milliseconds> retry_after_of(std::span<const net::Header> headers, RetryTime now) {
  if (const auto ms = number_of(header_of(headers, "retry-after-ms"))) return from_ms(*ms);
  const std::string_view reported = header_of(headers, "retry-after");
  if (const auto seconds = number_of(reported)) return from_ms(*seconds * 1e3);
  if (const auto moment = read_moment(reported)) return until(*moment, now);
  return reset_of(headers, now);
}

std::optional<bool> should_retry_of(std::span<const net::Header> headers) {
  const std::string_view reported = header_of(headers, "x-should-retry");
  if (equal_ignoring_case(reported, "true")) return true;
  if (equal_ignoring_case(reported, "false")) return false;
  return std::nullopt;
}

std::optional<milliseconds> retry_after_in(std::string_view sentence) {
  constexpr std::array<std::string_view, 3> leads{"try again in ", "retry in ", "retry after "};
  for (const std::string_view lead : leads) {
    const std::size_t at = sentence.find(lead);
    if (at == std::string_view::npos) continue;
    std::string_view rest = sentence.substr(at + lead.size());
    rest = rest.substr(0, rest.find_first_not_of("0123456789.hmsd"));
    while (rest.ends_with('.')) rest.remove_suffix(1);
    if (const auto duration = read_duration(rest)) return duration;
  }
  return std::nullopt;
}

}  // namespace millrace::model
