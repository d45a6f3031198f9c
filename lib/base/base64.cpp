#include "base/base64.hpp"

#include <array>
#include <cstdint>

namespace millrace::base64 {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_values() {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}
constexpr std::array<std::int8_t, 256> values = make_values();

constexpr unsigned bits_per_digit = 6;
constexpr unsigned bits_per_byte = 8;

}  // namespace

std::string encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const char c : bytes) {
    held = (held << bits_per_byte) | static_cast<unsigned char>(c);
    bits += bits_per_byte;
    while (bits >= bits_per_digit) {
      bits -= bits_per_digit;
      out.push_back(alphabet[(held >> bits) & 0x3FU]);
    }
  }
  if (bits > 0) out.push_back(alphabet[(held << (bits_per_digit - bits)) & 0x3FU]);
  while (out.size() % 4 != 0) out.push_back('=');
  return out;
}

std::optional<std::string> decode(std::string_view text) {
  while (!text.empty() && (text.back() == '=' || text.back() == '\n' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
    const std::int8_t value = values[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    held = (held << bits_per_digit) | static_cast<std::uint32_t>(value);
    bits += bits_per_digit;
    if (bits >= bits_per_byte) {
      bits -= bits_per_byte;
      out.push_back(static_cast<char>((held >> bits) & 0xFFU));
    }
  }
  if (bits >= bits_per_digit) return std::nullopt;
  return out;
}

}  // namespace millrace::base64
