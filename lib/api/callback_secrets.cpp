#include "api/callback_secrets.hpp"

#include <utility>

#include "api/private_file.hpp"
#include "base/base64.hpp"
#include "base/shown.hpp"
#include "model/auth/crypto.hpp"

namespace millrace::api {
namespace {

namespace crypto = model::crypto;

std::string context_of(std::string_view message) {
  return "millrace callback headers " + std::string(message);
}

}  // namespace

// Of two processes that make it at once, the file of the first one counts.
Result<std::string_view> CallbackSecrets::key() {
  if (!key_.empty()) return std::string_view(key_);
  if (file_.empty()) {
    key_ = crypto::random_bytes(crypto::aes_key_bytes);
    return std::string_view(key_);
  }
  auto text = read_private_file(file_);
  if (!text) {
    const std::string made = base64::encode(crypto::random_bytes(crypto::aes_key_bytes)) + "\n";
    static_cast<void>(make_private_file(file_, made));
    text = read_private_file(file_);
  }
  auto bytes = base64::decode(text.value_or(""));
  if (!bytes || bytes->size() != crypto::aes_key_bytes) {
    return make_error(Errc::store_failed, "The key of callbacks " + shown_text(file_) +
                                              " cannot be written, or is none.");
  }
  key_ = *std::move(bytes);
  return std::string_view(key_);
}

Result<std::string> CallbackSecrets::seal(const json::Tree& headers, std::string_view message) {
  const auto known = key();
  if (!known) return known.error();
  const std::string plain = headers.to_json(json::Surrogates::replace);
  return base64::encode(crypto::seal(known.value(), plain, context_of(message)));
}

Result<json::Tree> CallbackSecrets::open(std::string_view sealed, std::string_view message) {
  const auto known = key();
  if (!known) return known.error();
  const auto bytes = base64::decode(sealed);
  const auto plain =
      bytes ? crypto::unseal(known.value(), *bytes, context_of(message)) : std::nullopt;
  if (plain) return json::Tree::parse(*plain);
  return make_error(Errc::store_damaged, "Its headers cannot be decrypted: the key " +
                                             shown_text(file_) +
                                             " is not the one that they were stored with.");
}

}  // namespace millrace::api
