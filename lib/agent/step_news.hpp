// What a step asks its host for and what it reports: typed for hosts in C++, as JSON for those in
// JavaScript.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_tree.hpp"

namespace millrace::agent {

enum class ActionKind : std::uint8_t { runner, executor, model, tool, usage, cost, sub_agent };
// The name in JSON.
std::string_view name_of(ActionKind kind);

// Something that the host is to do; see StepMachine.
struct StepAction {
  std::uint64_t id = 0;
  ActionKind kind = ActionKind::runner;
  json::Tree payload;
};

// A call has its result, or has failed: then `error` is no null.
struct CallEnd {
  std::string id;
  json::Tree result;
  json::Tree error;
  json::Tree details;            // of a call that failed
  json::Tree acknowledged = {};  // of a call that ran: agent/vendor_calls.hpp
};
// A call that failed in passing is tried again.
struct CallRetry {
  std::string id;
  std::int64_t retry = 0;  // from 1
  std::string error;
};
// The arguments of a call were no JSON, and were read all the same.
struct CallRepair {
  std::string sentence;
};
// The run goes on without a summary.
struct CompressionFailure {
  std::string code;
  std::string message;
};
// Why the run ends, or is interrupted.
struct EndReason {
  std::string reason;
};
// What a lean host gets while a step goes on.
using StepReport = std::variant<CallEnd, CallRetry, CallRepair, CompressionFailure, EndReason>;

struct StepOutcome {
  json::Tree state;
  json::Tree next_context;                  // null: the run is over, or waits
  json::Tree events = json::Tree::array();  // of hosts that are not lean
};

// What happened since the last look.
struct StepNews {
  std::vector<StepAction> actions;
  std::vector<StepReport> reports;          // of lean hosts, in the order they happened
  json::Tree events = json::Tree::array();  // of the others
  std::vector<std::uint64_t> cancelled;     // actions whose answer is not wanted any more
  std::optional<std::int64_t> deadline_ms;  // milliseconds since 1970
  std::optional<StepOutcome> outcome;       // the step is over
};

// Shape: {"actions": [{"id", "kind", "payload"}], "events", "cancelled", "deadlineMs"?, "outcome"?:
// {"events", "newState", "nextContext"?}}.
json::Tree to_tree(StepNews news);

}  // namespace millrace::agent
