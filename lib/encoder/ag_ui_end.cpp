// How the run of an AG-UI stream ends: its outcome, the interrupts that it waits for, and the
// terminal event.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "encoder/ag_ui.hpp"
#include "event/codec.hpp"

namespace millrace::encoder {
namespace {

constexpr std::string_view default_reason = "input_required";

}  // namespace

void AgUiEncoder::on_run_end(const event::RunEnd& end) {
  finished_members_.clear();
  outcome_.clear();
  const auto member = [this](std::string_view key, std::string_view json) {
    if (!json.empty()) json::append_raw_member(finished_members_, key, json);
  };
  member("result", end.result_json);
  member("metadata", end.metadata_json);
  // To an older client success is no outcome, and a cancelled run is an error.
  if (modern_ || end.outcome == event::RunOutcome::interrupt) event::write_outcome(outcome_, end);
  cancelled_ = end.outcome == event::RunOutcome::cancelled && !modern_;
}

void AgUiEncoder::append_outcome() {
  std::string outcome = outcome_;
  if (!interrupts_->list.empty()) {
    outcome = R"({"type":"interrupt","interrupts":[)" + interrupts_->list + "]}";
  } else if (outcome.empty() && modern_ && !pending_calls_.empty()) {
    outcome = R"({"type":"success","pendingToolCallIds":[)";
    for (const std::string& id : pending_calls_) {
      if (outcome.back() != '[') outcome.push_back(',');
      json::append_string(outcome, id);
    }
    outcome.append("]}");
  }
  if (!outcome.empty()) json::append_raw_member(out_, "outcome", outcome);
}

// An interrupt ends the run: RUN_FINISHED says what the client must answer.
void AgUiEncoder::on_interrupt(const event::Interrupt& interrupt) {
  const std::string_view reason = interrupt.reason.empty() ? default_reason : interrupt.reason;
  for (const event::Question& question : interrupt.questions) add_question(question, reason);
}

// A question that comes again is taken once. Different questions of one id, as of a LangGraph task
// that asks twice, get ids of our own; theirs is in the metadata.
void AgUiEncoder::add_question(const event::Question& question, std::string_view reason) {
  auto& [list, ids] = interrupts_.edit();
  std::string id(question.id);
  const bool is_taken = ids.contains(id);
  // One that came is known by its id and value, which no id is.
  if (!id.empty() && !ids.insert(id + '\0' + std::string(question.json)).second) return;
  if (id.empty() || is_taken) {
    const auto is_id = [](const std::string& one) { return one.find('\0') == one.npos; };
    const auto number = std::count_if(ids.begin(), ids.end(), is_id) + 1;
    id = options_.run_id + "-interrupt-" + std::to_string(number);
  }
  ids.insert(id);
  if (!list.empty()) list.push_back(',');
  list.push_back('{');
  json::append_member(list, "id", id);
  json::append_member(list, "reason", reason);
  if (!question.message.empty()) json::append_member(list, "message", question.message);
  list.append(R"(,"metadata":{)");
  json::append_raw_member(list, "value", question.json);
  if (is_taken) json::append_member(list, "id", question.id);
  list.append("}}");
}

void AgUiEncoder::close_steps() {
  for (const Step& step : open_steps_) {
    frame_begin();
    out_.append(R"({"type":"STEP_FINISHED")");
    json::append_member(out_, "stepName", step.name);
    if (!step.owner.empty()) json::append_member(out_, "subagentRunId", step.owner);
    out_.push_back('}');
    frame_end();
  }
  open_steps_.clear();
}

void AgUiEncoder::finish() {
  if (ended_) return;
  if (cancelled_) return fail("cancelled", "The run was cancelled.");
  start();
  if (state_) state_->finish();
  close_steps();
  frame_begin();
  out_.append(R"({"type":"RUN_FINISHED")");
  json::append_member(out_, "threadId", options_.thread_id);
  json::append_member(out_, "runId", options_.run_id);
  usage_.append_to(out_, finished_members_);
  append_outcome();
  out_.push_back('}');
  frame_end();
  ended_ = true;
}

void AgUiEncoder::fail(std::string_view code, std::string_view message, std::string_view extra) {
  if (ended_) return;
  start();
  if (state_) state_->finish();
  close_steps();
  frame_begin();
  out_.append(R"({"type":"RUN_ERROR")");
  json::append_member(out_, "message", message);
  if (!code.empty()) json::append_member(out_, "code", code);
  usage_.append_to(out_, extra);
  out_.push_back('}');
  frame_end();
  ended_ = true;
}

}  // namespace millrace::encoder
