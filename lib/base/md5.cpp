#include "base/md5.hpp"

#include <array>
#include <bit>
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

// The whole parts of 2^32 times the sines of 1 to 64.
constexpr std::array<std::uint32_t, rounds> sines{
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

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
    const std::uint32_t sum = a + mixed + sines.at(at) + words.at(word % words.size());
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
