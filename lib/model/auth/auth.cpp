#include "model/auth/auth.hpp"

#include <algorithm>
#include <array>

#include "model/auth/aws_sigv4.hpp"
#include "model/auth/exchange.hpp"
#include "net/request_rules.hpp"

namespace millrace::model {
namespace {

Error missing_key(const ProviderConfig& config) {
  std::string message = "The provider " + config.id + " needs an API key. ";
  const std::string_view names = config.provider->key_names;
  if (names.empty()) return make_error(Errc::missing_api_key, message + "Give `apiKey`.");
  const std::string_view first = names.substr(0, names.find(','));
  return make_error(Errc::missing_api_key,
                    message + "Set " + std::string(first) + " or give `apiKey`.");
}

// How a key goes into a request; `header` is empty where the key goes into the query.
struct KeyRow {
  Auth auth;
  std::string_view header;
  std::string_view before;  // the key
  bool is_optional;
};
constexpr std::array key_rows{
    KeyRow{Auth::bearer, "Authorization", "Bearer ", false},
    KeyRow{Auth::optional_bearer, "Authorization", "Bearer ", true},
    KeyRow{Auth::x_api_key, "x-api-key", "", false},
    KeyRow{Auth::api_key, "api-key", "", false},
    KeyRow{Auth::x_goog_api_key, "x-goog-api-key", "", false},
    KeyRow{Auth::x_key, "x-key", "", false},
    KeyRow{Auth::key, "Authorization", "Key ", false},
    KeyRow{Auth::query_key, "", "key", false},
};

// Vendors whose key goes into a header of their own name.
struct OwnHeader {
  std::string_view provider;
  std::string_view header;
};
constexpr std::array own_headers{OwnHeader{"elevenlabs", "xi-api-key"}};

KeyRow row_for(const ProviderConfig& config, KeyRow row) {
  for (const OwnHeader& own : own_headers) {
    if (own.provider == config.id) row.header = own.header;
  }
  return row;
}

Result<void> add_key(net::Request& request, const ProviderConfig& config, const KeyRow& row,
                     std::size_t choice) {
  // A header that the user set is the user's own proof.
  if (!row.header.empty() && net::has_header(request.headers, row.header)) return {};
  if (config.api_keys.empty()) {
    // An address of the user's own may need none.
    if (row.is_optional || config.own_base_url) return {};
    return missing_key(config);
  }
  const std::string& key = config.api_keys[choice % config.api_keys.size()];
  if (row.header.empty()) {
    const char mark = request.url.find('?') == std::string::npos ? '?' : '&';
    request.url.append(1, mark).append(row.before).append("=").append(key);
  } else {
    request.headers.push_back({std::string(row.header), std::string(row.before) + key});
  }
  return {};
}

std::optional<Error> missing_aws_keys(const ProviderConfig& config) {
  const bool has_pair = !config.aws.access_key_id.empty() && !config.aws.secret_access_key.empty();
  if (has_pair || !config.api_keys.empty()) return std::nullopt;
  return make_error(Errc::missing_api_key,
                    "The provider " + config.id +
                        " needs AWS credentials. Set AWS_ACCESS_KEY_ID and "
                        "AWS_SECRET_ACCESS_KEY, or give `accessKeyId` and `secretAccessKey`.");
}

Result<void> sign(net::Request& request, const ProviderConfig& config, Time now) {
  // A key of Bedrock's own goes as a bearer token.
  if (!config.api_keys.empty()) {
    request.headers.push_back({"Authorization", "Bearer " + config.api_keys.front()});
    return {};
  }
  if (auto missing = missing_aws_keys(config)) return *std::move(missing);
  const std::string region = config.region.empty() ? std::string("us-east-1") : config.region;
  sign_aws(request, config.aws, {region, "bedrock"}, now);
  return {};
}

Result<void> add_token(net::Request& request, const ProviderConfig& config,
                       const Credential& credential) {
  if (credential.token.empty()) {
    return make_error(Errc::authentication_failed,
                      "The provider " + config.id +
                          " needs an access token, but none was obtained; check its credentials.");
  }
  request.headers.push_back({"Authorization", "Bearer " + credential.token});
  return {};
}

bool is_exchanged(Auth auth) {
  return auth == Auth::vertex || auth == Auth::copilot;
}

}  // namespace

bool needs_token(const ProviderConfig& config) {
  if (!is_exchanged(config.provider->auth)) return false;
  return !net::has_header(config.headers, "Authorization");
}

Result<net::Request> token_request(const ProviderConfig& config, const Credential& credential) {
  const bool is_vertex = config.provider->auth == Auth::vertex;
  if (is_vertex && config.credentials_json.empty() && !config.api_keys.empty()) {
    return make_error(Errc::invalid_vertex_credentials,
                      "The credentials of " + config.id +
                          " are not the JSON of a service account. Give the text of its key file.");
  }
  if (is_vertex ? config.credentials_json.empty() : config.api_keys.empty()) {
    return missing_key(config);
  }
  return is_vertex ? vertex_token_request(config, credential)
                   : copilot_token_request(config, credential);
}

std::optional<Error> missing_credentials(const ProviderConfig& config) {
  const Auth auth = config.provider->auth;
  if (auth == Auth::aws_sigv4) return missing_aws_keys(config);
  if (is_exchanged(auth)) {
    const bool has_one = !config.api_keys.empty() || !config.credentials_json.empty();
    return has_one || !needs_token(config) ? std::nullopt : std::optional(missing_key(config));
  }
  net::Request request;
  request.headers = config.headers;
  auto added = authorize(request, config, auth, {});
  return added ? std::nullopt : std::optional(std::move(added).error());
}

Result<Token> read_token(const ProviderConfig& config, int status, std::string_view body,
                         Time now) {
  constexpr int ok = 200;
  if (status != ok) {
    Error error = make_error(Errc::authentication_failed,
                             "The provider " + config.id +
                                 " did not return an access token: it answered with status " +
                                 std::to_string(status) + ". Check the credentials.",
                             body);
    error.upstream_status = status;
    return error;
  }
  return config.provider->auth == Auth::vertex ? read_vertex_token(body, now)
                                               : read_copilot_token(body, now);
}

Result<void> authorize(net::Request& request, const ProviderConfig& config, Auth auth,
                       const Credential& credential) {
  if (auth == Auth::aws_sigv4) return sign(request, config, credential.now);
  if (is_exchanged(auth)) {
    if (net::has_header(request.headers, "Authorization")) return {};
    return add_token(request, config, credential);
  }
  const auto* row = std::find_if(key_rows.begin(), key_rows.end(),
                                 [&](const KeyRow& r) { return r.auth == auth; });
  if (row == key_rows.end()) return {};
  return add_key(request, config, row_for(config, *row), credential.key);
}

}  // namespace millrace::model
