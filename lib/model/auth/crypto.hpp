// The few cryptographic operations that authentication needs. The only door to OpenSSL.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::model::crypto {

// Digests as raw bytes.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// Lower-case hexadecimal.
std::string hex_text(std::string_view bytes);

// Base64 of RFC 4648, section 5, without padding.
std::string base64url(std::string_view bytes);

// RSASSA-PKCS1-v1_5 with SHA-256 (RS256), by a private key in PEM.
// Errors: invalid_option when the key cannot be read; it is never shown.
Result<std::string> sign_rs256(std::string_view private_key_pem, std::string_view bytes);

}  // namespace millrace::model::crypto
