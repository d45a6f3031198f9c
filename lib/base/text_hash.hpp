// A hash of a text: enough to see that it was changed by chance or by an edit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

// A polynomial of all bytes and of the size, modulo 2^32. The text may come in pieces.
class TextHash {
 public:
  static constexpr std::uint32_t start = 0x811C9DC5U;

  TextHash() = default;
  explicit TextHash(std::string_view text) { add(text); }
  void add(std::string_view text);
  bool operator==(const TextHash& other) const = default;
  [[nodiscard]] std::size_t size() const { return size_; }
  // Eight hexadecimal digits.
  [[nodiscard]] std::string text() const;

  // True when a stored hash is the text's. Stores have older ones, which are FNV-1a of all bytes,
  // or of the first 64 of a longer text, and of the size; they count as well.
  static bool fits(std::string_view text, std::string_view stored);

 private:
  std::uint32_t hash_ = start;
  std::size_t size_ = 0;
};

}  // namespace millrace
