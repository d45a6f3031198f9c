// Calls of tools that a vendor defines: what their rows hold beside a text, and the safety checks
// that a person acknowledges.
#pragma once

#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "message/message.hpp"

namespace millrace::agent {

// The member of a call that holds the safety checks of its vendor, which wait for a person.
inline constexpr std::string_view pending_checks_member = "pendingSafetyChecks";

// Those of a call as a provider made it; null where it has none.
json::Tree pending_checks_of(const message::ToolCall& call);
bool has_pending_checks(const json::Tree& call);

// Whether the user approved this call, with the checks that were shown.
bool acknowledges_checks(const json::Tree& state, const json::Tree& call);
// The texts of the checks, as a sentence or more; "" where there are none.
std::string texts_of_checks(const json::Tree& call);

// The state of a result by which its provider learns that a person acknowledged the checks of the
// call.
// Shape: an entry of `providerState`.
json::Tree acknowledged_checks(const json::Tree& call);

// Whether the manifest of the call's tool says that a vendor defines it.
bool is_vendor_call(const json::Tree& state, const json::Tree& call);

// Marks the results of such calls that were rejected as failures, which their vendor takes apart
// from results.
void mark_rejected_calls(json::Tree& state);

}  // namespace millrace::agent
