// The state of an agent run as JSON: defaults, loading of older generations, validation. Members
// that are not known here are kept as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

// `{type}`: how every event and every instruction begins.
json::Tree typed(std::string_view type);

// "2026-01-02T03:04:05.678Z".
// Units: milliseconds since 1970.
std::string iso_time(std::int64_t now_ms);

json::Tree default_usage();
json::Tree default_cost(std::int64_t now_ms);

// A state of status idle with the members of `partial` put over the defaults.
json::Tree initial_state(const json::Tree& partial, std::int64_t now_ms);

// Brings a state of any generation into today's shape and checks what the engine reads. Members
// that are missing come from `before` when it is an object, else from the defaults.
// Errors: invalid_state naming the path.
Result<json::Tree> load_state(json::Tree state, const json::Tree& before, std::int64_t now_ms);

// Tool definitions and the manifest of a tool, flat on the state or in operationToolSet.
const json::Tree& tools_of(const json::Tree& state);
const json::Tree& manifest_of(const json::Tree& state, std::string_view identifier);

// Records in the run's totals what is doubtful about a call: `usage.llm.source` when its tokens are
// no report of the provider, `cost.unpricedCalls` when its price is unknown.
// Shape: usage as model/usage/usage.hpp writes it; one without a `source` is not judged.
void mark_doubt(json::Tree& state, const json::Tree& usage);

// Adds the time since the run began to wait for a person to its usage; it is no part of the time
// that the run may take.
void end_human_wait(json::Tree& state, std::int64_t now_ms);
// Time that the run did not work in is not counted by its limit of time.
void leave_out_time(json::Tree& state, std::int64_t ms);

// When the time that the run may take is over, where it has such a limit and has begun.
// Units: milliseconds since 1970.
std::optional<std::int64_t> deadline_of(const json::Tree& state);

enum class Status : std::uint8_t {
  idle,
  running,
  waiting_for_human,
  waiting_for_async_tool,
  done,
  error,
  interrupted,
};
// The name in JSON.
std::string_view name_of(Status status);
// A state without a status is idle; one with another's is an error.
Status status_of(const json::Tree& state);
void set_status(json::Tree& state, Status status);
// True when a step cannot go on from this status: done, error, interrupted or waiting.
bool is_blocked(Status status);

// `{type, message, body?}` of an error.
json::Tree error_tree(const Error& error);

// The name of a plugin and that of its function as a model gets them.
std::string joined_name(std::string_view plugin, std::string_view function);
// The calls of an assistant row in OpenAI's shape as `{id, identifier, apiName, arguments, type}`.
json::Tree chat_tool_call(const json::Tree& call);

}  // namespace millrace::agent
