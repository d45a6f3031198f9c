// The tool `time`. Options: "zone": what counts where the model names none ("UTC").
#include <array>
#include <chrono>
#include <cstdio>

#include "tool/builtin/builtin.hpp"
#include "tool/builtin/zones.hpp"
#include "tool/fetch.hpp"

namespace millrace::tool {
namespace {

constexpr std::array<const char*, 7> weekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                              "Thursday", "Friday", "Saturday"};

std::string local_text(std::int64_t unix_seconds, const ZoneOffset& offset, std::string_view zone) {
  using std::chrono::days;
  using std::chrono::seconds;
  const std::chrono::sys_seconds local{seconds(unix_seconds + offset.seconds)};
  const auto day = std::chrono::floor<days>(local);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(local - day);
  const int minutes = offset.seconds / 60;
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d%c%02d:%02d (%s, %s, %s)",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), minutes < 0 ? '-' : '+',
                std::abs(minutes) / 60, std::abs(minutes) % 60,
                weekdays[std::chrono::weekday(day).c_encoding()], std::string(zone).c_str(),
                offset.abbreviation.c_str());
  return text.data();
}

}  // namespace

Result<Tools> make_time(const json::Tree& options, const Surroundings&) {
  auto given = read_text(options, "zone", "UTC");
  if (!given) return std::move(given).error();
  const std::string standard = std::move(given).value();
  if (auto known = offset_of(standard, 0); !known) {
    return make_error(Errc::invalid_option, known.error().message);
  }
  Spec spec;
  spec.name = "time";
  spec.description = "Tells the date, the weekday and the time now in a time zone.";
  spec.parameters =
      R"({"type":"object","properties":{"zone":{"type":"string","maxLength":64,"description":)"
      R"("A name of the IANA database such as Europe/Berlin."}},"additionalProperties":false})";
  spec.effect = Effect::read;
  MILLRACE_TRY(read_approval(options, spec));
  const auto run = [standard](const json::Tree& arguments) {
    const json::Tree& wanted = arguments["zone"];
    const std::string zone = wanted.string().empty() ? standard : std::string(wanted.string());
    const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count();
    const auto offset = offset_of(zone, now);
    return offset ? ToolOutcome{.content = local_text(now, offset.value(), zone)}
                  : failed(offset.error());
  };
  return Tools{std::make_shared<InstantTool>(std::move(spec), run)};
}

}  // namespace millrace::tool
