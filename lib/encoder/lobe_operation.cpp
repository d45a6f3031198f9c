#include "encoder/lobe_operation.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/json.hpp"
#include "base/tool_name_separator.hpp"
#include "encoder/lobe.hpp"

namespace millrace::encoder {
namespace {

using journal::RunState;

// Why a run of the engine has ended, in LobeHub's words.
struct LimitReason {
  std::string_view ours;
  std::string_view theirs;
};
constexpr std::array<LimitReason, 3> limit_reasons{{
    {"max_steps_completed", "max_steps"},
    {"max_steps_exceeded", "max_steps"},
    {"cost_limit_exceeded", "cost_limit"},
}};

std::string_view limit_reason(std::string_view reason) {
  const auto* row = std::find_if(limit_reasons.begin(), limit_reasons.end(),
                                 [&](const LimitReason& one) { return one.ours == reason; });
  return row == limit_reasons.end() ? std::string_view() : row->theirs;
}

void append_json(std::string& out, std::string_view key, std::string_view json) {
  if (!json.empty()) json::append_raw_member(out, key, json);
}

void append_text(std::string& out, std::string_view key, std::string_view text) {
  if (!text.empty()) json::append_member(out, key, text);
}

std::string_view flag(bool value) {
  return value ? "true" : "false";
}

// The name of the class that the failure of a model's call has in `extra`, or the usual one.
std::string error_type_of(std::string_view code, std::string_view extra) {
  json::Document document;
  const auto parsed = document.parse("{" + std::string(extra) + "}");
  const std::string_view named =
      parsed ? parsed.value()["metadata"]["millrace"]["errorType"].string() : std::string_view();
  return std::string(named.empty() ? lobe_error_type(code) : named);
}

}  // namespace

std::string call_payload_json(std::string_view id, std::string_view name,
                              std::string_view arguments) {
  const std::size_t first = name.find(tool_name_separator);
  std::string_view identifier = name.substr(0, first);
  std::string_view function =
      first == std::string_view::npos ? name : name.substr(first + tool_name_separator.size());
  const std::size_t second = function.find(tool_name_separator);
  const std::string_view type = second == std::string_view::npos
                                    ? std::string_view("default")
                                    : function.substr(second + tool_name_separator.size());
  function = function.substr(0, second);
  std::string out = "{";
  json::append_member(out, "id", id);
  json::append_member(out, "identifier", identifier);
  json::append_member(out, "apiName", function);
  json::append_member(out, "arguments", arguments);
  json::append_member(out, "type", type);
  return out + "}";
}

std::string operation_state_json(const OperationState& state) {
  std::string out = "{";
  json::append_member(out, "operationId", state.id);
  json::append_member(out, "status", state.status);
  json::append_member(out, "stepCount", state.step_count);
  append_json(out, "usage", state.usage_json);
  append_json(out, "cost", state.cost_json);
  append_json(out, "pendingToolsCalling", state.pending_tools_json);
  append_json(out, "pendingHumanPrompt", state.pending_prompt_json);
  append_json(out, "pendingHumanSelect", state.pending_select_json);
  append_json(out, "error", state.error_json);
  if (state.status == "interrupted") {
    std::string interruption = "{";
    json::append_member(interruption, "reason", state.reason_detail);
    json::append_raw_member(interruption, "canResume", "false");
    json::append_raw_member(out, "interruption", interruption + "}");
  }
  return out + "}";
}

// Readers may name the event that they have by its time: no two events have the same one.
void LobeOperation::give(std::string_view type, std::string_view data) {
  shown_ms_ = std::max(at_ms_, shown_ms_ + 1);
  emit_({type, seq_, part_++, index_, shown_ms_, data});
}

void LobeOperation::give_chunk(std::string_view type, std::string_view key, std::string_view json) {
  std::string data = "{";
  json::append_member(data, "chunkType", type);
  json::append_raw_member(data, key, json);
  give("stream_chunk", data + "}");
}

void LobeOperation::append_label(std::string& data) const {
  append_text(data, "stepLabel", label_);
}

std::string_view LobeOperation::step_type() const {
  if (step_ == Step::none) return {};
  if (step_ == Step::human) return "request_human";
  return step_ == Step::model ? "call_llm" : "call_tool";
}

void LobeOperation::on_record(const journal::Record& record) {
  seq_ = record.seq;
  part_ = 0;
  at_ms_ = record.at_ms;
  if (record.branch != branch_ || has_ended_) return;
  state_.changed_ms = record.at_ms;
  if (const auto* fact = std::get_if<journal::Fact>(&record.body)) return on_fact(*fact);
  const auto& event = std::get<event::Event>(record.body);
  if (branch_ != 0 || event.subagent.empty()) on_event(event);
}

void LobeOperation::on_fact(const journal::Fact& fact) {
  if (const auto* accepted = std::get_if<journal::Accepted>(&fact)) {
    state_.agent = accepted->agent;
    state_.thread = accepted->thread;
    state_.principal = accepted->principal;
    state_.context_json = accepted->context_json;
    state_.client_tools_json = accepted->client_tools_json;
    state_.created_ms = at_ms_;
  } else if (const auto* segment = std::get_if<journal::Segment>(&fact)) {
    on_segment(*segment);
  } else if (const auto* step = std::get_if<journal::StepStarted>(&fact)) {
    on_step(*step);
  } else if (const auto* requested = std::get_if<journal::ModelRequested>(&fact)) {
    if (!requested->model.empty()) model_ = requested->model;
    if (!requested->provider.empty()) provider_ = requested->provider;
  } else if (const auto* intent = std::get_if<journal::ToolIntent>(&fact)) {
    end_stream();
    Call& call = calls_[std::string(intent->call)];
    if (!intent->name.empty()) call.name = intent->name;
    if (!intent->args_json.empty()) call.arguments = intent->args_json;
  } else if (const auto* started = std::get_if<journal::ToolStarted>(&fact)) {
    on_tool_started(*started);
  } else if (const auto* result = std::get_if<journal::ToolResult>(&fact)) {
    const auto call = calls_.find(result->call);
    if (call != calls_.end()) call->second.is_denied = result->status != journal::CallState::ok;
  } else if (const auto* decided = std::get_if<journal::ApprovalDecided>(&fact)) {
    json::Document document;
    const auto decision = document.parse(decided->decision_json);
    if (decision && decision.value()["payload"]["stop"].is_true()) is_rejected_ = true;
    // A function goes on at once, an agent with a segment.
    if (state_.reason.empty()) go_on();
  } else if (const auto* terminal = std::get_if<journal::Terminal>(&fact)) {
    on_terminal(*terminal);
  } else if (std::holds_alternative<journal::Checkpoint>(fact) ||
             std::holds_alternative<journal::ApprovalRequested>(fact)) {
    end_stream();
  }
}

// Nobody is asked any more.
void LobeOperation::go_on() {
  state_.status = "running";
  state_.reason.clear();
  state_.pending_tools_json.clear();
  state_.pending_prompt_json.clear();
  state_.pending_select_json.clear();
}

// One that waits for its turn stays idle.
void LobeOperation::on_segment(const journal::Segment& segment) {
  if (std::exchange(has_begun_, true)) return go_on();
  state_.id = segment.ag_ui_run;
  give_init();
}

void LobeOperation::begin_child(const journal::Record& record, const journal::ChildStarted& child,
                                const OperationState& parent) {
  has_begun_ = true;
  seq_ = record.seq;
  part_ = 0;
  at_ms_ = record.at_ms;
  state_.id = child.run;
  state_.agent = child.agent;
  state_.thread = parent.thread;
  state_.principal = parent.principal;
  state_.created_ms = record.at_ms;
  state_.changed_ms = record.at_ms;
  give_init();
}

void LobeOperation::give_init() {
  std::string data = "{";
  json::append_member(data, "agentId", state_.agent);
  json::append_member(data, "createdAt", state_.created_ms);
  json::append_member(data, "status", "idle");
  append_text(data, "threadId", state_.thread);
  json::append_member(data, "totalCost", std::int64_t{0});
  json::append_member(data, "totalSteps", std::int64_t{0});
  append_text(data, "userId", state_.principal);
  give("agent_runtime_init", data + "}");
}

// A step that is taken up again after a crash is the one that was at work.
void LobeOperation::on_step(const journal::StepStarted& step) {
  if (step_ == Step::model && engine_step_ == step.step) return;
  end_stream();
  engine_step_ = step.step;
  begin_step(Step::model);
}

void LobeOperation::begin_step(Step step, std::string_view more) {
  end_step(true);
  if (state_.status == "idle") state_.status = "running";
  step_ = step;
  index_ = next_index_++;
  step_began_ms_ = at_ms_;
  std::string data = "{";
  json::append_member(data, "stepType", step_type());
  append_label(data);
  if (!more.empty()) data.append(",").append(more);
  give("step_start", data + "}");
}

void LobeOperation::end_step(bool goes_on, std::string_view phase) {
  if (step_ == Step::none) return;
  end_stream();
  ++state_.step_count;
  std::string data = "{";
  json::append_raw_member(data, "finalState", operation_state_json(state_));
  json::append_raw_member(data, "nextStepScheduled", flag(goes_on));
  json::append_member(data, "stepIndex", index_);
  json::append_member(data, "stepType", step_type());
  json::append_member(data, "executionTime", at_ms_ - step_began_ms_);
  append_text(data, "phase", phase);
  append_label(data);
  step_ = Step::none;
  give("step_complete", data + "}");
}

std::string LobeOperation::payload_of(const std::string& id) const {
  const auto call = calls_.find(id);
  if (call == calls_.end()) return call_payload_json(id, {}, {});
  return call_payload_json(id, call->second.name, call->second.arguments);
}

std::string LobeOperation::payloads(const std::vector<std::string>& ids) const {
  std::string list = "[";
  for (const std::string& id : ids) {
    if (list.size() > 1) list.push_back(',');
    list.append(payload_of(id));
  }
  return list + "]";
}

void LobeOperation::on_tool_started(const journal::ToolStarted& tool) {
  const auto found = calls_.find(tool.call);
  if (found == calls_.end()) return;
  end_stream();
  if (step_ != Step::tools) begin_step(Step::tools);
  Call& call = found->second;
  call.started_ms = at_ms_;
  call.attempts = tool.attempt;
  std::string data = "{";
  append_text(data, "parentMessageId", call.parent);
  json::append_raw_member(data, "toolCalling", payload_of(found->first));
  give("tool_start", data + "}");
}

void LobeOperation::on_tool_result(const event::ToolResult& result) {
  const auto found = calls_.find(result.id);
  if (found == calls_.end()) return;
  end_stream();
  const Call& call = found->second;
  ++state_.messages;
  const bool is_success = !result.failed && !call.is_denied;
  std::string content = "{";
  if (result.parts_json.empty()) {
    json::append_member(content, "content", result.content);
  } else {
    json::append_raw_member(content, "content", result.parts_json);
  }
  json::append_raw_member(content, "success", flag(is_success));
  append_text(content, "error", result.error);
  std::string payload = "{";
  append_text(payload, "parentMessageId", call.parent);
  json::append_raw_member(payload, "toolCalling", payload_of(found->first));
  std::string data = "{";
  json::append_member(data, "executionTime", call.started_ms == 0 ? 0 : at_ms_ - call.started_ms);
  json::append_raw_member(data, "isSuccess", flag(is_success));
  json::append_member(data, "attempts", call.attempts);
  json::append_member(data, "phase", "tool_execution");
  json::append_raw_member(data, "payload", payload + "}");
  json::append_raw_member(data, "result", content + "}");
  append_text(data, "toolMessageId", result.message_id);
  give("tool_end", data + "}");
}

// An error in the answer is told once, here; the end of the run has it, too.
void LobeOperation::on_failed(const event::Event& event, const event::Failed& failed) {
  end_stream(false);
  std::string error = "{";
  json::append_member(error, "message", failed.message);
  append_text(error, "code", failed.code);
  if (!event.extra.empty()) error.append(",").append(event.extra);
  state_.error_json = error + "}";
  std::string data = "{";
  json::append_member(data, "error", failed.message);
  append_text(data, "errorType", error_type_of(failed.code, event.extra));
  json::append_member(data, "phase", "step_execution");
  give("error", data + "}");
}

void LobeOperation::on_terminal(const journal::Terminal& terminal) {
  if (!terminal.usage_json.empty()) state_.usage_json = terminal.usage_json;
  if (!terminal.cost_json.empty()) state_.cost_json = terminal.cost_json;
  if (!terminal.error_json.empty()) state_.error_json = terminal.error_json;
  const bool waits_for_client =
      terminal.status == RunState::completed && state_.status == "waiting_for_async_tool";
  const std::string_view limit = limit_reason(terminal.reason);
  if (!waits_for_client) {
    const bool is_done = terminal.status == RunState::completed;
    const bool is_stopped = terminal.status == RunState::cancelled;
    state_.status = is_done ? "done" : is_stopped ? "interrupted" : "error";
    state_.reason = limit.empty() ? std::string_view(state_.status) : limit;
    state_.reason_detail =
        is_stopped && is_rejected_ ? std::string_view("human_rejected") : terminal.reason;
    state_.pending_tools_json.clear();
    state_.pending_prompt_json.clear();
    state_.pending_select_json.clear();
  }
  end_stream(false);
  state_.is_over = true;
  end_step(false);
  give("agent_runtime_end", end_data());
  has_ended_ = true;
}

std::string LobeOperation::end_data() const {
  std::string data = "{";
  json::append_raw_member(data, "finalState", operation_state_json(state_));
  json::append_member(data, "operationId", state_.id);
  json::append_member(data, "phase", "execution_complete");
  json::append_member(data, "reason", state_.reason);
  append_text(data, "reasonDetail", state_.reason_detail);
  return data + "}";
}

void LobeOperation::rest() {
  if (has_ended_ || state_.reason.empty()) return;
  emit_({"agent_runtime_end", seq_, part_++, index_, shown_ms_, end_data()});
}

}  // namespace millrace::encoder
