// How one provider is reached: its row and what the user set.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/provider/providers.hpp"
#include "net/client.hpp"

namespace millrace::model {

struct AwsKeys {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;
};

// When a provider that keeps failing is left alone (circuit.hpp).
struct CircuitPolicy {
  std::size_t failures = 10;  // within the window; 0: never
  std::chrono::milliseconds window{30'000};
  std::chrono::milliseconds pause{30'000};
};

// A conversation that is larger than a model's window, as somebody else has counted it. In tokens.
struct ContextOverflow {
  std::string sentence;
  std::int64_t window = 0;
  std::int64_t prompt = 0;
  std::int64_t short_by = 0;
  std::optional<std::int64_t> answer;  // what the answer needs, where that counts
};

struct ProviderConfig {
  // Never nullptr in a config that read_config or config_of made; static, or kept by `custom`.
  const Provider* provider = nullptr;
  std::shared_ptr<const void> custom;
  std::string id;
  std::string base_url;       // filled in, no slash at its end
  bool own_base_url = false;  // the user gave it
  std::vector<std::string> api_keys;
  AwsKeys aws;
  std::string credentials_json;  // Vertex: a service account
  std::vector<net::Header> headers;
  std::vector<std::pair<std::string, std::string>> query;
  std::string region, project, location, account_id, api_version;
  std::string deployment;                                        // of every model
  std::vector<std::pair<std::string, std::string>> deployments;  // model -> deployment
  std::string api_mode;  // see api_mode.hpp; "" leaves it to the provider
  std::optional<ContextOverflow> too_long;
  // Members put into every body, JSON text each; they replace those that are there.
  std::vector<std::pair<std::string, std::string>> extra_body;
  std::string body_patch;         // a JSON merge patch (RFC 7396) of every chat's body, or ""
  bool lobe_temperature = false;  // as of a payload
  Quirks quirks;                  // of the row, with the user's changes
  net::Timeouts timeouts;
  net::Limits limits;
  std::shared_ptr<const net::Route> route;  // proxy and certificates; nullptr: none of its own
  // What the host calls classes of errors: the usual name -> its own.
  std::vector<std::pair<std::string, std::string>> error_names;
  int max_retries = 2;
  CircuitPolicy circuit;
};

// Whether the user's address stands for the vendor's own.
bool is_another_server(const ProviderConfig& config);

// Whether the server is OpenAI's own, or Azure's, which has no address but the user's.
bool is_openai_server(const ProviderConfig& config);

// Reads a provider's settings.
// Shape: { provider, apiKey?: "k" | "k1,k2" | [..], baseURL?, headers?, query?, timeouts?: {
// connect, firstByte, idle, total }, limits?: { headerBytes, decodedBytes }, maxRetries?, circuit?:
// false | { failures?, windowMs?, pauseMs? }, region?,
// project?, location?, accountId?, apiVersion?, deployment?, deployments?: { model: name },
// errorNames?: { class: name }, extraBody?: {}, body?: {}, temperatureScale?: "lobe", tooLong?: {
// message, ctx, promptTokens, shortBy, minOutputTokens? },
// credentials?, accessKeyId?, secretAccessKey?, sessionToken?, apiMode?, quirks?: { name: boolean
// }, what route.hpp reads, custom?: { name, dialect, auth, baseURL, headers, quirks, keyNames,
// models } } Other members are left to others.
// Units: milliseconds, bytes.
// Errors: invalid_json, json_too_deep, unknown_provider, invalid_option, invalid_url. A missing key
// is found when a request is built.
Result<ProviderConfig> read_config(std::string_view json);

// The config of a provider of the table with everything else as it is by default.
// Errors: unknown_provider.
Result<ProviderConfig> config_of(std::string_view provider_id);

// Taken apart "provider:model".
// Errors: unknown_provider (of the text before the colon), invalid_option (no model).
struct ModelName {
  std::string provider;
  std::string model;
};
Result<ModelName> read_model_name(std::string_view text);

}  // namespace millrace::model
