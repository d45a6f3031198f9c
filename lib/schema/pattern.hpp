// Regular expressions of schemas: ECMAScript's syntax as far as Boost.Regex shares it, searched for
// in the code points of a text, with a bound on the steps of one search.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace millrace::schema {

// Thread: any, also several at a time.
class Pattern {
 public:
  // Errors: invalid_schema (not a pattern, or one with a construct that is not known here).
  static Result<Pattern> compile(std::string_view source);

  // Whether the pattern is found anywhere in `text`; nothing when the search took too many steps.
  [[nodiscard]] std::optional<bool> found_in(std::string_view text) const;

 private:
  struct Compiled;
  explicit Pattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace millrace::schema
