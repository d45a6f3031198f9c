// The supervisor of a group of agents: which member does what next.
#pragma once

#include "base/json_tree.hpp"

namespace millrace::agent {

// Gives `{instruction, memory}` for a result; `memory` is `{round, skipCallSupervisor}` and goes
// into the next question. `config` is `{maxRounds, supervisorAgentId}`.
// Source: LobeHub's group orchestration, 2026.
json::Tree decide_group(const json::Tree& config, const json::Tree& memory,
                        const json::Tree& result);

}  // namespace millrace::agent
