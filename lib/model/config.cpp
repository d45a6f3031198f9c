#include "model/config.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/json.hpp"
#include "model/address.hpp"
#include "model/dialects.hpp"
#include "model/route.hpp"

namespace millrace::model {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A row that a user wrote, and the texts it points to.
struct CustomRow {
  Provider row;
  std::vector<std::unique_ptr<std::string>> texts;

  std::string_view keep(std::string_view text) {
    texts.push_back(std::make_unique<std::string>(text));
    return *texts.back();
  }
};

Error invalid(std::string_view option, std::string_view must) {
  return make_error(Errc::invalid_option,
                    "`" + std::string(option) + "` " + std::string(must) + ".");
}

Error unknown_provider(std::string_view id) {
  return make_error(Errc::unknown_provider, "There is no model provider \"" + std::string(id) +
                                                "\". There are " + provider_ids() + ".");
}

struct TextOption {
  std::string_view name;
  std::string ProviderConfig::*field;
};
constexpr std::array text_options{
    TextOption{"region", &ProviderConfig::region},
    TextOption{"project", &ProviderConfig::project},
    TextOption{"location", &ProviderConfig::location},
    TextOption{"accountId", &ProviderConfig::account_id},
    TextOption{"apiVersion", &ProviderConfig::api_version},
    TextOption{"deployment", &ProviderConfig::deployment},
};

struct AwsOption {
  std::string_view name;
  std::string AwsKeys::*field;
};
constexpr std::array aws_options{
    AwsOption{"accessKeyId", &AwsKeys::access_key_id},
    AwsOption{"secretAccessKey", &AwsKeys::secret_access_key},
    AwsOption{"sessionToken", &AwsKeys::session_token},
};

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

Result<void> read_text(const json::Value& root, std::string_view name, std::string& out) {
  const json::Value value = root[name];
  if (value.is_nothing()) return {};
  if (!value.is_string()) return invalid(name, "must be a string");
  out = json::trim(value.string());
  return {};
}

void add_keys(std::vector<std::string>& keys, std::string_view text) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view key = json::trim(text.substr(0, comma));
    if (!key.empty()) keys.emplace_back(key);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

// One key, several separated by commas, or a list. A service account's JSON is one key.
Result<void> read_keys(const json::Value& root, ProviderConfig& config) {
  const json::Value value = root["apiKey"];
  if (value.is_nothing()) return {};
  if (value.is_string()) {
    const std::string_view text = json::trim(value.string());
    if (text.starts_with('{')) {
      config.credentials_json = text;
    } else {
      add_keys(config.api_keys, text);
    }
    return {};
  }
  if (!value.is_array()) return invalid("apiKey", "must be a string or a list of strings");
  for (const json::Value key : value.items()) {
    if (!key.is_string()) return invalid("apiKey", "must be a string or a list of strings");
    if (const auto text = json::trim(key.string()); !text.empty()) {
      config.api_keys.emplace_back(text);
    }
  }
  return {};
}

Result<void> read_headers(const json::Value& root, std::vector<net::Header>& headers) {
  const json::Value value = root["headers"];
  if (value.is_nothing()) return {};
  if (!value.is_object()) return invalid("headers", "must be an object of strings");
  for (const auto& [name, text] : value.members()) {
    if (text.is_nothing()) continue;
    if (!text.is_string()) return invalid("headers", "must be an object of strings");
    headers.push_back({std::string(name), std::string(text.string())});
  }
  return {};
}

Result<void> read_pairs(const json::Value& root, std::string_view name,
                        std::vector<std::pair<std::string, std::string>>& out) {
  const json::Value value = root[name];
  if (value.is_nothing()) return {};
  if (!value.is_object()) return invalid(name, "must be an object of strings");
  for (const auto& [key, text] : value.members()) {
    if (!text.is_string()) return invalid(name, "must be an object of strings");
    out.emplace_back(key, text.string());
  }
  return {};
}

Result<void> read_timeouts(const json::Value& root, net::Timeouts& timeouts) {
  const json::Value value = root["timeouts"];
  if (value.is_nothing()) return {};
  if (!value.is_object()) {
    return invalid("timeouts", "must be an object { connect, firstByte, idle, total }");
  }
  for (const auto& [name, time] : value.members()) {
    const bool known = std::any_of(time_options.begin(), time_options.end(),
                                   [&, given = std::string_view(name)](const TimeOption& option) {
                                     return option.name == given;
                                   });
    if (!known) return invalid("timeouts." + std::string(name), "is unknown");
  }
  for (const TimeOption& option : time_options) {
    const json::Value time = value[option.name];
    if (time.is_nothing()) continue;
    const auto ms = time.integer();
    if (!ms || *ms < 0) {
      return invalid("timeouts." + std::string(option.name),
                     "must be milliseconds, 0 for no limit");
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
    return invalid("limits." + std::string(name), "must be a number of bytes, 0 for no limit");
  }
  out = static_cast<std::size_t>(*number);
  return {};
}

Result<void> read_quirks(const json::Value& value, Quirks& quirks) {
  if (value.is_nothing()) return {};
  if (!value.is_object()) return invalid("quirks", "must be an object { name: true | false }");
  for (const auto& [name, on] : value.members()) {
    const auto quirk = find_quirk(name);
    if (!quirk) return invalid("quirks." + std::string(name), "is unknown");
    quirks.set(*quirk, on.is_true());
  }
  return {};
}

std::string joined(const json::Value& list) {
  if (list.is_string()) return std::string(list.string());
  std::string text;
  for (const json::Value item : list.items()) {
    if (!text.empty()) text.push_back(',');
    text.append(item.string());
  }
  return text;
}

// A vendor that is not in the table, or one that changes a row of it.
Result<void> read_custom(const json::Value& custom, ProviderConfig& config) {
  if (!custom.is_object()) return invalid("custom", "must be an object");
  auto made = std::make_shared<CustomRow>();
  if (config.provider != nullptr) made->row = *config.provider;
  Provider& row = made->row;
  row.id = made->keep(config.id);
  if (const auto name = custom["name"].filled_string()) row.name = made->keep(*name);
  if (row.name.empty()) row.name = row.id;
  if (const auto url = custom["baseURL"].filled_string()) row.base_url = made->keep(*url);
  if (const auto path = custom["path"].filled_string()) row.path = made->keep(*path);
  if (const auto name = custom["dialect"].filled_string()) {
    const auto dialect = find_dialect(*name);
    if (!dialect) return invalid("custom.dialect", "names no dialect");
    row.dialect = *dialect;
  }
  if (const auto name = custom["auth"].filled_string()) {
    const auto auth = find_auth(*name);
    if (!auth) return invalid("custom.auth", "names no way to authenticate");
    row.auth = *auth;
  }
  if (!custom["keyNames"].is_nothing()) row.key_names = made->keep(joined(custom["keyNames"]));
  if (!custom["models"].is_nothing()) row.models = made->keep(joined(custom["models"]));
  MILLRACE_TRY(read_headers(custom, config.headers));
  MILLRACE_TRY(read_quirks(custom["quirks"], row.quirks));
  config.provider = &row;
  config.custom = std::move(made);
  return {};
}

// `chatCompletion` is LobeHub's word.
Result<void> read_api_mode(const json::Value& root, std::string& mode) {
  MILLRACE_TRY(read_text(root, "apiMode", mode));
  if (mode == "chatCompletion") mode = "chat";
  constexpr std::array<std::string_view, 5> modes{"", "chat", "responses", "anthropic", "gemini"};
  if (std::find(modes.begin(), modes.end(), mode) != modes.end()) return {};
  return invalid("apiMode", "must be \"chat\", \"responses\", \"anthropic\" or \"gemini\"");
}

Result<void> read_base_url(const json::Value& root, ProviderConfig& config) {
  std::string url;
  MILLRACE_TRY(read_text(root, "baseURL", url));
  if (url.empty()) return {};
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return make_error(Errc::invalid_url,
                      "The base URL of " + config.id + " must begin with http:// or https://.");
  }
  config.base_url = without_tail(std::move(url), row_of(config.provider->dialect).tails);
  config.own_base_url = true;
  return {};
}

Result<void> read_credentials(const json::Value& root, ProviderConfig& config) {
  MILLRACE_TRY(read_keys(root, config));
  const json::Value value = root["credentials"];
  if (value.is_object()) config.credentials_json = value.to_json();
  if (value.is_string()) config.credentials_json = json::trim(value.string());
  for (const AwsOption& option : aws_options) {
    MILLRACE_TRY(read_text(root, option.name, config.aws.*option.field));
  }
  return {};
}

// A key file names the project that it belongs to.
void take_project(ProviderConfig& config) {
  if (!config.project.empty() || config.credentials_json.empty()) return;
  json::Document document;
  const auto account = document.parse(config.credentials_json);
  if (account) config.project = account.value()["project_id"].string();
}

Result<void> read_count(const json::Value& object, std::string_view name, std::int64_t most,
                        std::int64_t& out) {
  const json::Value value = object[name];
  if (value.is_nothing()) return {};
  const auto number = value.integer();
  if (!number || *number < 1 || *number > most) {
    return invalid("circuit." + std::string(name),
                   "must be a number from 1 to " + std::to_string(most));
  }
  out = *number;
  return {};
}

Result<void> read_circuit(const json::Value& value, CircuitPolicy& policy) {
  if (value.is_nothing() || value.is_true()) return {};
  if (value.is(json::Type::boolean_false)) {
    policy.failures = 0;
    return {};
  }
  if (!value.is_object()) {
    return invalid("circuit", "must be false or an object { failures, windowMs, pauseMs }");
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

Result<void> read_rest(const json::Value& root, ProviderConfig& config) {
  MILLRACE_TRY(read_base_url(root, config));
  MILLRACE_TRY(read_credentials(root, config));
  MILLRACE_TRY(read_headers(root, config.headers));
  MILLRACE_TRY(read_pairs(root, "query", config.query));
  MILLRACE_TRY(read_pairs(root, "deployments", config.deployments));
  MILLRACE_TRY(read_pairs(root, "errorNames", config.error_names));
  MILLRACE_TRY(read_timeouts(root, config.timeouts));
  MILLRACE_TRY(read_size(root["limits"], "headerBytes", config.limits.header_bytes));
  MILLRACE_TRY(read_size(root["limits"], "decodedBytes", config.limits.decoded_bytes));
  MILLRACE_TRY(read_quirks(root["quirks"], config.quirks));
  MILLRACE_TRY(read_api_mode(root, config.api_mode));
  MILLRACE_TRY(read_circuit(root["circuit"], config.circuit));
  for (const TextOption& option : text_options) {
    MILLRACE_TRY(read_text(root, option.name, config.*option.field));
  }
  take_project(config);
  for (const auto& [key, value] : root["extraBody"].members()) {
    config.extra_body.emplace_back(key, value.to_json());
  }
  auto route = read_route(root);
  if (!route) return std::move(route).error();
  config.route = std::move(route).value();
  const json::Value retries = root["maxRetries"];
  if (retries.is_nothing()) return {};
  constexpr int most_retries = 100;
  const auto number = retries.integer();
  if (!number || *number < 0 || *number > most_retries) {
    return invalid("maxRetries", "must be a number from 0 to 100");
  }
  config.max_retries = static_cast<int>(*number);
  return {};
}

// The last word of a name, in lower case: "key" of "X-Api-Key", "api_key" and "apiKey".
std::string last_word(std::string_view name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::size_t start = name.size();
  while (start > 0) {
    const char before = name[start - 1];
    if (before == '-' || before == '_' || before == '.') break;
    const bool begins_a_word = start < name.size() && is_upper(name[start]) && !is_upper(before);
    if (begins_a_word) break;
    --start;
  }
  std::string word(name.substr(start));
  std::transform(word.begin(), word.end(), word.begin(),
                 [&](char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; });
  return word;
}

// Whether a header or a member of the query is called as what carries a secret is: the word that
// says so comes last, "X-Auth-Env" and "X-Key-Id" name something else.
bool tells_secret(std::string_view name) {
  constexpr std::array<std::string_view, 17> telling{
      "auth",        "authorization", "key",    "apikey",       "token",    "authtoken",
      "accesstoken", "secret",        "cookie", "clientsecret", "session",  "password",
      "passwd",      "credential",    "sig",    "credentials",  "signature"};
  return std::find(telling.begin(), telling.end(), last_word(name)) != telling.end();
}

// What a header or a member of the query carries: "Bearer <key>", "sid=<key>; other=<key>",
// "<key>".
void add_carried_secrets(std::vector<std::string>& secrets, std::string_view name,
                         std::string_view value) {
  if (!tells_secret(name)) return;
  constexpr std::size_t shortest = 8;  // less would match ordinary words
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of(" ;,"), value.size());
    std::string_view piece = value.substr(0, end);
    const std::size_t equals = piece.find('=');
    // The padding of base64 stands at its end.
    const bool is_pair = equals != std::string_view::npos &&
                         piece.find_first_not_of('=', equals) != std::string_view::npos;
    if (is_pair) piece.remove_prefix(equals + 1);
    if (piece.size() >= shortest) secrets.emplace_back(piece);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
}

void set_defaults(ProviderConfig& config) {
  config.timeouts.first_byte = seconds(300);
  config.timeouts.idle = seconds(300);
}

}  // namespace

Result<ProviderConfig> config_of(std::string_view provider_id) {
  ProviderConfig config;
  config.provider = find_provider(provider_id);
  if (config.provider == nullptr) return unknown_provider(provider_id);
  config.id = config.provider->id;
  config.base_url = config.provider->base_url;
  config.quirks = config.provider->quirks;
  set_defaults(config);
  return config;
}

Result<ProviderConfig> read_config(std::string_view text) {
  json::Document document;
  auto parsed = document.parse(text);
  if (!parsed) return std::move(parsed).error();
  const json::Value root = parsed.value();
  const auto id = root["provider"].filled_string();
  if (!id) return invalid("provider", "must name a provider");
  ProviderConfig config;
  config.provider = find_provider(*id);
  config.id = config.provider != nullptr ? std::string(config.provider->id) : std::string(*id);
  if (const json::Value custom = root["custom"]; !custom.is_nothing()) {
    MILLRACE_TRY(read_custom(custom, config));
  }
  if (config.provider == nullptr) return unknown_provider(*id);
  config.base_url = config.provider->base_url;
  config.quirks = config.provider->quirks;
  set_defaults(config);
  MILLRACE_TRY(read_rest(root, config));
  return config;
}

Result<ModelName> read_model_name(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const Provider* provider = find_provider(text.substr(0, colon));
  if (provider == nullptr) return unknown_provider(text.substr(0, colon));
  const std::string_view model = text.substr(std::min(colon + 1, text.size()));
  if (model.empty()) {
    return make_error(Errc::invalid_option,
                      "The model \"" + std::string(text) +
                          "\" names no model. Write provider:model, for example "
                          "openai:gpt-4o-mini.");
  }
  return ModelName{std::string(provider->id), std::string(model)};
}

std::vector<std::string> secrets_of(const ProviderConfig& config) {
  std::vector<std::string> secrets = config.api_keys;
  for (const net::Header& header : config.headers) {
    add_carried_secrets(secrets, header.name, header.value);
  }
  for (const auto& [name, value] : config.query) add_carried_secrets(secrets, name, value);
  for (const std::string* text : {&config.aws.access_key_id, &config.aws.secret_access_key,
                                  &config.aws.session_token, &config.credentials_json}) {
    if (!text->empty()) secrets.push_back(*text);
  }
  return secrets;
}

}  // namespace millrace::model
