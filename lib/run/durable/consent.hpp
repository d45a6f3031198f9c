// Whether the user's consent to a call still counts: it is to a tool as the user saw it.
#pragma once

#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "run/plan.hpp"
#include "store/types.hpp"

namespace millrace::run {

// True where the tool of a call that the state waits for is another one than that of this hash, and
// there is one: a call of a tool that was removed fails by itself. "" is not compared.
bool has_other_tool(const json::Tree& state, const AgentPlan& plan, std::string_view call,
                    std::string_view tools_hash);

// Marks the entries of a resume list that consent to a tool which has changed since these questions
// were asked: they are asked anew (agent/superseded.hpp). True where there were some.
bool mark_superseded(json::Tree& resume, const std::vector<store::ApprovalRow>& open,
                     const json::Tree& state, const AgentPlan& plan);

}  // namespace millrace::run
