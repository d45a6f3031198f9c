// CRC-32C, which finds any flip of up to five bits and any burst of 32 in a page.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::journal {

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

}  // namespace millrace::journal
