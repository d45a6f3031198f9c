// What a run's journal records beside the events of its answer: one struct for each kind of fact.
// A fact decides what happens after a crash; an event is what a reader saw.
//
// Members are views, as those of events are: a fact that is kept longer is copied. Members named
// `*_json` are JSON text, "" is absent. Numbers of enumerations are stored: append, never renumber.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

namespace millrace::journal {

// What may be done with a call that had started and has no result when its process ended.
enum class Effect : std::uint8_t {
  once = 0,        // never again: its outcome is unknown
  keyed = 1,       // again with the same key
  idempotent = 2,  // again
  read = 3,        // again
};
enum class CallKind : std::uint8_t { tool = 0, step = 1, sleep = 2, child = 3 };
enum class CallState : std::uint8_t {
  intent = 0,
  waiting = 1,  // for an answer of the user
  started = 2,
  ok = 3,
  error = 4,
  denied = 5,
  cancelled = 6,
  unknown = 7,
};
enum class ApprovalKind : std::uint8_t { approval = 0, prompt = 1, select = 2 };
enum class RunState : std::uint8_t {
  queued = 0,
  running = 1,
  waiting = 2,  // for an answer of the user
  sleeping = 3,
  parked = 4,  // nothing here can run it
  completed = 5,
  failed = 6,
  cancelled = 7,
  dead = 8,  // recovered too often
};
inline constexpr std::array run_states{RunState::queued,   RunState::running,   RunState::waiting,
                                       RunState::sleeping, RunState::parked,    RunState::completed,
                                       RunState::failed,   RunState::cancelled, RunState::dead};

// The run exists.
// What the leaving of a run's last reader does; `unset` is up to its agent.
enum class OnDisconnect : std::uint8_t { unset = 0, go_on = 1, stop = 2 };

struct Accepted {
  std::string_view agent;
  std::string_view version;
  std::string_view plan_hash;
  std::string_view thread;
  std::string_view principal;
  std::string_view input_json;
  std::string_view client_tools_json;
  std::string_view context_json;
  std::string_view from_run;  // a fork: the run it was made from, and where
  std::int64_t from_seq = 0;
  std::string_view trace = {};  // `traceparent` of the request that began it
  OnDisconnect on_disconnect = OnDisconnect::unset;
  bool is_structured = false;  // the message of the user was no text alone for the Runtime API
};
// A reader's run begins: the first one of the run, or one that answers interrupts.
// The `input_json` of a run that waits for its turn begins so.
inline constexpr std::string_view queued_prefix = R"({"queued":)";
struct Segment {
  std::string_view ag_ui_run;
  std::string_view parent;
  std::string_view protocol;
  std::string_view answers_json;
};
struct Claimed {
  std::string_view owner;
  std::int64_t epoch = 0;
  std::string_view cause;
  std::int64_t downtime_ms = 0;
};
struct StepStarted {
  std::int64_t step = 0;
};
struct ModelRequested {
  std::int64_t step = 0;
  std::int64_t attempt = 0;  // from 1
  std::int64_t chain_row = 0;
  std::string_view model = {};     // the first of its chain; "" where a host chooses it
  std::string_view provider = {};  // of that model; "" also in records of earlier versions
};
// The provider named its response. Of a background response the rest can be fetched later.
struct ModelOpened {
  std::int64_t step = 0;
  std::string_view response_id;
  bool background = false;
};
// How far a background response has been recorded, in the page of the events that came of it.
struct ModelProgress {
  std::int64_t upstream_seq = 0;  // the vendor's number of the last record that was read
  // What was read since the fact before it: what `adapter::Decoder::take_notes` gave, and ids.
  std::string_view records = {};
};
struct ModelCompleted {
  std::int64_t step = 0;
  std::string_view finish;
  std::string_view usage_json;
  std::string_view cost_json;
  std::string_view provider_json;
};
struct ToolIntent {
  std::string_view call;  // our id of the call
  std::string_view provider_id;
  std::string_view name;
  std::string_view args_json;
  std::string_view args_hash;
  Effect effect = Effect::once;
  std::string_view idem_key;
  CallKind kind = CallKind::tool;
};
struct ToolStarted {
  std::string_view call;
  std::int64_t attempt = 1;
};
struct ToolResult {
  std::string_view call;
  CallState status = CallState::ok;
  std::string_view content;
  std::string_view code;
  std::string_view extra_json;
};
struct ApprovalRequested {
  std::string_view id;
  std::string_view call;
  ApprovalKind kind = ApprovalKind::approval;
  std::string_view args_hash;
  std::string_view tools_hash;
  std::string_view principal;  // who may decide
  std::int64_t expires_ms = 0;
};
struct ApprovalExpired {
  std::string_view id;
};
struct ApprovalDecided {
  std::string_view id;
  std::string_view decision_json;
  std::string_view edits_json;
  std::string_view by;
};
struct ChildStarted {
  std::string_view call;
  std::string_view run;
  std::string_view agent;
  std::int64_t branch = 0;  // of the records that are the child's
};
struct ChildEnded {
  std::string_view call;
  std::string_view run;
  RunState status = RunState::completed;
};
struct JobStep {
  std::string_view name;
  std::int64_t occurrence = 0;
  CallState state = CallState::ok;
  std::string_view result_json;
};
struct Slept {
  std::string_view name;
  std::int64_t occurrence = 0;
  std::int64_t until_ms = 0;
};
struct Checkpoint {
  std::int64_t step = 0;
  std::int64_t number = 0;
  bool is_full = false;
};
struct Compressed {
  std::int64_t rows = 0;
};
struct LimitReached {
  std::string_view limit;
};
struct Parked {
  std::string_view reason;
};
// Numbers that may have been shown before a power cut are passed over: the record spans them.
struct Gap {};
struct StopRequested {
  std::string_view by;
  std::string_view reason;
};
// What the user gives a run that is not over.
struct MessageSent {
  std::string_view id;
  std::string_view message_json;
  bool interrupts = false;  // it cuts the answer; else it waits for the next request to the model
  std::string_view by;
};
struct Terminal {
  RunState status = RunState::completed;
  std::string_view reason;
  std::string_view error_json;
  std::string_view usage_json;
  std::string_view cost_json;
};
// A kind that a newer release writes; its fields are kept as they are.
struct UnknownFact {
  std::uint32_t kind = 0;
  std::string_view fields;
};

using Fact = std::variant<Accepted, Segment, Claimed, StepStarted, ModelRequested, ModelOpened,
                          ModelProgress, ModelCompleted, ToolIntent, ToolStarted, ToolResult,
                          ApprovalRequested, ApprovalExpired, ApprovalDecided, ChildStarted,
                          ChildEnded, JobStep, Slept, Checkpoint, Compressed, LimitReached, Parked,
                          Gap, StopRequested, MessageSent, Terminal, UnknownFact>;

// True for facts whose effect begins only after their commit; the others may wait for a group.
bool waits_for_commit(const Fact& fact);

constexpr bool is_over(RunState state) {
  return state >= RunState::completed;
}
constexpr bool is_over(CallState state) {
  return state >= CallState::ok;
}
// True when a call that was cut may be made again.
constexpr bool may_repeat(Effect effect) {
  return effect != Effect::once;
}

std::string_view name_of(Effect effect);
std::string_view name_of(CallKind kind);
std::string_view name_of(CallState state);
std::string_view name_of(ApprovalKind kind);
std::string_view name_of(RunState state);
std::string_view name_of(OnDisconnect choice);

}  // namespace millrace::journal
