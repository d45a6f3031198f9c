#include "api/webhook_signature.hpp"

#include "base/base64.hpp"
#include "model/auth/crypto.hpp"

namespace millrace::api {
namespace {

constexpr std::string_view secret_prefix = "whsec_";
constexpr std::size_t fewest_bytes = 24;
constexpr std::size_t most_bytes = 64;

}  // namespace

Result<std::string> read_webhook_secret(std::string_view text) {
  if (text.starts_with(secret_prefix)) {
    auto bytes = base64::decode(text.substr(secret_prefix.size()));
    if (bytes && bytes->size() >= fewest_bytes && bytes->size() <= most_bytes) {
      return std::move(*bytes);
    }
  }
  return make_error(Errc::invalid_option,
                    "A secret of webhooks must be \"whsec_\" and base64 of 24 to 64 bytes.");
}

std::string webhook_signature(const std::vector<std::string>& secrets, std::string_view id,
                              std::int64_t timestamp, std::string_view body) {
  std::string content(id);
  content.append(".").append(std::to_string(timestamp)).append(".").append(body);
  std::string signature;
  for (const std::string& secret : secrets) {
    if (!signature.empty()) signature.push_back(' ');
    signature += "v1," + base64::encode(model::crypto::hmac_sha256(secret, content));
  }
  return signature;
}

}  // namespace millrace::api
