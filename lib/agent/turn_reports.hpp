// What the model's calls of a run report to its host beside the conversation: the notes of their
// requests, and what the answers report of themselves. It is the member `report` of the run's
// state.
#pragma once

#include "base/json_tree.hpp"

namespace millrace::agent {

// Adds the report of a turn, or of an agent that the run called, to that of a run. What `before`
// has of it was added earlier. Each note is kept once, and at most 100 of them; of further answers
// than 64 KB hold, the number is kept.
// Shape: {"notes"?: [string], "answers"?: [{"provider", "model", "finishReason"?, "response"?,
// "incomplete"?, "alternatives"?}], "answersLeftOut"?: number}, of state, report and before.
void add_report(json::Tree& state, const json::Tree& report,
                const json::Tree& before = json::Tree());

}  // namespace millrace::agent
