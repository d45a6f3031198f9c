// The few cryptographic operations that authentication needs. The only door to OpenSSL.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::model::crypto {

// Digests as raw bytes.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// Of the generator for keys.
std::string random_bytes(std::size_t count);

inline constexpr std::size_t aes_key_bytes = 32;

// AES-256-GCM under a key of aes_key_bytes and a random nonce; `context` is bound, and not part of
// it.
// Shape: nonce, ciphertext, tag.
std::string seal(std::string_view key, std::string_view plain, std::string_view context);
// Nothing where key, context or bytes are not those of seal().
std::optional<std::string> unseal(std::string_view key, std::string_view sealed,
                                  std::string_view context);

// The work of scrypt (RFC 7914); memory is 128 * cost * block_size bytes.
struct ScryptCost {
  std::size_t cost = 0;
  std::size_t block_size = 0;
  std::size_t parallel = 0;
};
// Nothing where the cost is not a power of two, or needs more than 160 MiB.
std::optional<std::string> scrypt(std::string_view password, std::string_view salt,
                                  const ScryptCost& cost, std::size_t bytes);

// Lower-case hexadecimal.
std::string hex_text(std::string_view bytes);

// Base64 of RFC 4648, section 5, without padding.
std::string base64url(std::string_view bytes);

// RSASSA-PKCS1-v1_5 with SHA-256 (RS256), by a private key in PEM.
// Errors: invalid_option when the key cannot be read; it is never shown.
Result<std::string> sign_rs256(std::string_view private_key_pem, std::string_view bytes);

}  // namespace millrace::model::crypto
