// Adds up what a run used and what it cost: calls of models and tools, and waits for humans.
//
// Pure: state in, state out, as JSON text.
// Source: LobeHub's agent runtime, UsageCounter (2026).
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::model {

// Adds one call of a model. The cost object appears with the first call whose cost is known.
// Shape: in {"usage"?, "cost"?, "provider", "model": string, "modelUsage"?: ModelUsage,
// "processingTimeMs"?: number, "now": string}; out {"usage", "cost"?}.
// "usage" is {"llm": {"apiCalls", "processingTimeMs", "tokens": {"input", "output", "total"}},
// "tools": {"totalCalls", "totalTimeMs", "byTool": [{"name", "calls", "errors", "totalTimeMs"}]},
// "humanInteraction": {"approvalRequests", "promptRequests", "selectRequests",
// "totalWaitingTimeMs"}}; "cost" is {"total", "currency", "calculatedAt", "llm": {"total",
// "currency", "byModel": [{"id", "provider", "model", "totalCost", "usage"}]}, "tools": {"total",
// "currency", "byTool": [{"name", "calls", "totalCost", "currency"}]}}. Maps by name instead of the
// lists, as older states have them, are read as well.
// Errors: invalid_json, invalid_argument.
Result<std::string> accumulate_llm(std::string_view json);

// Adds one call of a tool.
// Shape: in {"usage"?, "cost"?, "toolName": string, "executionTime"?: number (ms), "success"?:
// boolean, "toolCost"?: number, "now": string}; out as above.
Result<std::string> accumulate_tool(std::string_view json);

// Adds one request to a human.
// Shape: in {"usage"?, "cost"?, "kind": "approval" | "prompt" | "select", "waitingTimeMs"?: number,
// "now": string}; out as above.
Result<std::string> accumulate_human(std::string_view json);

}  // namespace millrace::model
