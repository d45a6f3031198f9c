#include "model/provider/config_read.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/shown.hpp"

namespace millrace::model {
namespace {

using std::chrono::milliseconds;

struct TimeOption {
  std::string_view name;
  milliseconds net::Timeouts::*field;
};
constexpr std::array time_options{
    TimeOption{"connect", &net::Timeouts::connect},
    TimeOption{"firstByte", &net::Timeouts::first_byte},
    TimeOption{"idle", &net::Timeouts::idle},
    TimeOption{"total", &net::Timeouts::total},
};

Result<void> read_count(const json::Value& object, std::string_view name, std::int64_t most,
                        std::int64_t& out) {
  const json::Value value = object[name];
  if (value.is_nothing()) return {};
  const auto number = value.integer();
  if (!number || *number < 1 || *number > most) {
    return invalid_setting("circuit." + std::string(name),
                           "must be a whole number from 1 to " + std::to_string(most),
                           shown_value(value));
  }
  out = *number;
  return {};
}

}  // namespace

Error invalid_setting(std::string_view option, std::string_view must, std::string_view given) {
  std::string message = "`" + std::string(option) + "` " + std::string(must);
  if (!given.empty()) message.append(", not ").append(given);
  return make_error(Errc::invalid_option, message.append("."));
}

Result<void> read_text_setting(const json::Value& root, std::string_view name, std::string& out) {
  const json::Value value = root[name];
  if (value.is_nothing()) return {};
  if (!value.is_string()) return invalid_setting(name, "must be a string", kind_of(value));
  out = json::trim(value.string());
  return {};
}

Result<void> read_headers(const json::Value& root, std::vector<net::Header>& headers) {
  const json::Value value = root["headers"];
  if (value.is_nothing()) return {};
  if (!value.is_object()) {
    return invalid_setting("headers", "must be an object of strings", kind_of(value));
  }
  for (const auto& [name, text] : value.members()) {
    if (text.is_nothing()) continue;
    if (!text.is_string()) {
      return invalid_setting("headers." + std::string(name), "must be a string", kind_of(text));
    }
    headers.push_back({std::string(name), std::string(text.string())});
  }
  return {};
}

Result<void> read_pairs(const json::Value& root, std::string_view name,
                        std::vector<std::pair<std::string, std::string>>& out) {
  const json::Value value = root[name];
  if (value.is_nothing()) return {};
  if (!value.is_object()) {
    return invalid_setting(name, "must be an object of strings", kind_of(value));
  }
  for (const auto& [key, text] : value.members()) {
    if (!text.is_string()) {
      return invalid_setting(std::string(name).append(".").append(key), "must be a string",
                             kind_of(text));
    }
    out.emplace_back(key, text.string());
  }
  return {};
}

Result<void> read_timeouts(const json::Value& root, net::Timeouts& timeouts) {
  const json::Value value = root["timeouts"];
  if (value.is_nothing()) return {};
  if (!value.is_object()) {
    return invalid_setting("timeouts", "must be an object { connect, firstByte, idle, total }",
                           shown_value(value));
  }
  for (const auto& [name, time] : value.members()) {
    const bool known = std::any_of(time_options.begin(), time_options.end(),
                                   [&, given = std::string_view(name)](const TimeOption& option) {
                                     return option.name == given;
                                   });
    if (!known) {
      return invalid_setting("timeouts." + std::string(name),
                             "is unknown; use connect, firstByte, idle or total");
    }
  }
  for (const TimeOption& option : time_options) {
    const json::Value time = value[option.name];
    if (time.is_nothing()) continue;
    const auto ms = time.integer();
    if (!ms || *ms < 0) {
      return invalid_setting("timeouts." + std::string(option.name),
                             "must be a number of milliseconds, or 0 for no limit",
                             shown_value(time));
    }
    timeouts.*option.field = milliseconds(*ms);
  }
  return {};
}

Result<void> read_size(const json::Value& object, std::string_view name, std::size_t& out) {
  const json::Value value = object[name];
  if (value.is_nothing()) return {};
  const auto number = value.integer();
  if (!number || *number < 0) {
    return invalid_setting("limits." + std::string(name),
                           "must be a number of bytes, or 0 for no limit", shown_value(value));
  }
  out = static_cast<std::size_t>(*number);
  return {};
}

Result<void> read_quirks(const json::Value& value, Quirks& quirks) {
  if (value.is_nothing()) return {};
  if (!value.is_object())
    return invalid_setting("quirks", "must be an object { name: true | false }",
                           shown_value(value));
  for (const auto& [name, on] : value.members()) {
    const auto quirk = find_quirk(name);
    if (!quirk) return invalid_setting("quirks." + std::string(name), "is unknown");
    quirks.set(*quirk, on.is_true());
  }
  return {};
}

Result<void> read_circuit(const json::Value& value, CircuitPolicy& policy) {
  if (value.is_nothing() || value.is_true()) return {};
  if (value.is(json::Type::boolean_false)) {
    policy.failures = 0;
    return {};
  }
  if (!value.is_object()) {
    return invalid_setting("circuit", "must be false or an object { failures, windowMs, pauseMs }",
                           shown_value(value));
  }
  constexpr std::int64_t most_failures = 1000;
  constexpr std::int64_t most_milliseconds = 3'600'000;
  auto failures = static_cast<std::int64_t>(policy.failures);
  std::int64_t window = policy.window.count();
  std::int64_t pause = policy.pause.count();
  MILLRACE_TRY(read_count(value, "failures", most_failures, failures));
  MILLRACE_TRY(read_count(value, "windowMs", most_milliseconds, window));
  MILLRACE_TRY(read_count(value, "pauseMs", most_milliseconds, pause));
  policy = {static_cast<std::size_t>(failures), milliseconds(window), milliseconds(pause)};
  return {};
}

}  // namespace millrace::model
