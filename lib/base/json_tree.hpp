// JSON that can be changed, for values that live longer than one text: state and activities that
// JSON Patch edits. Reading is json.hpp's; numbers stay text here as well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "base/shared_copy.hpp"

namespace millrace::json {

// One value and what it holds. Of a repeated key the last value counts. Copies cost next to
// nothing: they share what they hold until one of them changes.
// Lifetime: what may be changed (references that are not const) only until the value, or one that
// holds it, is copied.
class Tree {
 public:
  using Member = std::pair<std::string, Tree>;
  using Items = std::vector<Tree>;
  using Members = std::vector<Member>;

  Tree() = default;
  explicit Tree(const Value& value);

  static Tree object();
  static Tree array();
  static Tree text(std::string_view text);
  static Tree flag(bool value);
  static Tree integer(std::int64_t number);
  // A number that JSON cannot carry becomes null.
  static Tree number(double number);
  // Errors: invalid_json, json_too_deep.
  static Result<Tree> parse(std::string_view json);

  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] bool is_null() const { return type_ == Type::null; }
  [[nodiscard]] bool is_object() const { return type_ == Type::object; }
  [[nodiscard]] bool is_array() const { return type_ == Type::array; }
  [[nodiscard]] bool is_string() const { return type_ == Type::string; }
  [[nodiscard]] bool is_number() const { return type_ == Type::number; }
  [[nodiscard]] bool is_true() const { return type_ == Type::boolean_true; }
  // Truth as JavaScript has it.
  [[nodiscard]] bool truthy() const;
  // The text of a string, or "".
  [[nodiscard]] std::string_view string() const;
  // The number, or `otherwise`.
  [[nodiscard]] double number_or(double otherwise) const;
  [[nodiscard]] std::int64_t integer_or(std::int64_t otherwise) const;

  // A member of an object, or nothing; null stands for a missing one in operator[].
  // Lifetime: until the value changes.
  [[nodiscard]] const Tree* find(std::string_view key) const;
  [[nodiscard]] Tree* find(std::string_view key);
  const Tree& operator[](std::string_view key) const;
  // Sets a member in place, or appends it. A value that is no object becomes one.
  Tree& set(std::string_view key, Tree value);
  Tree& set(std::string_view key, std::string_view text) { return set(key, Tree::text(text)); }
  // The member, made an empty object when there is none.
  Tree& at(std::string_view key);
  void erase(std::string_view key);

  [[nodiscard]] const Items& items() const { return items_.get(); }
  [[nodiscard]] Items& items() { return items_.edit(); }
  [[nodiscard]] const Members& members() const { return members_.get(); }
  [[nodiscard]] Members& members() { return members_.edit(); }
  // Appends an element. A value that is no array becomes one.
  Tree& push(Tree value);

  // Applies a JSON Patch (RFC 6902): all of it or nothing.
  // Errors: invalid_json when the patch is malformed, does not fit the value, nests deeper than 512
  // levels or copies more than 16 MiB.
  Result<void> patch(const Value& patch);

  void write(std::string& out, Surrogates surrogates = Surrogates::replace) const;
  [[nodiscard]] std::string to_json(Surrogates surrogates = Surrogates::keep) const;

  // Equality of JSON values: members in any order, numbers by value.
  [[nodiscard]] bool operator==(const Tree& other) const;

 private:
  class Patcher;

  // Where a member stands, or how many there are.
  [[nodiscard]] std::size_t place_of(std::string_view key) const;
  // Levels of arrays and objects, the value itself counting as one.
  [[nodiscard]] std::size_t depth() const;
  // Bytes in memory, roughly.
  [[nodiscard]] std::size_t weight() const;

  Type type_ = Type::null;
  std::string text_;  // string, or number as it was written
  SharedCopy<Items> items_;
  SharedCopy<Members> members_;
};

}  // namespace millrace::json
