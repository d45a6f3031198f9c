// Regular expressions of schemas: ECMAScript's syntax as far as Boost.Regex shares it, searched for
// in the code points of a text, with a bound on the steps of one search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace millrace::schema {

// Whose regular expressions are meant.
enum class Syntax : std::uint8_t {
  schema,  // code points; `\p{L}` and `\u{1F600}` are known, and some of what other languages add;
           // a construct that is not known makes a pattern that demands nothing
  script,  // what RegExp without flags takes, UTF-16 unit by unit, or the pattern is refused
};

// Thread: any, also several at a time.
class Pattern {
 public:
  // Errors: invalid_schema (not a pattern, or one for scripts with a construct that is not known
  // here).
  static Result<Pattern> compile(std::string_view source, Syntax syntax = Syntax::schema);

  // False for a pattern that is none here: what it would find is not known.
  [[nodiscard]] bool is_known() const { return compiled_ != nullptr; }
  // What a search costs for each character of a text, roughly.
  [[nodiscard]] std::size_t cost() const;
  // Whether the pattern is found anywhere in `text`; nothing when the search took too many steps.
  [[nodiscard]] std::optional<bool> found_in(std::string_view text) const;

 private:
  struct Compiled;
  explicit Pattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace millrace::schema
