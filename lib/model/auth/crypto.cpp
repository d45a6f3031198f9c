#include "model/auth/crypto.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>

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
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, Freer<EVP_CIPHER_CTX_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>>;

constexpr std::size_t sha256_bytes = 32;
constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t tag_bytes = 16;

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

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  // Without random bytes there is no secret: nothing goes on.
  if (RAND_bytes(bytes_of(bytes), static_cast<int>(count)) != 1) throw std::bad_alloc();
  return bytes;
}

std::string seal(std::string_view key, std::string_view plain, std::string_view context) {
  std::string sealed = random_bytes(nonce_bytes);
  sealed.resize(nonce_bytes + plain.size() + tag_bytes);
  unsigned char* const to = bytes_of(sealed);
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool is_done =
      cipher && key.size() == aes_key_bytes &&
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key), to) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(context),
                        static_cast<int>(context.size())) == 1 &&
      EVP_EncryptUpdate(cipher.get(), to + nonce_bytes, &size, bytes_of(plain),
                        static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), to + nonce_bytes + plain.size(), &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, tag_bytes,
                          to + nonce_bytes + plain.size()) == 1;
  if (!is_done) throw std::bad_alloc();
  return sealed;
}

std::optional<std::string> unseal(std::string_view key, std::string_view sealed,
                                  std::string_view context) {
  if (sealed.size() < nonce_bytes + tag_bytes || key.size() != aes_key_bytes) return std::nullopt;
  std::string plain(sealed.size() - nonce_bytes - tag_bytes, '\0');
  std::string tag(sealed.substr(sealed.size() - tag_bytes));
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool is_right =
      cipher &&
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key),
                         bytes_of(sealed)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(context),
                        static_cast<int>(context.size())) == 1 &&
      EVP_DecryptUpdate(cipher.get(), bytes_of(plain), &size, bytes_of(sealed) + nonce_bytes,
                        static_cast<int>(plain.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, tag_bytes, bytes_of(tag)) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), bytes_of(plain) + plain.size(), &size) == 1;
  ERR_clear_error();
  if (!is_right) return std::nullopt;
  return plain;
}

std::optional<std::string> scrypt(std::string_view password, std::string_view salt,
                                  const ScryptCost& cost, std::size_t bytes) {
  constexpr std::uint64_t most_memory = std::uint64_t{160} << 20U;
  std::string derived(bytes, '\0');
  const bool is_done =
      EVP_PBE_scrypt(password.data(), password.size(), bytes_of(salt), salt.size(), cost.cost,
                     cost.block_size, cost.parallel, most_memory, bytes_of(derived), bytes) == 1;
  ERR_clear_error();
  if (!is_done) return std::nullopt;
  return derived;
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
