// Media and files that a row of LobeHub has in lists beside its text, as parts of its content.
#pragma once

#include "base/json_tree.hpp"

namespace millrace::agent {

// The row with the parts of its `imageList`, `videoList`, `audioList` and `fileList`, and with
// those that an answer marked as `isMultimodal` has as JSON in its text. A row without any is the
// same.
// Source: LobeHub 2026-07.
json::Tree with_listed_parts(const json::Tree& row);

}  // namespace millrace::agent
