// The fields of a record as bytes: a tag, then a number or a text. Readers pass over tags that they
// do not know, so that fields can be added; a tag is never used for something else.
//
// Shape: varint(tag * 4 + type), then by type: 0 a varint; 1 a length and bytes; 2 a UUID of 36
// characters as 16 bytes. Tags rise within a record. A field that has its default is left out.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.hpp"

namespace millrace::journal {

void append_varint(std::string& out, std::uint64_t value);

// Small negative numbers stay short.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0U);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1U) ^ (~(value & 1U) + 1U));
}

// Takes values off the front of some bytes.
// Errors: after the first value that is malformed or cut, everything gives nothing.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return rest_.empty() || !ok_; }
  std::uint64_t varint();
  std::string_view bytes(std::uint64_t count);

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// Memory for what has another form in the record than in an event.
// Lifetime: what it gave lives as long as it.
class Arena {
 public:
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
  std::span<const event::Question> keep(std::vector<event::Question> questions) {
    return questions_.emplace_back(std::move(questions));
  }
  void clear() {
    texts_.clear();
    questions_.clear();
  }

 private:
  std::deque<std::string> texts_;
  std::deque<std::vector<event::Question>> questions_;
};

enum class FieldType : std::uint8_t { number = 0, text = 1, uuid = 2 };

// Appends fields; each member function but `end` leaves out what equals `fallback`.
class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}

  void text(std::uint32_t tag, std::string_view value, std::string_view fallback = {});
  void number(std::uint32_t tag, std::int64_t value, std::int64_t fallback = 0);
  void number(std::uint32_t tag, const std::optional<std::int64_t>& value);
  void flag(std::uint32_t tag, bool value) { number(tag, value ? 1 : 0); }
  void flag(std::uint32_t tag, const std::optional<bool>& value);
  template <class Enum>
  void word(std::uint32_t tag, Enum value, Enum /*last*/, Enum fallback) {
    number(tag, static_cast<std::int64_t>(value), static_cast<std::int64_t>(fallback));
  }
  void questions(std::uint32_t tag, std::span<const event::Question> values);

 private:
  void key(std::uint32_t tag, FieldType type);
  std::string& out_;
};

// Reads what FieldWriter wrote, in the same order.
class FieldReader {
 public:
  FieldReader(std::string_view fields, Arena& arena) : bytes_(fields), arena_(arena) { next(); }

  // False when anything was malformed, or a value is not one of its kind.
  [[nodiscard]] bool finish();

  void text(std::uint32_t tag, std::string_view& value, std::string_view fallback = {});
  void number(std::uint32_t tag, std::int64_t& value, std::int64_t fallback = 0);
  void number(std::uint32_t tag, std::optional<std::int64_t>& value);
  void flag(std::uint32_t tag, bool& value);
  void flag(std::uint32_t tag, std::optional<bool>& value);
  template <class Enum>
  void word(std::uint32_t tag, Enum& value, Enum last, Enum fallback) {
    std::int64_t read = 0;
    number(tag, read, static_cast<std::int64_t>(fallback));
    if (read < 0 || read > static_cast<std::int64_t>(last)) {
      ok_ = false;
      return;
    }
    value = static_cast<Enum>(read);
  }
  void questions(std::uint32_t tag, std::span<const event::Question>& values);

 private:
  // Stops at the field of this tag, or at the first one behind where it would be.
  bool find(std::uint32_t tag, bool is_number);
  void next();

  ByteReader bytes_;
  Arena& arena_;
  bool ok_ = true;
  bool has_field_ = false;
  std::uint32_t tag_ = 0;
  FieldType type_ = FieldType::number;
  std::uint64_t number_ = 0;
  std::string_view text_;
};

// "550e8400-e29b-41d4-a716-446655440000" as 16 bytes; nothing for any other text.
std::optional<std::array<char, 16>> uuid_bytes(std::string_view text);
std::string uuid_text(std::string_view bytes);

}  // namespace millrace::journal
