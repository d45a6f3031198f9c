// JSON that can be changed, for values that live longer than one text: state and activities that
// JSON Patch edits. Reading is json.hpp's; numbers stay text here as well.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace millrace::json {

// One value and what it holds. Of a repeated key the last value counts.
class Tree {
 public:
  Tree() = default;
  explicit Tree(const Value& value);

  // Applies a JSON Patch (RFC 6902): all of it or nothing.
  // Errors: invalid_json when the patch is malformed, does not fit the value, nests deeper than 512
  // levels or copies more than 16 MiB.
  Result<void> patch(const Value& patch);

  void write(std::string& out, Surrogates surrogates = Surrogates::replace) const;

  // Equality of JSON values: members in any order, numbers by value.
  [[nodiscard]] bool operator==(const Tree& other) const;

 private:
  class Patcher;

  [[nodiscard]] const Tree* member(std::string_view key) const;
  // Levels of arrays and objects, the value itself counting as one.
  [[nodiscard]] std::size_t depth() const;
  // Bytes in memory, roughly.
  [[nodiscard]] std::size_t weight() const;

  Type type_ = Type::null;
  std::string text_;  // string, or number as it was written
  std::vector<Tree> items_;
  std::vector<std::pair<std::string, Tree>> members_;
};

}  // namespace millrace::json
