// JSON Schema: does a JSON value follow a schema?
//
// Draft 2020-12; schemas whose `$schema` names draft 7, 6 or 4 are read as those drafts are, and
// the older spelling of a keyword (`definitions`, `dependencies`, a list in `items`, a boolean
// `exclusiveMinimum`) is understood in all of them. References lead to places of the same document;
// nothing is ever fetched. `format` is checked when a caller asks for it; the `content...` keywords
// are annotations and check nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace millrace::schema {

// One reason why a value does not follow its schema.
struct Violation {
  std::string path;     // JSON Pointer of the value, "" for the whole
  std::string keyword;  // the keyword that is not met
  std::string message;  // what it demands
};

// What an evaluation may cost, and whether it looks at formats. A schema that refers to itself or a
// value made to be expensive ends with an error, not with a long wait.
struct Limits {
  std::size_t depth = 400;        // of nested schemas, references included
  std::size_t work = 10'000'000;  // values looked at, roughly
  std::size_t violations = 16;    // that are told
  bool formats = false;           // a text must be of its `format`, where that is a known one
  // Where it is given, members that are null and may be left out, but not be null, count as left
  // out: of alternatives the one that takes the value with the fewest of them. Their paths are put
  // here. Of `oneOf` several may then follow.
  std::vector<std::string>* left_out = nullptr;
};

struct Program;

// A schema that was checked and is ready for use.
// Thread: any, also several at a time.
class Schema {
 public:
  // Errors: invalid_json, json_too_deep, invalid_schema (names the place and the keyword).
  static Result<Schema> compile(std::string_view schema_json);

  // The violations of `value`; none when it follows the schema.
  // Errors: schema_too_complex.
  [[nodiscard]] Result<std::vector<Violation>> validate(const json::Value& value,
                                                        const Limits& limits = {}) const;

 private:
  explicit Schema(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const Program> program_;
};

// The violations as sentences, one a line: "/a/0: type: must be a string".
std::string describe(const std::vector<Violation>& violations);

}  // namespace millrace::schema
