// A row of a store as one line of JSON and back: the lines of an export.
#pragma once

#include <string>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "store/any_row.hpp"

namespace millrace::store {

// One member, which names the table. What is no UTF-8 is {"base64": string}; a member without a
// value is left out. Who owns a run is not written: that process is not the reader's.
// Shape: {"run" | "segment" | "page" | "checkpoint" | "call" | "approval" | "delivery" | "thread" |
// "message" | "artifact" | "blob" | "attachment": {...}}.
json::Tree row_json(const AnyRow& row);

// Errors: invalid_argument, naming the member that is wrong, missing or not known.
Result<AnyRow> read_row(const json::Tree& line);

}  // namespace millrace::store
