// A record as JSON, for people and programs that read a journal.
#pragma once

#include "base/json_tree.hpp"
#include "journal/record.hpp"

namespace millrace::journal {

// The fields have the names of docs/journal.md in camel case; what is JSON text there is a value
// here, and a field without a value is left out.
// Shape: {"seq", "span"?, "at", "branch"?, "fact": {"type", ...} or "event": {"type", ...}}.
json::Tree record_json(const Record& record);

}  // namespace millrace::journal
