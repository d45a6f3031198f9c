#include "model/provider/config.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/json.hpp"
#include "base/shown.hpp"
#include "base/spelling.hpp"
#include "model/provider/address.hpp"
#include "model/provider/api_mode.hpp"
#include "model/provider/config_read.hpp"
#include "model/provider/dialects.hpp"
#include "model/provider/route.hpp"
#include "net/request_rules.hpp"

namespace millrace::model {
namespace {

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

Error unknown_provider(std::string_view id) {
  std::vector<std::string_view> known;
  for (const Provider& provider : providers()) known.push_back(provider.id);
  const auto meant = meant_by(id, known);
  std::string message = "There is no model provider \"" + std::string(id) + "\". ";
  message.append(meant ? "Did you mean \"" + std::string(*meant) + "\"? "
                       : "A server of your own is asked as the provider whose API it speaks, with "
                         "`baseURL`: openai for most. ");
  return make_error(Errc::unknown_provider, message + "`npx millrace providers` lists them all.");
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
  if (!value.is_array()) {
    return invalid_setting("apiKey", "must be a string or a list of strings", kind_of(value));
  }
  for (const json::Value key : value.items()) {
    if (!key.is_string()) {
      return invalid_setting("apiKey", "must be a string or a list of strings",
                             "a list with " + kind_of(key));
    }
    if (const auto text = json::trim(key.string()); !text.empty()) {
      config.api_keys.emplace_back(text);
    }
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
  if (!custom.is_object()) return invalid_setting("custom", "must be an object", kind_of(custom));
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
    if (!dialect)
      return invalid_setting("custom.dialect", "must be the name of a dialect", shown_text(*name));
    row.dialect = *dialect;
  }
  if (const auto name = custom["auth"].filled_string()) {
    const auto auth = find_auth(*name);
    if (!auth)
      return invalid_setting("custom.auth", "must be the name of an authentication",
                             shown_text(*name));
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

Result<void> read_api_mode(const json::Value& root, std::string& mode) {
  MILLRACE_TRY(read_text_setting(root, "apiMode", mode));
  if (mode.empty() || is_api_mode(mode)) return {};
  return invalid_setting("apiMode", api_modes, shown_text(mode));
}

Result<void> read_base_url(const json::Value& root, ProviderConfig& config) {
  std::string url;
  MILLRACE_TRY(read_text_setting(root, "baseURL", url));
  if (url.empty()) return {};
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return make_error(Errc::invalid_url, "`baseURL` of " + config.id +
                                             " must begin with http:// or https://, not " +
                                             shown_address(url) + ".");
  }
  config.base_url = without_tail(std::move(url), row_of(config.provider->dialect).tails);
  // Azure's portal shows the address of one of its APIs; the paths of all begin at the resource.
  constexpr std::string_view azure_tails = "/openai/v1,/openai";
  if (config.provider->quirks.has(Quirk::resource_address)) {
    config.base_url = without_tail(std::move(config.base_url), azure_tails);
  }
  config.own_base_url = true;
  return {};
}

Result<void> read_credentials(const json::Value& root, ProviderConfig& config) {
  MILLRACE_TRY(read_keys(root, config));
  const json::Value value = root["credentials"];
  if (value.is_object()) config.credentials_json = value.to_json();
  if (value.is_string()) config.credentials_json = json::trim(value.string());
  for (const AwsOption& option : aws_options) {
    MILLRACE_TRY(read_text_setting(root, option.name, config.aws.*option.field));
  }
  return {};
}

// A call decides itself whether its answer is a stream, and its usage must be known.
Result<void> read_body_patch(const json::Value& patch, std::string& out) {
  if (patch.is_nothing()) return {};
  if (!patch.is_object()) return invalid_setting("body", "must be an object, a JSON merge patch");
  if (patch["stream"].exists()) {
    return invalid_setting("body", "must not change `stream`: call stream() or chat() instead");
  }
  const json::Value options = patch["stream_options"];
  const json::Value usage = options["include_usage"];
  const bool keeps_usage =
      !options.exists() || (options.is_object() && (!usage.exists() || usage.is_true()));
  if (!keeps_usage) {
    return invalid_setting("body",
                           "must not remove `stream_options.include_usage`: the usage of "
                           "the answer would be unknown");
  }
  out = patch.to_json(json::Surrogates::keep);
  return {};
}

Result<void> read_temperature_scale(const json::Value& scale, bool& is_lobe) {
  if (scale.is_nothing()) return {};
  if (scale.string() != "lobe") return invalid_setting("temperatureScale", "must be \"lobe\"");
  is_lobe = true;
  return {};
}

// A key file names the project that it belongs to.
void take_project(ProviderConfig& config) {
  if (!config.project.empty() || config.credentials_json.empty()) return;
  json::Document document;
  const auto account = document.parse(config.credentials_json);
  if (account) config.project = account.value()["project_id"].string();
}

std::optional<ContextOverflow> read_overflow(const json::Value& value) {
  if (!value.is_object()) return std::nullopt;
  ContextOverflow overflow;
  overflow.sentence = value["message"].string();
  overflow.window = value["ctx"].integer().value_or(0);
  overflow.prompt = value["promptTokens"].integer().value_or(0);
  overflow.short_by = value["shortBy"].integer().value_or(0);
  overflow.answer = value["minOutputTokens"].integer();
  return overflow;
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
  if (config.limits.header_bytes > net::most_header_bytes) {
    return invalid_setting("limits.headerBytes", "must be at most 98304 (96 KiB)",
                           std::to_string(config.limits.header_bytes));
  }
  MILLRACE_TRY(read_size(root["limits"], "decodedBytes", config.limits.decoded_bytes));
  MILLRACE_TRY(read_quirks(root["quirks"], config.quirks));
  MILLRACE_TRY(read_api_mode(root, config.api_mode));
  MILLRACE_TRY(read_circuit(root["circuit"], config.circuit));
  for (const TextOption& option : text_options) {
    MILLRACE_TRY(read_text_setting(root, option.name, config.*option.field));
  }
  take_project(config);
  config.too_long = read_overflow(root["tooLong"]);
  for (const auto& [key, value] : root["extraBody"].members()) {
    config.extra_body.emplace_back(key, value.to_json());
  }
  MILLRACE_TRY(read_body_patch(root["body"], config.body_patch));
  MILLRACE_TRY(read_temperature_scale(root["temperatureScale"], config.lobe_temperature));
  auto route = read_route(root);
  if (!route) return std::move(route).error();
  config.route = std::move(route).value();
  const json::Value retries = root["maxRetries"];
  if (retries.is_nothing()) return {};
  constexpr int most_retries = 100;
  const auto number = retries.integer();
  if (!number || *number < 0 || *number > most_retries) {
    return invalid_setting("maxRetries", "must be a whole number from 0 to 100",
                           shown_value(retries));
  }
  config.max_retries = static_cast<int>(*number);
  return {};
}

void set_defaults(ProviderConfig& config) {
  config.timeouts.first_byte = seconds(300);
  config.timeouts.idle = seconds(300);
}

}  // namespace

bool is_another_server(const ProviderConfig& config) {
  return config.own_base_url && !config.provider->base_url.empty();
}

bool is_openai_server(const ProviderConfig& config) {
  return config.quirks.has(Quirk::openai_server) && !is_another_server(config);
}

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
  if (!id)
    return invalid_setting("provider", "must be the name of a provider",
                           shown_value(root["provider"]));
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
                          "\" has no model name. Write provider:model, for example "
                          "openai:gpt-4o-mini.");
  }
  return ModelName{std::string(provider->id), std::string(model)};
}

}  // namespace millrace::model
