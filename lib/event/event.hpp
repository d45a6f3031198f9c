// What a reader of a run sees: the closed Event type. Text, reasoning, tool calls, state and
// activity as AG-UI knows them, the frame of a run with its steps and subagents, and the typed
// alternatives that AG-UI lacks.
//
// During decoding an event holds views into the frame it came from; code that keeps it copies.
// Strings are UTF-8 that may hold lone surrogates (base/utf8.hpp); members named `json` are JSON
// text.
// Source: AG-UI protocol 1.0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace millrace::event {

struct TextStart {
  std::string_view id;
  std::string_view role = "assistant";
  std::string_view name = {};
};
struct TextDelta {
  std::string_view id;
  std::string_view delta;
};
struct TextEnd {
  std::string_view id;
};

// A reasoning span frames reasoning messages; the two have separate ids.
struct ReasoningSpanStart {
  std::string_view id;
};
struct ReasoningSpanEnd {
  std::string_view id;
};
struct ReasoningStart {
  std::string_view id;
};
struct ReasoningDelta {
  std::string_view id;
  std::string_view delta;
};
struct ReasoningEnd {
  std::string_view id;
};
// An opaque value that belongs to a message or a tool call and must be sent back unchanged.
struct EncryptedValue {
  std::string_view subtype;  // "message" or "tool-call"
  std::string_view entity_id;
  std::string_view value;
};

struct ToolStart {
  std::string_view id;
  std::string_view name;
  std::string_view parent_id = {};
  bool hosted = false;  // the wire names it as a call that the provider runs itself
};
struct ToolArgs {
  std::string_view id;
  std::string_view delta;
};
struct ToolEnd {
  std::string_view id;
};
struct ToolResult {
  std::string_view message_id;
  std::string_view id;
  std::string_view content;
  std::string_view parts_json = {};  // an array of content parts; replaces content when not empty
  std::string_view role = {};
  bool failed = false;
  std::string_view error = {};  // what failed; may be empty
};

// What a tool reports while its call runs: any JSON value.
struct ToolProgress {
  std::string_view id;
  std::string_view json;
};
// What a tool gave beside the text of its result. JSON; "" is absent.
struct ToolDetails {
  std::string_view id;
  std::string_view state_json = {};  // structured content
  std::string_view citations_json = {};
  std::string_view attachments_json = {};
  std::string_view others = {};  // further members as `"key":value,...` without braces
};

struct StateSnapshot {
  std::string_view json;
};
struct StateDelta {
  std::string_view json;
};
struct MessagesSnapshot {
  std::string_view json;
};
struct ActivitySnapshot {
  std::string_view message_id;
  std::string_view activity_type;
  std::string_view json;
  std::optional<bool> replace;
};
struct ActivityDelta {
  std::string_view message_id;
  std::string_view activity_type;
  std::string_view json;
};

// Tokens of one model call; what the provider did not say is absent, never 0.
struct Usage {
  std::string_view provider;
  std::string_view model;
  std::optional<std::int64_t> input_tokens;
  std::optional<std::int64_t> output_tokens;
  std::optional<std::int64_t> total_tokens;
  std::optional<std::int64_t> reasoning_tokens;
  std::optional<std::int64_t> cached_input_tokens;
  std::optional<std::int64_t> cache_write_input_tokens;
  std::string_view json;   // as the provider reported it
  bool estimated = false;  // counted here, since the provider did not tell
};
// Opaque state of a provider (signatures, encrypted reasoning, item ids) that the next request
// needs.
struct ProviderState {
  std::string_view provider;
  std::string_view kind;
  std::string_view entity_id;  // message or tool call it belongs to; may be empty
  std::string_view json;
};
// The state of this provider and kind names, as a JSON string, whose the state of its entity is.
inline constexpr std::string_view issuer_provider = "millrace";
inline constexpr std::string_view issuer_kind = "issuer";
// Of this provider, too: the call of the entity, which starts behind it, is run by the model's
// provider.
inline constexpr std::string_view hosted_kind = "hosted";
struct Citation {
  std::string_view message_id;
  std::string_view json;
};
// One question of an interrupt.
struct Question {
  std::string_view id;       // "" when the producer gave none
  std::string_view message;  // for the user; may be empty
  std::string_view json;     // the question as the producer gave it
};
// The producer asks a human something before it goes on.
struct Interrupt {
  std::string_view json;         // as it was reported
  std::string_view reason = {};  // "<framework>:<name>", or a word of AG-UI's
  std::span<const Question> questions = {};
};
// What was streamed is void and comes again: the messages that are named, or everything since the
// step began.
struct Reset {
  std::string_view reason;
  std::int64_t attempt = 0;                // that failed, from 1; 0 is unknown
  std::string_view message_ids_json = {};  // an array of ids; "" is everything
};
struct Retry {
  std::int64_t attempt = 0;
  std::int64_t wait_ms = 0;
  std::string_view code;
  std::string_view message;
};
struct Stage {
  std::string_view name;
  std::string_view json;
};
// Something was skipped or repaired; the stream goes on.
struct Warning {
  std::string_view code;
  std::string_view message;
  std::string_view payload = {};  // the record it is about
};
// The model ended its turn. `reason` is the provider's own word.
struct Finish {
  std::string_view reason;
  bool incomplete = false;              // the answer goes on in a further request
  std::string_view continue_json = {};  // an object: the members that this request adds; "" is none
};
// What an answer reports of itself (adapter/answer_facts.hpp). A later one replaces it.
struct AnswerInfo {
  std::string_view json;
};
// How probable the pieces of a text were, as the provider wrote it.
struct Logprobs {
  std::string_view message_id;
  std::string_view json;
};
// An image that a call of the provider's has not finished, as the provider wrote it.
struct PartialImage {
  std::string_view id;  // of the call
  std::string_view json;
};
// A further answer of the request, whole: an object with its message and its end.
struct Alternative {
  std::int64_t index = 0;
  std::string_view json;
};
// One turn of the model and the calls it makes.
struct StepStart {
  std::string_view name;
};
struct StepEnd {
  std::string_view name;
};
// Another agent works for a call of the run. What it does has its run id in Event::subagent.
struct SubagentStart {
  std::string_view run_id;
  std::string_view name;
  std::string_view description = {};
  std::string_view call_id = {};
  std::string_view parent_message_id = {};
  std::string_view parent_run_id = {};  // of the subagent that called it; "" is the run's own agent
};
struct SubagentEnd {
  std::string_view run_id;
  std::string_view result_json = {};
  std::string_view outcome_json = {};  // AG-UI's object; "" is none
};
struct SubagentFailed {
  std::string_view run_id;
  std::string_view message;
  std::string_view code = {};
};

struct RunStart {
  std::string_view thread_id;
  std::string_view run_id;
  std::string_view parent_run_id = {};
  std::string_view protocol_version = {};
};
// What the whole run used, with its subagents.
struct RunUsage {
  std::string_view usage_json = {};  // "" is unknown
  std::string_view cost_json = {};
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> turns;
};
enum class RunOutcome : std::uint8_t { none, success, interrupt, cancelled };
// The run ended without an error.
struct RunEnd {
  std::string_view thread_id;
  std::string_view run_id;
  RunOutcome outcome = RunOutcome::none;
  std::string_view calls_json = {};  // of success: ids of calls that the client runs; "" is none
  std::string_view interrupts_json = {};  // of interrupt: AG-UI's interrupts
  std::string_view result_json = {};
  std::string_view metadata_json = {};
};
// The run failed; nothing follows.
struct Failed {
  std::string_view message;
  std::string_view code = {};
};
// An event of another producer that has no type here and passes through.
struct Foreign {
  std::string_view type;
  std::string_view json;  // the whole event
};

using Body =
    std::variant<TextStart, TextDelta, TextEnd, ReasoningSpanStart, ReasoningSpanEnd,
                 ReasoningStart, ReasoningDelta, ReasoningEnd, EncryptedValue, ToolStart, ToolArgs,
                 ToolEnd, ToolResult, ToolProgress, ToolDetails, StateSnapshot, StateDelta,
                 MessagesSnapshot, ActivitySnapshot, ActivityDelta, Usage, ProviderState, Citation,
                 Interrupt, Reset, Retry, Stage, Warning, Finish, AnswerInfo, Logprobs,
                 PartialImage, Alternative, StepStart, StepEnd, SubagentStart, SubagentEnd,
                 SubagentFailed, RunStart, RunUsage, RunEnd, Failed, Foreign>;

struct Event {
  Body body;
  // Further members of the source event (timestamp, metadata ...) as JSON text `"key":value,...`
  // without braces.
  std::string_view extra = {};
  std::string_view subagent =
      {};  // run id of the subagent that it is of; "" is the run's own agent
};

// Takes events one at a time.
// Lifetime: an event and its views are good during the call only.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const Event& event) = 0;
};

// Builds a visitor from lambdas. A visitor of Body has no catch-all, so that a new kind of event is
// a compile error wherever events are consumed.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace millrace::event
