#include "base/sha256.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/sha256_stream.hpp"

namespace millrace {
namespace {

constexpr std::size_t block_bytes = 64;

constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

std::uint32_t word_at(std::string_view block, std::size_t index) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word = (word << 8U) | static_cast<unsigned char>(block[index * 4 + i]);
  }
  return word;
}

void compress(State& state, std::string_view block) {
  std::array<std::uint32_t, 64> words{};
  for (std::size_t i = 0; i < 16; ++i) words[i] = word_at(block, i);
  for (std::size_t i = 16; i < words.size(); ++i) {
    const std::uint32_t early = words[i - 15];
    const std::uint32_t late = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] +
               (std::rotr(early, 7) ^ std::rotr(early, 18) ^ (early >> 3U)) +
               (std::rotr(late, 17) ^ std::rotr(late, 19) ^ (late >> 10U));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & f) ^ (~e & g)) + round_constants[i] + words[i];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const State mixed{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

// The rest of the message, a one bit, zeros, and the message's length in bits.
std::string last_blocks(std::string_view rest, std::size_t message_bytes) {
  std::string blocks(rest);
  blocks.push_back('\x80');
  while (blocks.size() % block_bytes != block_bytes - 8) blocks.push_back('\0');
  const std::uint64_t bits = std::uint64_t{message_bytes} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) {
    blocks.push_back(static_cast<char>((bits >> static_cast<unsigned>(shift)) & 0xFFU));
  }
  return blocks;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Sha256Stream stream;
  stream.update(bytes);
  return stream.hex();
}

void Sha256Stream::update(std::string_view bytes) {
  bytes_ += bytes.size();
  if (!rest_.empty()) {
    const std::size_t missing = std::min(block_bytes - rest_.size(), bytes.size());
    rest_.append(bytes.substr(0, missing));
    bytes.remove_prefix(missing);
    if (rest_.size() < block_bytes) return;
    compress(state_, rest_);
    rest_.clear();
  }
  for (; bytes.size() >= block_bytes; bytes.remove_prefix(block_bytes)) {
    compress(state_, bytes.substr(0, block_bytes));
  }
  rest_ = bytes;
}

std::string Sha256Stream::hex() const {
  State state = state_;
  const std::string rest = last_blocks(rest_, bytes_);
  for (std::size_t at = 0; at < rest.size(); at += block_bytes) {
    compress(state, std::string_view(rest).substr(at, block_bytes));
  }
  std::string digits;
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      digits.push_back("0123456789abcdef"[(word >> static_cast<unsigned>(shift)) & 15U]);
    }
  }
  return digits;
}

bool equal_in_constant_time(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    difference = static_cast<unsigned char>(
        difference | (static_cast<unsigned char>(left[i]) ^ static_cast<unsigned char>(right[i])));
  }
  return difference == 0;
}

}  // namespace millrace
