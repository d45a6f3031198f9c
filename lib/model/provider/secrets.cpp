#include "model/provider/secrets.hpp"

#include "base/secret_filter.hpp"

namespace millrace::model {

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

}  // namespace millrace::model
