// SHA-256 of FIPS 180-4, for what the deciding part of the engine binds to exact bytes: approvals,
// descriptions of tools. Not for keys and signatures, which are OpenSSL's.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

// Whether two texts are equal, in a time that tells nothing about where they differ.
bool equal_in_constant_time(std::string_view left, std::string_view right);

}  // namespace millrace
