#include "base/md5.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace millrace {
namespace {

constexpr std::size_t md5_block_bytes = 64;
constexpr std::size_t length_bytes = 8;
constexpr std::size_t rounds = 64;

using Words = std::array<std::uint32_t, 4>;

std::uint32_t octet_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

// The whole parts of sines, as the algorithm has them.
const std::array<std::uint32_t, rounds>& sines() {
  static const std::array<std::uint32_t, rounds> table = [] {
    constexpr double scale = 4294967296.0;
    std::array<std::uint32_t, rounds> made{};
    for (std::size_t at = 0; at < rounds; ++at) {
      made.at(at) =
          static_cast<std::uint32_t>(std::fabs(std::sin(static_cast<double>(at + 1))) * scale);
    }
    return made;
  }();
  return table;
}

void add_block(Words& state, std::string_view block) {
  static constexpr std::array<std::array<int, 4>, 4> shifts{
      {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
  std::array<std::uint32_t, 16> words{};
  for (std::size_t at = 0; at < words.size(); ++at) {
    for (std::size_t byte = 0; byte < 4; ++byte) {
      words.at(at) |= octet_at(block, 4 * at + byte) << (8 * byte);
    }
  }
  auto [a, b, c, d] = state;
  for (std::size_t at = 0; at < rounds; ++at) {
    const std::size_t round = at / 16;
    std::uint32_t mixed = c ^ (b | ~d);
    std::size_t word = 7 * at;
    if (round == 0) {
      mixed = (b & c) | (~b & d);
      word = at;
    } else if (round == 1) {
      mixed = (d & b) | (~d & c);
      word = 5 * at + 1;
    } else if (round == 2) {
      mixed = b ^ c ^ d;
      word = 3 * at + 5;
    }
    const std::uint32_t sum = a + mixed + sines().at(at) + words.at(word % words.size());
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, shifts.at(round).at(at % 4));
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

}  // namespace

std::string md5_hex(std::string_view bytes) {
  std::string padded(bytes);
  padded.push_back('\x80');
  while (padded.size() % md5_block_bytes != md5_block_bytes - length_bytes) padded.push_back('\0');
  const std::uint64_t bits = static_cast<std::uint64_t>(bytes.size()) * 8;
  for (std::size_t byte = 0; byte < length_bytes; ++byte) {
    padded.push_back(static_cast<char>(static_cast<std::uint8_t>(bits >> (8 * byte))));
  }
  Words state{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U};
  for (std::size_t at = 0; at < padded.size(); at += md5_block_bytes) {
    add_block(state, std::string_view(padded).substr(at, md5_block_bytes));
  }
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const std::uint32_t word : state) {
    for (std::size_t byte = 0; byte < 4; ++byte) {
      const std::uint32_t value = (word >> (8 * byte)) & 0xffU;
      hex.push_back(digits[value >> 4U]);
      hex.push_back(digits[value & 0xfU]);
    }
  }
  return hex;
}

}  // namespace millrace
