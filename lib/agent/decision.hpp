// A person's answer to a question of a run: what it changes, and how the run goes on.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/result_ids.hpp"
#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

// Applies a person's decision: gives `{newState, events, nextContext?}`; the run goes on with a
// step when there is a next context.
// Errors: approval_mismatch, approval_answered, invalid_argument.
Result<json::Tree> apply_decision(json::Tree state, const json::Tree& decision, std::int64_t now_ms,
                                  IdSource& ids, ResultIds result_ids = ResultIds::fresh);

// Ends what a state waits for: its open calls get `content` as their result, its questions are
// nobody's any more.
void abort_waiting(json::Tree& state, std::string_view content, std::int64_t now_ms, IdSource& ids,
                   ResultIds result_ids = ResultIds::fresh);

}  // namespace millrace::agent
