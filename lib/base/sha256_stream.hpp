// SHA-256 of bytes that come in pieces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

class Sha256Stream {
 public:
  void update(std::string_view bytes);
  // Of all bytes so far, as sha256_hex gives it.
  [[nodiscard]] std::string hex() const;

 private:
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string rest_;  // less than a block
  std::size_t bytes_ = 0;
};

}  // namespace millrace
