// The one door to JSON. Only json*.cpp includes RapidJSON; everybody else sees Document and Value.
//
// Reading: malformed UTF-8 becomes U+FFFD, lone surrogate escapes are kept as WTF-8 (see utf8.hpp),
// NUL and bytes after the value are refused, the last of two equal keys wins, nesting is limited,
// numbers stay text. Writing: append_* functions on a std::string.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_lookups.hpp"
#include "base/json_numbers.hpp"
#include "base/json_pattern.hpp"
#include "base/result.hpp"

namespace millrace::json {

enum class Type : std::uint8_t { null, boolean_false, boolean_true, number, string, array, object };

namespace detail {
// One entry of the flat tree. Children follow their parent; `end` is the index behind the subtree.
// An object's children are key, value, key, value. The first entry is of the tree itself.
struct Node {
  union {
    const char* text = nullptr;  // string or number
    std::uint64_t keys;          // object: the bits of its keys
    Lookups* lookups;            // the tree: where its members were found, or null
  };
  std::uint32_t size = 0;  // bytes of text, or number of elements or members
  std::uint32_t end = 0;
  Type type = Type::null;
  bool is_key = false;
  bool repeats = false;    // object: two of its keys may be equal
  std::uint32_t mark = 0;  // of a key
};

// Equal keys have equal marks, and few others.
constexpr std::uint32_t key_mark(std::string_view key) {
  if (key.empty()) return 0;
  const auto at = [key](std::size_t index) {
    return std::uint32_t{static_cast<unsigned char>(key[index])};
  };
  return static_cast<std::uint32_t>(key.size() << 24U) ^ (at(key.size() / 2) << 16U) ^
         (at(key.size() - 1) << 8U) ^ at(0);
}

// Most lookups are for keys that are not there; the bit shows it without a search.
constexpr std::uint64_t key_bit(std::uint32_t mark) {
  return std::uint64_t{1} << key_slot(mark);
}
}  // namespace detail

class Value;
class Items;
class Members;

// How a lone surrogate (WTF-8 inside) is written.
enum class Surrogates : std::uint8_t { replace, keep };

// A value of a Document, or nothing. Every accessor of a missing or differently typed value gives
// an empty answer, never an error.
// Lifetime: until the Document parses again or ends.
class Value {
 public:
  Value() = default;

  [[nodiscard]] bool exists() const { return tree_ != nullptr; }
  explicit operator bool() const { return exists(); }
  [[nodiscard]] bool is(Type type) const { return exists() && node().type == type; }
  [[nodiscard]] bool is_object() const { return is(Type::object); }
  [[nodiscard]] bool is_array() const { return is(Type::array); }
  [[nodiscard]] bool is_string() const { return is(Type::string); }
  [[nodiscard]] bool is_number() const { return is(Type::number); }
  [[nodiscard]] bool is_null() const { return is(Type::null); }
  [[nodiscard]] bool is_true() const { return is(Type::boolean_true); }
  // True when there is no value or it is null.
  [[nodiscard]] bool is_nothing() const { return !exists() || is_null(); }
  // Truth as JavaScript has it: "", 0, -0, false, null and a missing value are false.
  [[nodiscard]] bool truthy() const {
    if (!exists()) return false;
    switch (node().type) {
      case Type::null:
      case Type::boolean_false: return false;
      case Type::boolean_true:
      case Type::array:
      case Type::object: return true;
      case Type::string: return node().size != 0;
      case Type::number: return number().value_or(1) != 0;
    }
    return false;
  }

  // The string's text (WTF-8), or "".
  [[nodiscard]] std::string_view string() const {
    return is_string() ? std::string_view(node().text, node().size) : std::string_view();
  }
  // The text of a string that is not empty, or nothing.
  [[nodiscard]] std::optional<std::string_view> filled_string() const {
    if (!is_string() || node().size == 0) return std::nullopt;
    return string();
  }
  // The number as it was written, or "".
  [[nodiscard]] std::string_view number_text() const {
    return is_number() ? std::string_view(node().text, node().size) : std::string_view();
  }
  // The number when it is an integer that fits.
  [[nodiscard]] std::optional<std::int64_t> integer() const {
    if (!is_number()) return std::nullopt;
    // Indexes, mostly.
    if (node().size == 1) return *node().text - '0';
    return read_integer();
  }
  [[nodiscard]] std::optional<double> number() const;

  // Elements of an array, members of an object, else 0.
  [[nodiscard]] std::size_t size() const { return is_array() || is_object() ? node().size : 0; }
  // A member of an object; the last one when the key is repeated. In line, so that the mark of a
  // constant key is a constant: adapters look for dozens of members that a record does not have.
  [[gnu::always_inline]] Value operator[](std::string_view key) const {
    const std::uint32_t mark = detail::key_mark(key);
    if (!is_object() || (node().keys & detail::key_bit(mark)) == 0) return {};
    return member(key, mark);
  }
  // False when the object has none of these members; true when it may have one.
  [[nodiscard]] bool may_have(std::initializer_list<std::string_view> keys) const {
    std::uint64_t bits = 0;
    for (const std::string_view key : keys) bits |= detail::key_bit(detail::key_mark(key));
    return is_object() && (node().keys & bits) != 0;
  }
  [[nodiscard]] Items items() const;
  [[nodiscard]] Members members() const;

  // Appends the value as compact JSON, numbers as they were written.
  void write(std::string& out, Surrogates surrogates = Surrogates::replace) const;
  [[nodiscard]] std::string to_json(Surrogates surrogates = Surrogates::replace) const;

 private:
  friend class Document;
  friend class Items;
  friend class Members;
  Value(const detail::Node* tree, std::uint32_t index) : tree_(tree), index_(index) {}
  [[nodiscard]] const detail::Node& node() const { return tree_[index_]; }
  [[nodiscard, gnu::pure]] Value member(std::string_view key, std::uint32_t mark) const;
  [[nodiscard]] Value search(std::string_view key, std::uint32_t mark) const;
  [[nodiscard]] std::uint32_t first_of(std::uint32_t mark) const;
  [[nodiscard]] std::optional<std::int64_t> read_integer() const;

  const detail::Node* tree_ = nullptr;
  std::uint32_t index_ = 0;
};

// The elements of an array, for a range loop.
class Items {
 public:
  class Iterator {
   public:
    Iterator(const detail::Node* tree, std::uint32_t index) : tree_(tree), index_(index) {}
    Value operator*() const { return {tree_, index_}; }
    Iterator& operator++() {
      index_ = tree_[index_].end;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const detail::Node* tree_;
    std::uint32_t index_;
  };

  [[nodiscard]] Iterator begin() const { return {tree_, first_}; }
  [[nodiscard]] Iterator end() const { return {tree_, end_}; }

 private:
  friend class Value;
  const detail::Node* tree_ = nullptr;
  std::uint32_t first_ = 0;
  std::uint32_t end_ = 0;
};

inline Items Value::items() const {
  Items items;
  if (is_array()) {
    items.tree_ = tree_;
    items.first_ = index_ + 1;
    items.end_ = node().end;
  }
  return items;
}

struct Member {
  std::string_view key;
  Value value;
};

// The members of an object in the order they were written, for a range loop. A repeated key is
// given each time; the last one counts.
class Members {
 public:
  class Iterator {
   public:
    Iterator(const detail::Node* tree, std::uint32_t index) : tree_(tree), index_(index) {}
    Member operator*() const {
      return {{tree_[index_].text, tree_[index_].size}, Value(tree_, index_ + 1)};
    }
    Iterator& operator++() {
      index_ = tree_[index_ + 1].end;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const detail::Node* tree_;
    std::uint32_t index_;
  };

  [[nodiscard]] Iterator begin() const { return {tree_, first_}; }
  [[nodiscard]] Iterator end() const { return {tree_, end_}; }

 private:
  friend class Value;
  friend class Iterator;
  const detail::Node* tree_ = nullptr;
  std::uint32_t first_ = 0;
  std::uint32_t end_ = 0;
};

// Owns the text and the tree of one parsed value; parsing again reuses the memory.
// Thread: any, one at a time.
class Document {
 public:
  static constexpr std::size_t default_depth_limit = 128;

  explicit Document(std::size_t depth_limit = default_depth_limit) : depth_limit_(depth_limit) {}
  // Nodes point into the buffers beside them.
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  // Parses one JSON value, with white space (as JavaScript trims it) around it. A text that is the
  // last one with other strings and numbers in it costs a comparison (json_pattern.hpp).
  // Errors: invalid_json, json_too_deep; the message names the byte offset.
  // Lifetime: the value is good until the next parse.
  Result<Value> parse(std::string_view text);
  // While it stays the same, each text was the one before with other strings and numbers in it, and
  // a value of an earlier parse is what now stands at its place.
  [[nodiscard]] std::uint64_t shape() const { return shape_; }

 private:
  struct Handler;
  Result<Value> parse_whole(std::string_view text);
  void reuse_memory();
  [[nodiscard]] Value root() const { return {nodes_.data(), 1}; }

  std::size_t depth_limit_;
  std::string buffer_;
  std::vector<detail::Node> nodes_;
  std::vector<std::uint32_t> open_;
  HiddenNumbers hidden_numbers_;
  detail::Pattern pattern_;
  std::unique_ptr<detail::Lookups> lookups_;  // of a tree that was kept
  std::uint64_t shape_ = 0;
  bool used_ = false;
};

// Removes what JavaScript's String.prototype.trim removes, at both ends.
std::string_view trim(std::string_view text);

// True when `text` is one JSON object or array whose brackets are closed: a cheap scan, not a
// parse.
bool looks_complete(std::string_view text);

// Appends `text` as a quoted JSON string.
void append_string(std::string& out, std::string_view text,
                   Surrogates surrogates = Surrogates::replace);
// Appends the escaped text without quotes.
void append_escaped(std::string& out, std::string_view text,
                    Surrogates surrogates = Surrogates::replace);
// Appends `"key":"text"` with a comma before it unless the output ends with an opening bracket.
void append_member(std::string& out, std::string_view key, std::string_view text,
                   Surrogates surrogates = Surrogates::replace);
// Appends `"key":json`, `json` being JSON already.
void append_raw_member(std::string& out, std::string_view key, std::string_view json);
void append_member(std::string& out, std::string_view key, std::int64_t number);
// Appends a member of another object, its key escaped.
void append_member(std::string& out, const Member& member);

}  // namespace millrace::json
