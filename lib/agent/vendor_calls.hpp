// Calls of tools that a vendor defines: what their rows hold beside a text, and the safety checks
// that a person acknowledges.
#pragma once

#include "base/json_tree.hpp"

namespace millrace::agent {

// Whether the manifest of the call's tool says that a vendor defines it.
bool is_vendor_call(const json::Tree& state, const json::Tree& call);

// Marks the results of such calls that were refused as failures, which their vendor takes apart
// from results.
void mark_refused_calls(json::Tree& state);

}  // namespace millrace::agent
