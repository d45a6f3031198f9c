// The keywords as data: one row each. Private to this room.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "schema/program.hpp"

namespace millrace::schema {

class Compiler;
class Evaluation;
struct Evaluated;
struct Scope;

// Types of value that a keyword says something about.
enum class Applies : unsigned char { any, object, array, string, number };

struct Keyword {
  std::string_view name;
  Applies applies;
  // Reads the keyword's argument, check.value.
  Result<void> (*compile)(Compiler& compiler, Check& check, const Scope& scope);
  // nullptr for a keyword that only holds subschemas.
  bool (*holds)(Evaluation& evaluation, const Check& check, const json::Value& value,
                Evaluated* evaluated);
  // Whether the keyword looks at what the others have evaluated, and so comes after them.
  bool last = false;
};

// The row of this name, or nullptr: unknown keywords are annotations.
const Keyword* find_keyword(std::string_view name);

}  // namespace millrace::schema
