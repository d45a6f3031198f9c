// What of a text or of arguments came in pieces, so that what ends it, which has the whole of it,
// adds what is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_strings.hpp"
#include "base/text_hash.hpp"
#include "base/utf8.hpp"

namespace millrace::adapter {

// A hash of a text in pieces: FNV-1a.
class PieceHash {
 public:
  void add(char c) {
    constexpr std::uint64_t prime = 0x100000001b3U;
    value_ = (value_ ^ static_cast<unsigned char>(c)) * prime;
  }
  void add(std::string_view text) {
    for (const char c : text) add(c);
  }
  bool operator==(const PieceHash& other) const = default;

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

// The whole text need not be kept: it is known by its length and a hash.
class GivenText {
 public:
  void add(std::string_view piece) {
    std::string joined;
    const std::string_view text = utf8::join_split_pair(held_, piece, joined);
    shown_.add(text);
  }
  // What `whole` has behind what came; nothing where it begins with something else.
  [[nodiscard]] std::optional<std::string_view> rest(std::string_view whole) const {
    if (whole.size() < shown_.size()) return std::nullopt;
    if (!(TextHash(whole.substr(0, shown_.size())) == shown_)) return std::nullopt;
    whole.remove_prefix(shown_.size());
    if (!whole.starts_with(held_)) return std::nullopt;
    return whole.substr(held_.size());
  }
  // What came, as a reader of the message can compare it.
  [[nodiscard]] const TextHash& shown() const { return shown_; }

 private:
  TextHash shown_;
  std::string held_;  // the first half of a surrogate pair
};

// JSON in pieces, of which the spaces between its tokens say nothing.
class GivenJson {
 public:
  void add(std::string_view piece) {
    text_.add(piece);
    add_tokens(piece);
  }
  // `is_json`: else it is a text, in which each space counts.
  [[nodiscard]] std::optional<std::string_view> rest(std::string_view whole, bool is_json) const {
    const auto text = text_.rest(whole);
    if (text || !is_json) return text;
    GivenJson other;
    other.add_tokens(whole);
    return other.tokens_ == tokens_ ? std::optional(whole.substr(whole.size())) : std::nullopt;
  }
  [[nodiscard]] const TextHash& shown() const { return text_.shown(); }

 private:
  void add_tokens(std::string_view piece) {
    for (const char c : piece) {
      const bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
      const bool is_inside = strings_.inside();
      strings_.take(c);
      if (!is_space || is_inside) tokens_.add(c);
    }
  }

  GivenText text_;
  PieceHash tokens_;
  json::Strings strings_;
};

}  // namespace millrace::adapter
