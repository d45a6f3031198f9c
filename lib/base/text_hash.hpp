// A hash of the first bytes of a text and of its size: enough to see that it was changed, and no
// cost for long texts.
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
  void add(std::string_view text) {
    if (size_ < hashed_bytes) add_start(text);
    size_ += text.size();
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  // Eight hexadecimal digits.
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::size_t hashed_bytes = 64;
  void add_start(std::string_view text);

  std::uint32_t hash_ = 0x811C9DC5U;
  std::size_t size_ = 0;
};

}  // namespace millrace
