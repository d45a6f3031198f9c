#include "os/random_ids.hpp"

#include <array>
#include <cstdint>
#include <random>
#include <string_view>

namespace millrace::os {

std::string RandomIds::next_id() {
  thread_local std::random_device device;
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint32_t)) {
    const std::uint32_t word = device();
    for (std::size_t i = 0; i < sizeof(word); ++i) {
      bytes[at + i] = static_cast<std::uint8_t>(word >> (8 * i));
    }
  }
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x40U);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string id;
  id.reserve(36);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at == 4 || at == 6 || at == 8 || at == 10) id.push_back('-');
    id.push_back(digits[bytes[at] >> 4U]);
    id.push_back(digits[bytes[at] & 0x0FU]);
  }
  return id;
}

}  // namespace millrace::os
