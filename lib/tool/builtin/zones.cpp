#include "tool/builtin/zones.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace millrace::tool {
namespace {

constexpr std::int64_t day_seconds = 86'400;
constexpr std::size_t header_bytes = 44;
constexpr std::size_t file_limit = std::size_t{1} << 20U;

// Reads big-endian numbers; what is not there is 0 and remembered.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  std::int64_t number(std::size_t at, std::size_t size) {
    if (at + size > bytes_.size()) {
      is_short_ = true;
      return 0;
    }
    std::uint64_t value = (bytes_[at] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < size; ++i) {
      value = (value << 8U) | static_cast<unsigned char>(bytes_[at + i]);
    }
    return static_cast<std::int64_t>(value);
  }
  std::size_t count(std::size_t at) {
    return static_cast<std::size_t>(number(at, 4) & 0xFFFFFFFFLL);
  }
  [[nodiscard]] std::string_view all() const { return bytes_; }
  [[nodiscard]] bool is_short() const { return is_short_; }

 private:
  std::string_view bytes_;
  bool is_short_ = false;
};

// The counts of one block of a file, in the order in which they are stored.
struct Block {
  Block(Bytes& bytes, std::size_t at, std::size_t time_bytes)
      : utc_flags(bytes.count(at + 20)),
        standard_flags(bytes.count(at + 24)),
        leaps(bytes.count(at + 28)),
        times(bytes.count(at + 32)),
        types(bytes.count(at + 36)),
        characters(bytes.count(at + 40)),
        times_at(at + header_bytes),
        time_size(time_bytes) {}
  [[nodiscard]] std::size_t indexes_at() const { return times_at + times * time_size; }
  [[nodiscard]] std::size_t types_at() const { return indexes_at() + times; }
  [[nodiscard]] std::size_t characters_at() const { return types_at() + types * 6; }
  [[nodiscard]] std::size_t end() const {
    return characters_at() + characters + leaps * (time_size + 4) + standard_flags + utc_flags;
  }
  std::size_t utc_flags, standard_flags, leaps, times, types, characters, times_at, time_size;
};

std::int64_t days_of(std::int64_t year, unsigned month, unsigned day) {
  // Days of the proleptic Gregorian calendar since 1970, with March as the first month.
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const auto year_of_era = static_cast<unsigned>(year - era * 400);
  const unsigned day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const unsigned day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + static_cast<std::int64_t>(day_of_era) - 719'468;
}

std::int64_t year_of(std::int64_t unix_seconds) {
  std::int64_t year = 1970 + unix_seconds / (365 * day_seconds + day_seconds / 4);
  while (days_of(year + 1, 1, 1) * day_seconds <= unix_seconds) ++year;
  while (days_of(year, 1, 1) * day_seconds > unix_seconds) --year;
  return year;
}

// The line at the end of a file: the rule for all years to come, as POSIX writes TZ.
class Rule {
 public:
  explicit Rule(std::string_view text) : rest_(text) {}

  std::optional<ZoneOffset> at(std::int64_t unix_seconds) {
    ZoneOffset standard;
    standard.abbreviation = name();
    standard.seconds = -static_cast<std::int32_t>(time());
    if (!ok_) return std::nullopt;
    if (rest_.empty()) return standard;
    ZoneOffset daylight;
    daylight.is_daylight = true;
    daylight.abbreviation = name();
    daylight.seconds = standard.seconds + 3'600;
    if (!rest_.empty() && rest_.front() != ',')
      daylight.seconds = -static_cast<std::int32_t>(time());
    const std::int64_t year = year_of(unix_seconds + standard.seconds);
    const std::int64_t begins = change(year) - standard.seconds;
    const std::int64_t ends = change(year) - daylight.seconds;
    if (!ok_) return std::nullopt;
    const bool is_daylight = begins < ends ? unix_seconds >= begins && unix_seconds < ends
                                           : unix_seconds >= begins || unix_seconds < ends;
    return is_daylight ? daylight : standard;
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string name() {
    const bool is_quoted = take('<');
    const auto is_part = [&](char c) {
      return is_quoted ? c != '>' : (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    };
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_part);
    std::string found(rest_.begin(), end);
    rest_.remove_prefix(found.size());
    ok_ = ok_ && found.size() >= 3 && (!is_quoted || take('>'));
    return found;
  }

  std::int64_t number() {
    std::int64_t value = 0;
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    ok_ = ok_ && read.ec == std::errc{} && value <= 366;
    rest_.remove_prefix(static_cast<std::size_t>(read.ptr - rest_.data()));
    return value;
  }

  // [+-]hh[:mm[:ss]]
  std::int64_t time() {
    const bool is_negative = take('-');
    if (!is_negative) take('+');
    std::int64_t seconds = number() * 3'600;
    if (take(':')) seconds += number() * 60;
    if (take(':')) seconds += number();
    return is_negative ? -seconds : seconds;
  }

  // Seconds since 1970 by the clock before the change: ",Mm.w.d", ",Jn" or ",n", each with "/time".
  std::int64_t change(std::int64_t year) {
    ok_ = ok_ && take(',');
    std::int64_t day = days_of(year, 1, 1);
    if (take('M')) {
      const auto month = static_cast<unsigned>(number());
      ok_ = ok_ && take('.');
      const std::int64_t week = number();
      ok_ = ok_ && take('.');
      const std::int64_t weekday = number();
      if (!ok_ || month < 1 || month > 12) return 0;
      day = days_of(year, month, 1);
      day += (weekday - (day + 4) % 7 + 7) % 7 + (week - 1) * 7;
      const std::int64_t next = month == 12 ? days_of(year + 1, 1, 1) : days_of(year, month + 1, 1);
      while (day >= next) day -= 7;
    } else if (take('J')) {
      const std::int64_t number_of_day = number();
      const bool is_leap = days_of(year, 3, 1) - days_of(year, 2, 1) == 29;
      day += number_of_day - 1 + (is_leap && number_of_day > 59 ? 1 : 0);
    } else {
      day += number();
    }
    constexpr std::int64_t two_o_clock = 7'200;
    return day * day_seconds + (take('/') ? time() : two_o_clock);
  }

  std::string_view rest_;
  bool ok_ = true;
};

bool is_zone_name(std::string_view zone) {
  return zone.size() <= 64 && zone.front() != '/' && zone.front() != '-' &&
         std::all_of(zone.begin(), zone.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '/' || c == '_' || c == '-' || c == '+';
         });
}

bool is_same_name(std::string_view one, std::string_view other) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

// The file of a zone below a folder, also where the name is written in other capitals: the database
// has no two names that differ in them alone. Empty where there is none.
std::filesystem::path zone_file(std::filesystem::path folder, std::string_view zone) {
  std::error_code failed;
  while (!zone.empty()) {
    const std::string_view part = zone.substr(0, zone.find('/'));
    zone.remove_prefix(std::min(part.size() + 1, zone.size()));
    std::filesystem::path next = folder / part;
    if (!std::filesystem::exists(next, failed)) {
      for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
        if (is_same_name(entry.path().filename().string(), part)) next = entry.path();
      }
    }
    folder = std::move(next);
  }
  return std::filesystem::is_regular_file(folder, failed) ? folder : std::filesystem::path();
}

Error unreadable() {
  return make_error(Errc::invalid_argument,
                    "The file of the time zone cannot be read; install the package tzdata again.");
}

}  // namespace

Result<ZoneOffset> offset_in(std::string_view tzif, std::int64_t unix_seconds) {
  Bytes bytes(tzif);
  if (!tzif.starts_with("TZif") || tzif.size() < header_bytes) return unreadable();
  Block block(bytes, 0, 4);
  const bool has_second = tzif[4] >= '2';
  if (has_second) block = Block(bytes, block.end(), 8);
  if (bytes.is_short() || block.types == 0 || block.end() > tzif.size()) return unreadable();
  std::size_t low = 0;
  std::size_t high = block.times;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const std::int64_t time =
        bytes.number(block.times_at + middle * block.time_size, block.time_size);
    if (time <= unix_seconds) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == block.times && has_second) {
    std::string_view footer = tzif.substr(block.end());
    if (footer.starts_with('\n')) footer.remove_prefix(1);
    footer = footer.substr(0, footer.find('\n'));
    if (const auto found = Rule(footer).at(unix_seconds)) return *found;
  }
  const std::size_t type =
      low == 0 ? 0 : static_cast<unsigned char>(tzif[block.indexes_at() + low - 1]);
  if (type >= block.types) return unreadable();
  const std::size_t at = block.types_at() + type * 6;
  const std::size_t name_at = static_cast<unsigned char>(tzif[at + 5]);
  if (name_at >= block.characters) return unreadable();
  const std::string_view names = tzif.substr(block.characters_at(), block.characters);
  ZoneOffset offset;
  offset.seconds = static_cast<std::int32_t>(bytes.number(at, 4));
  offset.is_daylight = tzif[at + 4] != 0;
  offset.abbreviation = names.substr(name_at, names.find('\0', name_at) - name_at);
  return offset;
}

Result<ZoneOffset> offset_of(std::string_view zone, std::int64_t unix_seconds) {
  if (zone.empty() || zone == "UTC" || zone == "Etc/UTC" || zone == "Z") {
    return ZoneOffset{0, false, "UTC"};
  }
  constexpr std::array<std::string_view, 3> folders{"/usr/share/zoneinfo/", "/usr/lib/zoneinfo/",
                                                    "/etc/zoneinfo/"};
  for (const std::string_view folder : folders) {
    if (!is_zone_name(zone)) break;
    const std::filesystem::path path = zone_file(folder, zone);
    if (path.empty()) continue;
    std::ifstream file(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    if (bytes.size() < file_limit && bytes.starts_with("TZif"))
      return offset_in(bytes, unix_seconds);
  }
  return make_error(Errc::invalid_argument,
                    "There is no time zone '" + std::string(zone) +
                        "': give a name of the IANA database such as Europe/Berlin. (The system's "
                        "package tzdata must be installed.)");
}

}  // namespace millrace::tool
