// A hash of a text: enough to see that it was changed by chance or by an edit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

// The text may come in pieces.
class TextHash {
 public:
  TextHash() = default;
  explicit TextHash(std::string_view text) { add(text); }
  void add(std::string_view text);
  bool operator==(const TextHash& other) const = default;
  [[nodiscard]] std::size_t size() const { return size_; }
  // Eight hexadecimal digits.
  [[nodiscard]] std::string text() const;

  // True when a stored hash is the text's. Stores have older ones, which are of the first 64 bytes
  // of a longer text and of its size; they count as well.
  static bool fits(std::string_view text, std::string_view stored);

 private:
  std::uint32_t hash_ = 0x811C9DC5U;
  std::size_t size_ = 0;
};

}  // namespace millrace
