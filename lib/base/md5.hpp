// MD5 of RFC 1321, for names that others shorten by it. It protects nothing.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// 32 lower-case hexadecimal digits.
std::string md5_hex(std::string_view bytes);

}  // namespace millrace
