// Which number and which fields each kind of record has in the store. Both are there for good: a
// number or a tag is never used for anything else, new fields take new tags, in rising order.
//
// A kind of event without a row here does not compile. Tags from 28 on belong to every record.
#pragma once

#include <cstdint>

#include "event/event.hpp"
#include "journal/facts.hpp"

namespace millrace::journal {

// `each` names every field to a FieldWriter or a FieldReader.
template <class T>
struct Shape;

namespace tags {
inline constexpr std::uint32_t branch = 28;
inline constexpr std::uint32_t span = 29;
inline constexpr std::uint32_t subagent = 30;
inline constexpr std::uint32_t extra = 31;
}  // namespace tags

#define MILLRACE_RECORD(type, number)               \
  template <>                                       \
  struct Shape<type> {                              \
    static constexpr std::uint32_t kind = number;   \
    template <class Fields, class Value>            \
    static void each(Fields& fields, Value& value); \
  };                                                \
  template <class Fields, class Value>              \
  void Shape<type>::each([[maybe_unused]] Fields& fields, [[maybe_unused]] Value& value)

// Facts: 1 to 63.
MILLRACE_RECORD(Accepted, 1) {
  fields.text(1, value.agent);
  fields.text(2, value.version);
  fields.text(3, value.plan_hash);
  fields.text(4, value.thread);
  fields.text(5, value.principal);
  fields.text(6, value.input_json);
  fields.text(7, value.client_tools_json);
  fields.text(8, value.context_json);
  fields.text(9, value.from_run);
  fields.number(10, value.from_seq);
  fields.text(11, value.trace);
  fields.word(12, value.on_disconnect, OnDisconnect::stop, OnDisconnect::unset);
  fields.flag(13, value.is_structured);
}
MILLRACE_RECORD(Segment, 2) {
  fields.text(1, value.ag_ui_run);
  fields.text(2, value.parent);
  fields.text(3, value.protocol);
  fields.text(4, value.answers_json);
}
MILLRACE_RECORD(Claimed, 3) {
  fields.text(1, value.owner);
  fields.number(2, value.epoch);
  fields.text(3, value.cause);
  fields.number(4, value.downtime_ms);
}
MILLRACE_RECORD(StepStarted, 4) {
  fields.number(1, value.step);
}
MILLRACE_RECORD(ModelRequested, 5) {
  fields.number(1, value.step);
  fields.number(2, value.attempt);
  fields.number(3, value.chain_row);
  fields.text(4, value.model);
  fields.text(5, value.provider);
}
MILLRACE_RECORD(ModelOpened, 6) {
  fields.number(1, value.step);
  fields.text(2, value.response_id);
  fields.flag(3, value.background);
}
MILLRACE_RECORD(ModelProgress, 7) {
  fields.number(1, value.upstream_seq);
  fields.text(2, value.records);
}
MILLRACE_RECORD(ModelCompleted, 8) {
  fields.number(1, value.step);
  fields.text(2, value.finish);
  fields.text(3, value.usage_json);
  fields.text(4, value.cost_json);
  fields.text(5, value.provider_json);
}
MILLRACE_RECORD(ToolIntent, 9) {
  fields.text(1, value.call);
  fields.text(2, value.provider_id);
  fields.text(3, value.name);
  fields.text(4, value.args_json);
  fields.text(5, value.args_hash);
  fields.word(6, value.effect, Effect::read, Effect::once);
  fields.text(7, value.idem_key);
  fields.word(8, value.kind, CallKind::child, CallKind::tool);
}
MILLRACE_RECORD(ToolStarted, 10) {
  fields.text(1, value.call);
  fields.number(2, value.attempt, 1);
}
MILLRACE_RECORD(ToolResult, 11) {
  fields.text(1, value.call);
  fields.word(2, value.status, CallState::unknown, CallState::ok);
  fields.text(3, value.content);
  fields.text(4, value.code);
  fields.text(5, value.extra_json);
}
MILLRACE_RECORD(ApprovalRequested, 12) {
  fields.text(1, value.id);
  fields.text(2, value.call);
  fields.word(3, value.kind, ApprovalKind::select, ApprovalKind::approval);
  fields.text(4, value.args_hash);
  fields.text(5, value.tools_hash);
  fields.text(6, value.principal);
  fields.number(7, value.expires_ms);
}
MILLRACE_RECORD(ApprovalExpired, 13) {
  fields.text(1, value.id);
}
MILLRACE_RECORD(ApprovalDecided, 14) {
  fields.text(1, value.id);
  fields.text(2, value.decision_json);
  fields.text(3, value.edits_json);
  fields.text(4, value.by);
}
MILLRACE_RECORD(ChildStarted, 15) {
  fields.text(1, value.call);
  fields.text(2, value.run);
  fields.text(3, value.agent);
  fields.number(4, value.branch);
}
MILLRACE_RECORD(ChildEnded, 16) {
  fields.text(1, value.call);
  fields.text(2, value.run);
  fields.word(3, value.status, RunState::dead, RunState::completed);
}
MILLRACE_RECORD(JobStep, 17) {
  fields.text(1, value.name);
  fields.number(2, value.occurrence);
  fields.word(3, value.state, CallState::unknown, CallState::ok);
  fields.text(4, value.result_json);
}
MILLRACE_RECORD(Slept, 18) {
  fields.text(1, value.name);
  fields.number(2, value.occurrence);
  fields.number(3, value.until_ms);
}
MILLRACE_RECORD(Checkpoint, 19) {
  fields.number(1, value.step);
  fields.number(2, value.number);
  fields.flag(3, value.is_full);
}
MILLRACE_RECORD(Compressed, 20) {
  fields.number(1, value.rows);
}
MILLRACE_RECORD(LimitReached, 21) {
  fields.text(1, value.limit);
}
MILLRACE_RECORD(Parked, 22) {
  fields.text(1, value.reason);
}
MILLRACE_RECORD(Gap, 23) {}
MILLRACE_RECORD(StopRequested, 24) {
  fields.text(1, value.by);
  fields.text(2, value.reason);
}
MILLRACE_RECORD(Terminal, 25) {
  fields.word(1, value.status, RunState::dead, RunState::completed);
  fields.text(2, value.reason);
  fields.text(3, value.error_json);
  fields.text(4, value.usage_json);
  fields.text(5, value.cost_json);
}
MILLRACE_RECORD(MessageSent, 26) {
  fields.text(1, value.id);
  fields.text(2, value.message_json);
  fields.flag(3, value.interrupts);
  fields.text(4, value.by);
}

// Events: from 64 on. The text of a delta is its last field, so that deltas merge in place.
MILLRACE_RECORD(event::TextStart, 64) {
  fields.text(1, value.id);
  fields.text(2, value.role, "assistant");
  fields.text(3, value.name);
}
MILLRACE_RECORD(event::TextDelta, 65) {
  fields.text(1, value.id);
  fields.text(2, value.delta);
}
MILLRACE_RECORD(event::TextEnd, 66) {
  fields.text(1, value.id);
}
MILLRACE_RECORD(event::ReasoningSpanStart, 67) {
  fields.text(1, value.id);
}
MILLRACE_RECORD(event::ReasoningSpanEnd, 68) {
  fields.text(1, value.id);
}
MILLRACE_RECORD(event::ReasoningStart, 69) {
  fields.text(1, value.id);
}
MILLRACE_RECORD(event::ReasoningDelta, 70) {
  fields.text(1, value.id);
  fields.text(2, value.delta);
}
MILLRACE_RECORD(event::ReasoningEnd, 71) {
  fields.text(1, value.id);
}
MILLRACE_RECORD(event::EncryptedValue, 72) {
  fields.text(1, value.subtype);
  fields.text(2, value.entity_id);
  fields.text(3, value.value);
}
MILLRACE_RECORD(event::ToolStart, 73) {
  fields.text(1, value.id);
  fields.text(2, value.name);
  fields.text(3, value.parent_id);
  fields.flag(4, value.hosted);
}
MILLRACE_RECORD(event::ToolArgs, 74) {
  fields.text(1, value.id);
  fields.text(2, value.delta);
}
MILLRACE_RECORD(event::ToolEnd, 75) {
  fields.text(1, value.id);
}
MILLRACE_RECORD(event::ToolResult, 76) {
  fields.text(1, value.message_id);
  fields.text(2, value.id);
  fields.text(3, value.content);
  fields.text(4, value.parts_json);
  fields.text(5, value.role);
  fields.flag(6, value.failed);
  fields.text(7, value.error);
}
MILLRACE_RECORD(event::ToolProgress, 77) {
  fields.text(1, value.id);
  fields.text(2, value.json);
}
MILLRACE_RECORD(event::ToolDetails, 78) {
  fields.text(1, value.id);
  fields.text(2, value.state_json);
  fields.text(3, value.citations_json);
  fields.text(4, value.attachments_json);
  fields.text(5, value.others);
}
MILLRACE_RECORD(event::StateSnapshot, 79) {
  fields.text(1, value.json);
}
MILLRACE_RECORD(event::StateDelta, 80) {
  fields.text(1, value.json);
}
MILLRACE_RECORD(event::MessagesSnapshot, 81) {
  fields.text(1, value.json);
}
MILLRACE_RECORD(event::ActivitySnapshot, 82) {
  fields.text(1, value.message_id);
  fields.text(2, value.activity_type);
  fields.text(3, value.json);
  fields.flag(4, value.replace);
}
MILLRACE_RECORD(event::ActivityDelta, 83) {
  fields.text(1, value.message_id);
  fields.text(2, value.activity_type);
  fields.text(3, value.json);
}
MILLRACE_RECORD(event::Usage, 84) {
  fields.text(1, value.provider);
  fields.text(2, value.model);
  fields.number(3, value.input_tokens);
  fields.number(4, value.output_tokens);
  fields.number(5, value.total_tokens);
  fields.number(6, value.reasoning_tokens);
  fields.number(7, value.cached_input_tokens);
  fields.number(8, value.cache_write_input_tokens);
  fields.text(9, value.json);
  fields.flag(10, value.estimated);
}
MILLRACE_RECORD(event::ProviderState, 85) {
  fields.text(1, value.provider);
  fields.text(2, value.kind);
  fields.text(3, value.entity_id);
  fields.text(4, value.json);
}
MILLRACE_RECORD(event::Citation, 86) {
  fields.text(1, value.message_id);
  fields.text(2, value.json);
}
MILLRACE_RECORD(event::Interrupt, 87) {
  fields.text(1, value.json);
  fields.text(2, value.reason);
  fields.questions(3, value.questions);
}
MILLRACE_RECORD(event::Reset, 88) {
  fields.text(1, value.reason);
  fields.number(2, value.attempt);
  fields.text(3, value.message_ids_json);
}
MILLRACE_RECORD(event::Retry, 89) {
  fields.number(1, value.attempt);
  fields.number(2, value.wait_ms);
  fields.text(3, value.code);
  fields.text(4, value.message);
}
MILLRACE_RECORD(event::Stage, 90) {
  fields.text(1, value.name);
  fields.text(2, value.json);
}
MILLRACE_RECORD(event::Warning, 91) {
  fields.text(1, value.code);
  fields.text(2, value.message);
  fields.text(3, value.payload);
}
MILLRACE_RECORD(event::Finish, 92) {
  fields.text(1, value.reason);
  fields.flag(2, value.incomplete);
  fields.text(3, value.continue_json);
}
MILLRACE_RECORD(event::StepStart, 93) {
  fields.text(1, value.name);
}
MILLRACE_RECORD(event::StepEnd, 94) {
  fields.text(1, value.name);
}
MILLRACE_RECORD(event::SubagentStart, 95) {
  fields.text(1, value.run_id);
  fields.text(2, value.name);
  fields.text(3, value.description);
  fields.text(4, value.call_id);
  fields.text(5, value.parent_message_id);
  fields.text(6, value.parent_run_id);
}
MILLRACE_RECORD(event::SubagentEnd, 96) {
  fields.text(1, value.run_id);
  fields.text(2, value.result_json);
  fields.text(3, value.outcome_json);
}
MILLRACE_RECORD(event::SubagentFailed, 97) {
  fields.text(1, value.run_id);
  fields.text(2, value.message);
  fields.text(3, value.code);
}
MILLRACE_RECORD(event::RunStart, 98) {
  fields.text(1, value.thread_id);
  fields.text(2, value.run_id);
  fields.text(3, value.parent_run_id);
  fields.text(4, value.protocol_version);
}
MILLRACE_RECORD(event::RunUsage, 99) {
  fields.text(1, value.usage_json);
  fields.text(2, value.cost_json);
  fields.number(3, value.steps);
  fields.number(4, value.turns);
}
MILLRACE_RECORD(event::RunEnd, 100) {
  fields.text(1, value.thread_id);
  fields.text(2, value.run_id);
  fields.word(3, value.outcome, event::RunOutcome::cancelled, event::RunOutcome::none);
  fields.text(4, value.calls_json);
  fields.text(5, value.interrupts_json);
  fields.text(6, value.result_json);
  fields.text(7, value.metadata_json);
}
MILLRACE_RECORD(event::Failed, 101) {
  fields.text(1, value.message);
  fields.text(2, value.code);
}
MILLRACE_RECORD(event::Foreign, 102) {
  fields.text(1, value.type);
  fields.text(2, value.json);
}
MILLRACE_RECORD(event::AnswerInfo, 103) {
  fields.text(1, value.json);
}
MILLRACE_RECORD(event::Logprobs, 104) {
  fields.text(1, value.message_id);
  fields.text(2, value.json);
}
MILLRACE_RECORD(event::PartialImage, 105) {
  fields.text(1, value.id);
  fields.text(2, value.json);
}
MILLRACE_RECORD(event::Alternative, 106) {
  fields.number(1, value.index);
  fields.text(2, value.json);
}

#undef MILLRACE_RECORD

}  // namespace millrace::journal
