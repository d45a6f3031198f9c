// Sums of usage and cost that several parts of a run count side by side.
#pragma once

#include "base/json_tree.hpp"

namespace millrace::agent {

// The entry of a list that has the name or id of `item`, or nothing.
const json::Tree* same_entry(const json::Tree& list, const json::Tree& item);

// Adds what `result` counts beyond `base`, through objects and lists of named entries.
void add_delta(json::Tree& sum, const json::Tree& base, const json::Tree& result);

}  // namespace millrace::agent
