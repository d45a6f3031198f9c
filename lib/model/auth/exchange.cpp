#include "model/auth/exchange.hpp"

#include "base/json.hpp"
#include "model/auth/crypto.hpp"
#include "model/provider/address.hpp"

namespace millrace::model {
namespace {

using std::chrono::seconds;

constexpr seconds refresh_early{300};
constexpr std::string_view google_token_url = "https://oauth2.googleapis.com/token";
constexpr std::string_view google_scope = "https://www.googleapis.com/auth/cloud-platform";
constexpr std::string_view copilot_token_url = "https://api.github.com/copilot_internal/v2/token";

Error invalid_account(std::string_view what) {
  return make_error(Errc::invalid_vertex_credentials,
                    "The credentials of the service account cannot be used: " + std::string(what) +
                        ". Give the JSON of a key file as `credentials` or `apiKey`.");
}

net::Request short_request(std::string_view method, std::string_view url) {
  net::Request request;
  request.method = method;
  request.url = url;
  request.headers = {{"Accept", "application/json"}};
  request.timeouts.first_byte = seconds(30);
  request.timeouts.total = seconds(60);
  request.redirects = net::Redirects::report;
  return request;
}

std::string claims(const json::Value& account, std::string_view audience, Time now) {
  const std::int64_t issued = std::chrono::duration_cast<seconds>(now.time_since_epoch()).count();
  constexpr std::int64_t lifetime = 3600;
  std::string text = "{";
  json::append_member(text, "iss", account["client_email"].string());
  json::append_member(text, "scope", google_scope);
  json::append_member(text, "aud", audience);
  json::append_member(text, "iat", issued);
  json::append_member(text, "exp", issued + lifetime);
  return text + "}";
}

std::string header(const json::Value& account) {
  std::string text = R"({"alg":"RS256","typ":"JWT")";
  if (const auto id = account["private_key_id"].filled_string()) {
    json::append_member(text, "kid", *id);
  }
  return text + "}";
}

Error no_token() {
  return make_error(Errc::authentication_failed,
                    "The answer to the token request has no access token; check the credentials "
                    "and `token_uri`.");
}

}  // namespace

Result<net::Request> vertex_token_request(const ProviderConfig& config, const Credential& with) {
  json::Document document;
  const auto account = document.parse(config.credentials_json);
  if (!account || !account.value().is_object())
    return invalid_account("they are not a JSON object");
  const json::Value value = account.value();
  const auto key = value["private_key"].filled_string();
  if (!key || !value["client_email"].filled_string()) {
    return invalid_account("`client_email` or `private_key` is missing");
  }
  // The address stands in the key file; it must not send the proof to somebody else.
  const auto given = value["token_uri"].filled_string();
  const std::string_view audience = given.value_or(google_token_url);
  if (!audience.starts_with("https://")) return invalid_account("`token_uri` is not https");
  const std::string unsigned_token =
      crypto::base64url(header(value)) + "." + crypto::base64url(claims(value, audience, with.now));
  auto signature = crypto::sign_rs256(*key, unsigned_token);
  if (!signature) return std::move(signature).error();
  net::Request request = short_request("POST", audience);
  request.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
  request.body = "grant_type=" + percent_encoded("urn:ietf:params:oauth:grant-type:jwt-bearer") +
                 "&assertion=" + unsigned_token + "." + crypto::base64url(signature.value());
  request.has_body = true;
  return request;
}

Result<Token> read_vertex_token(std::string_view body, Time now) {
  json::Document document;
  const auto answer = document.parse(body);
  if (!answer) return no_token();
  const auto value = answer.value()["access_token"].filled_string();
  if (!value) return no_token();
  constexpr std::int64_t usual_seconds = 3600;
  const seconds lifetime(answer.value()["expires_in"].integer().value_or(usual_seconds));
  return Token{std::string(*value), now + lifetime - refresh_early, {}};
}

Result<net::Request> copilot_token_request(const ProviderConfig& config, const Credential& with) {
  net::Request request = short_request("GET", copilot_token_url);
  const std::string& key = config.api_keys[with.key % config.api_keys.size()];
  request.headers.push_back({"Authorization", "token " + key});
  return request;
}

Result<Token> read_copilot_token(std::string_view body, Time now) {
  json::Document document;
  const auto answer = document.parse(body);
  if (!answer) return no_token();
  const auto value = answer.value()["token"].filled_string();
  if (!value) return no_token();
  constexpr std::int64_t usual_seconds = 1500;
  Token token{std::string(*value), now + seconds(usual_seconds) - refresh_early, {}};
  if (const auto end = answer.value()["expires_at"].integer()) {
    token.refresh_at = Time(seconds(*end)) - refresh_early;
  }
  token.base_url = answer.value()["endpoints"]["api"].string();
  return token;
}

}  // namespace millrace::model
