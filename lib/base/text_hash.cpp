#include "base/text_hash.hpp"

namespace millrace {
namespace {

constexpr std::uint32_t hash_prime = 0x01000193U;
constexpr std::size_t earlier_bytes = 64;

constexpr std::uint32_t hashed(std::uint32_t hash, unsigned char byte) {
  return (hash ^ byte) * hash_prime;
}

}  // namespace

void TextHash::add(std::string_view text) {
  std::uint32_t hash = hash_;
  const auto take = [&hash](char byte) { hash = hashed(hash, static_cast<unsigned char>(byte)); };
  const char* at = text.data();
  const char* const end = at + text.size();
  // Every piece of every answer passes here.
  for (; end - at >= 4; at += 4) {
    take(at[0]);
    take(at[1]);
    take(at[2]);
    take(at[3]);
  }
  for (; at != end; ++at) take(*at);
  hash_ = hash;
  size_ += text.size();
}

std::string TextHash::text() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::uint32_t hash = hash_;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    hash = hashed(hash, static_cast<unsigned char>((size_ >> shift) & 0xFFU));
  }
  std::string out(8, '0');
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit) {
    *digit = digits[hash & 0xFU];
    hash >>= 4U;
  }
  return out;
}

bool TextHash::fits(std::string_view text, std::string_view stored) {
  if (TextHash(text).text() == stored) return true;
  if (text.size() <= earlier_bytes) return false;
  TextHash earlier(text.substr(0, earlier_bytes));
  earlier.size_ = text.size();
  return earlier.text() == stored;
}

}  // namespace millrace
