#include "base/text_hash.hpp"

#include <array>
#include <utility>

namespace millrace {
namespace {

constexpr std::uint32_t prime = 0x01000193U;
constexpr std::size_t earlier_bytes = 64;
// So many bytes are taken at once: none of their products waits for another.
constexpr std::size_t block = 8;

constexpr std::uint32_t number_of(char byte) {
  return static_cast<unsigned char>(byte);
}

// The prime to the power of what is to come behind each byte of a block.
constexpr auto powers = [] {
  std::array<std::uint32_t, block + 1> made{};
  made[block] = 1;
  for (std::size_t at = block; at > 0; --at) made[at - 1] = made[at] * prime;
  return made;
}();

template <std::size_t... At>
std::uint32_t sum_of_block(const char* bytes, std::index_sequence<At...> /*places*/) {
  return ((number_of(bytes[At]) * powers[At + 1]) + ...);
}

// The four bytes of a size, from its lowest on.
template <class Take>
void take_size(std::size_t size, Take take) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    take(static_cast<char>((size >> shift) & 0xFFU));
  }
}

std::string digits_of(std::uint32_t hash) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out(8, '0');
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit) {
    *digit = digits[hash & 0xFU];
    hash >>= 4U;
  }
  return out;
}

// FNV-1a of `hashed` and of a size.
std::string earlier_text(std::string_view hashed, std::size_t size) {
  std::uint32_t hash = TextHash::start;
  const auto take = [&hash](char byte) { hash = (hash ^ number_of(byte)) * prime; };
  for (const char byte : hashed) take(byte);
  take_size(size, take);
  return digits_of(hash);
}

}  // namespace

// Every piece of every answer passes here.
void TextHash::add(std::string_view text) {
  std::uint32_t hash = hash_;
  size_ += text.size();
  for (; text.size() >= block; text.remove_prefix(block)) {
    hash = hash * powers[0] + sum_of_block(text.data(), std::make_index_sequence<block>());
  }
  for (const char byte : text) hash = hash * prime + number_of(byte);
  hash_ = hash;
}

std::string TextHash::text() const {
  std::uint32_t hash = hash_;
  take_size(size_, [&hash](char byte) { hash = hash * prime + number_of(byte); });
  return digits_of(hash);
}

bool TextHash::fits(std::string_view text, std::string_view stored) {
  return stored == TextHash(text).text() || stored == earlier_text(text, text.size()) ||
         (text.size() > earlier_bytes &&
          stored == earlier_text(text.substr(0, earlier_bytes), text.size()));
}

}  // namespace millrace
