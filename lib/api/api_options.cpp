#include "api/api_options.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "api/webhook_signature.hpp"
#include "base/sha256.hpp"
#include "base/shown.hpp"

namespace millrace::api {
namespace {

using json::Tree;
using json::Type;

Error wrong(std::string_view name, std::string_view wanted) {
  return make_error(Errc::invalid_option,
                    "`api." + std::string(name) + "` must be " + std::string(wanted) + ".");
}

bool is_scope(std::string_view name) {
  return std::find(key_scopes.begin(), key_scopes.end(), name) != key_scopes.end();
}

std::string scope_names() {
  std::string names;
  for (const std::string_view name : key_scopes) {
    names.append(names.empty() ? "" : ", ").append(name);
  }
  return names;
}

template <auto member, class Options>
Result<void> read_text(Options& options, std::string_view name, const Tree& value) {
  if (!value.is_string()) return wrong(name, "a string");
  options.*member = std::string(value.string());
  return {};
}

template <auto member, class Options>
Result<void> read_flag(Options& options, std::string_view name, const Tree& value) {
  if (!value.is_true() && value.type() != Type::boolean_false) {
    return wrong(name, "true or false");
  }
  options.*member = value.is_true();
  return {};
}

template <auto member, class Options>
Result<void> read_texts(Options& options, std::string_view name, const Tree& value) {
  if (!value.is_array()) return wrong(name, "an array of strings");
  for (const Tree& item : value.items()) {
    if (!item.is_string()) return wrong(name, "an array of strings");
    (options.*member).emplace_back(item.string());
  }
  return {};
}

template <auto member, class Options>
Result<void> read_time(Options& options, std::string_view name, const Tree& value) {
  const std::int64_t time = value.integer_or(-1);
  if (time < 0) return wrong(name, "milliseconds");
  options.*member = std::chrono::milliseconds(time);
  return {};
}

template <class Options>
struct OptionRow {
  std::string_view name;
  Result<void> (*read)(Options& options, std::string_view name, const Tree& value);
};

template <class Options, std::size_t size>
Result<void> read_rows(Options& options, std::string_view prefix, const Tree& given,
                       const std::array<OptionRow<Options>, size>& rows) {
  for (const auto& [key, value] : given.members()) {
    if (value.is_null()) continue;
    const std::string name = std::string(prefix) + std::string(key.view());
    const OptionRow<Options>* found = nullptr;
    for (const auto& row : rows) {
      if (key == row.name) found = &row;
    }
    if (found == nullptr) {
      return make_error(Errc::invalid_option,
                        "There is no option " + shown_text("api." + name) + ".");
    }
    MILLRACE_TRY(found->read(options, name, value));
  }
  return {};
}

template <std::int64_t KeyLimits::*member>
Result<void> read_limit(KeyLimits& limits, std::string_view name, const Tree& value) {
  const std::int64_t most = value.integer_or(0);
  if (most <= 0) return wrong(name, "a number of requests");
  limits.*member = most;
  return {};
}

Result<void> read_limits(KeyLimits& limits, const Tree& value) {
  if (value.is_null()) return {};
  if (!value.is_object()) return wrong("keys[].limits", "an object");
  static const std::array<OptionRow<KeyLimits>, 2> rows{{
      {"perMinute", read_limit<&KeyLimits::per_minute>},
      {"perDay", read_limit<&KeyLimits::per_day>},
  }};
  return read_rows(limits, "keys[].limits.", value, rows);
}

Result<void> read_secret(ApiOptions& options, std::string_view name, const Tree& value) {
  const Tree one = value.is_string() ? Tree::array() : value;
  if (!one.is_array()) return wrong(name, "a string or an array of them");
  std::vector<std::string_view> texts;
  for (const Tree& item : one.items()) texts.push_back(item.string());
  if (value.is_string()) texts.push_back(value.string());
  for (const std::string_view text : texts) {
    auto secret = read_webhook_secret(text);
    if (!secret) return std::move(secret).error();
    options.webhook_secrets.push_back(std::move(secret).value());
  }
  return {};
}

Result<void> read_delays(ApiOptions& options, std::string_view name, const Tree& value) {
  constexpr std::size_t most_tries = 100;
  const auto& items = value.items();
  if (items.empty() || items.size() > most_tries) return wrong(name, "1 to 100 times");
  options.webhook_delays.clear();
  for (const Tree& item : items) {
    const std::int64_t time = item.integer_or(-1);
    if (time < 0) return wrong(name, "an array of milliseconds");
    options.webhook_delays.emplace_back(time);
  }
  return {};
}

Result<void> read_webhooks(ApiOptions& options, std::string_view name, const Tree& value) {
  if (!value.is_object()) return wrong(name, "an object");
  static const std::array<OptionRow<ApiOptions>, 2> rows{{
      {"secret", read_secret},
      {"retryDelaysMs", read_delays},
  }};
  return read_rows(options, "webhooks.", value, rows);
}

Result<void> read_bytes(ApiOptions& options, std::string_view name, const Tree& value) {
  const std::int64_t bytes = value.integer_or(0);
  if (bytes <= 0) return wrong(name, "a number of bytes");
  options.attachment_bytes = static_cast<std::uint64_t>(bytes);
  return {};
}

Result<void> read_most_facts(ApiOptions& options, std::string_view name, const Tree& value) {
  const std::int64_t most = value.integer_or(0);
  if (most <= 0) return wrong(name, "a number of facts");
  options.most_facts = static_cast<std::size_t>(most);
  return {};
}

Result<void> read_log_bytes(ApiOptions& options, std::string_view name, const Tree& value) {
  const std::int64_t most = value.integer_or(0);
  if (most <= 0) return wrong(name, "a number of bytes");
  options.job_log_bytes = static_cast<std::size_t>(most);
  return {};
}

Result<void> read_stall(ApiOptions& options, std::string_view name, const Tree& value) {
  const std::int64_t time = value.integer_or(0);
  if (time <= 0) return wrong(name, "milliseconds, and more than 0");
  options.reader_stall = std::chrono::milliseconds(time);
  return {};
}

template <std::int64_t ApiOptions::*member>
Result<void> read_id(ApiOptions& options, std::string_view name, const Tree& value) {
  if (!value.is_number()) return wrong(name, "a number");
  options.*member = value.integer_or(options.*member);
  return {};
}

Result<void> read_ids(ApiOptions& options, std::string_view name, const Tree& value) {
  if (!value.is_array()) return wrong(name, "an array of numbers");
  for (const Tree& id : value.items()) {
    if (!id.is_number()) return wrong(name, "an array of numbers");
    options.admin_ids.push_back(id.integer_or(0));
  }
  return {};
}

Result<void> read_object(ApiOptions& options, std::string_view name, const Tree& value) {
  if (!value.is_object()) return wrong(name, "an object");
  options.probes = value;
  return {};
}

Result<void> read_tools(ApiOptions& options, std::string_view name, const Tree& value) {
  if (!value.is_object()) return wrong(name, "an object");
  static const std::array<OptionRow<ToolExposure>, 7> rows{{
      {"enabled", read_flag<&ToolExposure::is_on>},
      {"expose", read_text<&ToolExposure::expose>},
      {"allow", read_texts<&ToolExposure::allow>},
      {"deny", read_texts<&ToolExposure::deny>},
      {"timeoutMs", read_time<&ToolExposure::timeout>},
      {"callbackAllow", read_texts<&ToolExposure::callback_allow>},
      {"callbackTimeoutMs", read_time<&ToolExposure::callback_timeout>},
  }};
  return read_rows(options.tools, "tools.", value, rows);
}

}  // namespace

std::vector<std::chrono::milliseconds> usual_webhook_delays() {
  using namespace std::chrono_literals;
  return {5s, 30s, 2min, 10min, 30min, 1h, 2h, 4h, 8h, 8h};
}

Result<void> read_api_keys(ApiOptions& options, std::string_view name, const Tree& value) {
  constexpr std::size_t hash_digits = 64;
  static constexpr std::array<std::string_view, 8> members{
      "name", "key", "sha256", "principal", "scopes", "expiresAt", "limits", "password"};
  if (!value.is_array()) return wrong(name, "an array of keys");
  for (const Tree& item : value.items()) {
    for (const auto& [member, unused] : item.members()) {
      if (std::find(members.begin(), members.end(), member.view()) != members.end()) continue;
      return wrong(name,
                   "an array of keys without the member '" + std::string(member.view()) + "'");
    }
    ApiKey key;
    key.name = item["name"].string();
    key.sha256 = item["sha256"].string();
    const std::string_view text = item["key"].string();
    if (!text.empty()) key.sha256 = sha256_hex(text);
    const bool is_empty = !item["key"].is_null() && text.empty();
    key.principal = item["principal"].is_null() ? "local" : item["principal"].string();
    if (const Tree& scopes = item["scopes"]; !scopes.is_null()) {
      MILLRACE_TRY(read_texts<&ApiKey::scopes>(key, "keys[].scopes", scopes));
      const bool are_known = std::all_of(key.scopes.begin(), key.scopes.end(), is_scope);
      if (key.scopes.empty() || !are_known) {
        return wrong("keys[].scopes", "one or more of " + scope_names());
      }
    }
    key.expires_ms = item["expiresAt"].integer_or(item["expiresAt"].is_null() ? 0 : -1);
    MILLRACE_TRY(read_limits(key.limits, item["limits"]));
    key.password = item["password"].string();
    if (key.expires_ms < 0) return wrong("keys[].expiresAt", "milliseconds since 1970");
    if (is_empty || key.sha256.size() != hash_digits || key.principal.empty()) {
      return wrong(name, "an array of objects with a `key`, or its `sha256`, and a `principal`");
    }
    options.keys.push_back(std::move(key));
  }
  return {};
}

Result<ApiOptions> read_api_options(const Tree& options) {
  static const std::array<OptionRow<ApiOptions>, 22> rows{{
      {"agent", read_text<&ApiOptions::agent>},
      {"keys", read_api_keys},
      {"keysFile", read_text<&ApiOptions::keys_file>},
      {"accessLog", read_text<&ApiOptions::access_log>},
      {"trustedProxies", read_texts<&ApiOptions::trusted_proxies>},
      {"webhooks", read_webhooks},
      {"origins", read_texts<&ApiOptions::origins>},
      {"openapi", read_flag<&ApiOptions::has_openapi>},
      {"version", read_text<&ApiOptions::version>},
      {"attachmentBytes", read_bytes},
      {"makesTitles", read_flag<&ApiOptions::makes_titles>},
      {"makesObjects", read_flag<&ApiOptions::makes_objects>},
      {"memoryMax", read_most_facts},
      {"jobLogBytes", read_log_bytes},
      {"readerStallMs", read_stall},
      {"userId", read_id<&ApiOptions::user_id>},
      {"superadminId", read_id<&ApiOptions::superadmin_id>},
      {"adminIds", read_ids},
      {"permission", read_text<&ApiOptions::permission>},
      {"page", read_text<&ApiOptions::page>},
      {"tools", read_tools},
      {"probes", read_object},
  }};
  ApiOptions read;
  if (options.is_null()) return read;
  if (!options.is_object()) return make_error(Errc::invalid_option, "`api` must be an object.");
  MILLRACE_TRY(read_rows(read, "", options, rows));
  return read;
}

}  // namespace millrace::api
