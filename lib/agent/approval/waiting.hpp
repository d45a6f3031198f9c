// What a run waits for: a person's word on calls and questions, and results of calls that run
// elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/state.hpp"
#include "base/json_tree.hpp"

namespace millrace::agent {

// Whether the client runs the call, by its own words or by the run's maps of sources and
// executors.
bool runs_at_client(const json::Tree& state, const json::Tree& call);

// The status of a run with what is open in `state`: waiting_for_human before
// waiting_for_async_tool, or nothing when nothing is open. `unknown` is that of calls about which
// the state has nothing more.
std::optional<Status> waiting_status(json::Tree& state, Status unknown);

// The status that an interrupted run goes on with: as before, what needed no approval is a
// call that runs elsewhere.
std::optional<Status> resumed_status(json::Tree& state);

// Sets that status where something is open still; false when nothing is.
// Units: milliseconds since 1970.
bool keep_waiting(json::Tree& state, Status unknown, std::int64_t now_ms);

// Whether a call of `pendingToolsCalling` waits for its result, not for its approval.
bool waits_for_result(json::Tree& state, const json::Tree& call);

// Requests to the user wait in the state while calls of the client are open: where the state has an
// instruction of this type, or "" for those that do not wait.
std::string_view deferred_member(std::string_view instruction_type);
// What the client's results let the run ask.
bool has_deferred(const json::Tree& state);
// The user is asked.
void forget_deferred(json::Tree& state);

// The events that name what is open, as when it was asked for first.
json::Tree waiting_events_of(json::Tree& state);

}  // namespace millrace::agent
