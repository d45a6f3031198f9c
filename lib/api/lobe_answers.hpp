// Operations as JSON, as LobeHub's clients read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/lobe_watch.hpp"
#include "base/json_tree.hpp"

namespace millrace::api {

// Keeps what the state of an operation tells of its past.
struct LobeHistory {
  std::size_t most = 0;            // of the events and of the steps; 0 keeps none
  std::vector<json::Tree> events;  // the latest, in their order
  std::vector<json::Tree> steps;   // their ends, the same

  void add(const encoder::OperationEvent& event);
};

// The answer to a request for an operation.
// Shape: {"success", "operationId", "autoStarted", "agentId", "runId", "status", "threadId",
// "createdAt", "timestamp"}.
json::Tree creation_json(const LobeWatch& watch, const std::string& id, bool starts);

// Shape: {"operationId", "currentState": {"status", "stepCount", "lastModified", ...}, "isActive",
// "isCompleted", "hasError", "needsHumanInput", "metadata", "stats", "executionHistory"?,
// "recentEvents"?}.
json::Tree status_json(const LobeWatch& watch, const LobeHistory& history);

// Questions that wait for the user, one entry for each kind; none where nothing waits.
// Shape: {"type": "tool_approval" | "human_prompt" | "human_select", "operationId", "status",
// "stepCount", "lastModified", "userId"?, "pendingToolsCalling"? or "pendingHumanPrompt"? or
// "pendingHumanSelect"?}.
std::vector<json::Tree> interventions_json(const LobeWatch& watch);

// What came of a step.
// Shape: {"success", "operationId", "stepIndex", "status", "completed", "waitingForHuman",
// "nextStepScheduled", "nextStepIndex"?, "totalSteps", "totalCost", "executionTime", "reason"?,
// "error"?, "pendingApproval"?, "pendingPrompt"?, "pendingSelect"?}.
json::Tree step_json(const LobeWatch& watch, std::int64_t step_index, std::int64_t took_ms);

// "2026-01-31T23:59:59.000Z".
std::string lobe_time(std::int64_t at_ms);

}  // namespace millrace::api
