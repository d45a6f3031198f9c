#include "model/auth/crypto.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/base64.hpp"

namespace millrace::model::crypto {
namespace {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>>;

constexpr std::size_t sha256_bytes = 32;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

// A key behind a pass phrase must not make OpenSSL ask for one on the terminal.
int no_pass_phrase(char* /*buffer*/, int /*size*/, int /*rwflag*/, void* /*data*/) {
  return 0;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  std::string digest(sha256_bytes, '\0');
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), bytes_of(digest), &size, EVP_sha256(), nullptr);
  return digest;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string digest(sha256_bytes, '\0');
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(bytes), bytes.size(),
       bytes_of(digest), &size);
  return digest;
}

std::string hex_text(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(digits[byte >> 4U]);
    out.push_back(digits[byte & 15U]);
  }
  return out;
}

std::string base64url(std::string_view bytes) {
  std::string text = base64::encode(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  while (text.ends_with('=')) text.pop_back();
  return text;
}

Result<std::string> sign_rs256(std::string_view private_key_pem, std::string_view bytes) {
  const auto rejected = [] {
    ERR_clear_error();
    return make_error(Errc::invalid_option,
                      "The private key of the service account cannot be read: it must be an RSA "
                      "key in PEM without a pass phrase.");
  };
  const Bio pem(BIO_new_mem_buf(private_key_pem.data(), static_cast<int>(private_key_pem.size())));
  if (!pem) return rejected();
  const Key key(PEM_read_bio_PrivateKey(pem.get(), nullptr, no_pass_phrase, nullptr));
  if (!key || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) return rejected();
  const Digest context(EVP_MD_CTX_new());
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1) {
    return rejected();
  }
  std::size_t size = 0;
  if (EVP_DigestSign(context.get(), nullptr, &size, bytes_of(bytes), bytes.size()) != 1) {
    return rejected();
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), bytes_of(signature), &size, bytes_of(bytes), bytes.size()) !=
      1) {
    return rejected();
  }
  signature.resize(size);
  return signature;
}

}  // namespace millrace::model::crypto
