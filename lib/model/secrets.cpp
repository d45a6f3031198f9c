#include "model/secrets.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::model {
namespace {

constexpr std::size_t shortest_secret = 4;  // less would match ordinary words

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
  if (value.starts_with("AWS4-")) {
    // The rest names headers and dates.
    constexpr std::string_view mark = "Signature=";
    const std::size_t at = value.find(mark);
    if (at != std::string_view::npos) secrets.emplace_back(value.substr(at + mark.size()));
    return;
  }
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

}  // namespace

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

std::vector<std::string> secrets_of(const net::Request& request) {
  std::vector<std::string> secrets;
  for (const net::Header& header : request.headers) {
    add_carried_secrets(secrets, header.name, header.value);
  }
  return secrets;
}

std::string without_secrets(std::string text, const std::vector<std::string>& secrets) {
  constexpr std::string_view instead = "[redacted]";
  for (const std::string& secret : secrets) {
    if (secret.size() < shortest_secret) continue;
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + instead.size())) {
      text.replace(at, secret.size(), instead);
    }
  }
  return text;
}

Error without_secrets(Error error, const std::vector<std::string>& secrets) {
  for (std::string* text : {&error.message, &error.detail, &error.request_id}) {
    *text = without_secrets(std::move(*text), secrets);
  }
  return error;
}

}  // namespace millrace::model
