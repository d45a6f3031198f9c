// Messages that the user sends to a run at work.
#include <algorithm>
#include <array>
#include <utility>

#include "agent/decision.hpp"
#include "agent/result_ids.hpp"
#include "agent/state.hpp"
#include "base/error.hpp"
#include "run/children.hpp"
#include "run/session.hpp"
#include "run/stored_members.hpp"

namespace millrace::run {
namespace {

using json::Tree;

constexpr std::string_view cut_call = "The call was aborted before it was finished.";
// Rows that wait in the state of a run that waits.
constexpr std::string_view waiting_rows = "sentMessages";

// Calls of the last turn that have no result.
std::vector<std::string> unanswered(const Tree::Items& rows) {
  std::vector<std::string> calls;
  const auto turn = std::find_if(rows.rbegin(), rows.rend(), [](const Tree& row) {
    return row["role"].string() == "assistant";
  });
  if (turn == rows.rend()) return calls;
  for (const Tree& call : (*turn)["tool_calls"].items()) {
    const std::string_view id = call["id"].string();
    const bool has_result = std::any_of(turn.base(), rows.end(), [id](const Tree& row) {
      return row["tool_call_id"].string() == id;
    });
    if (!has_result) calls.emplace_back(id);
  }
  return calls;
}

// As readers of the run get it.
Tree shown_message(const Tree& row) {
  Tree shown = Tree::object();
  for (const std::string_view name : {"id", "content", "attachments", "references"}) {
    if (!row[name].is_null()) shown.set(name, row[name]);
  }
  return shown;
}

}  // namespace

void AgentSession::send(const Tree& message, bool interrupts) {
  // One that comes again is there already.
  if (!sent_ids_.emplace(message["id"].string()).second) return;
  sent_.push_back(message);
  if (interrupts) interrupt_step();
}

void AgentSession::interrupt_step() {
  if (!machine_ || interrupting_) return;
  interrupting_ = true;
  const auto self = shared_from_this();
  take_partial_turn();
  machine_->abort("message", services_.now_ms());
  cancel_all();
  pump();
}

// Whether one of these has yet to be taken.
bool AgentSession::waits_any(const std::vector<std::string>& ids) const {
  return std::any_of(sent_.begin(), sent_.end(), [&](const Tree& row) {
    return std::find(ids.begin(), ids.end(), row["id"].string()) != ids.end();
  });
}

// What an earlier process, or the run before it waited, has not taken yet.
void AgentSession::load_sent() {
  for (const Tree& id : state_[taken_messages].items()) sent_ids_.emplace(id.string());
  Tree::Items rows = std::exchange(task_->sent, {});
  Tree waiting = state_[waiting_rows];
  state_.erase(waiting_rows);
  rows.insert(rows.begin(), waiting.items().begin(), waiting.items().end());
  for (Tree& row : rows) {
    if (sent_ids_.emplace(row["id"].string()).second) sent_.push_back(std::move(row));
  }
  // Calls that the end of a process has cut: readers get a result of each that an interruption cuts
  // again.
  const bool was_cut = settings_.recorder != nullptr && settings_.recorder->last_step() > 0;
  if (was_cut && context_.is_object()) open_calls_ = unanswered(state_["messages"].items());
}

// Between two steps: takes what was sent where the conversation has a place for it. A run that had
// come to its end goes on.
void AgentSession::take_sent() {
  const bool was_interrupted = std::exchange(interrupting_, false);
  if (sent_.empty()) return;
  const agent::Status status = agent::status_of(state_);
  const bool is_complete =
      status == agent::Status::done && reason_ == "completed" && !state_["forceFinish"].is_true();
  const bool goes_on = is_complete || (was_interrupted && status == agent::Status::interrupted);
  if (goes_on && !stopping_) {
    if (was_interrupted) {
      leave_questions();
      close_cut_calls();
    }
    agent::set_status(state_, agent::Status::running);
    for (const std::string_view gone : {"interruption", "endReason"}) state_.erase(gone);
    reason_.clear();
    context_ = Tree();
    needs_step_ = true;
    return add_sent();
  }
  const bool is_over = status == agent::Status::done || status == agent::Status::error ||
                       status == agent::Status::interrupted;
  // Messages that this run no longer answers stay part of the conversation.
  if (is_over || (context_.is_object() && may_add_sent())) return add_sent();
  keep_sent();
}

// In some phases the next decision is about what the last one brought, not about the conversation.
bool AgentSession::may_add_sent() const {
  static constexpr std::array<std::string_view, 2> closed{"llm_result", "compression_result"};
  return std::find(closed.begin(), closed.end(), context_["phase"].string()) == closed.end();
}

// What a run that waits has not taken is in its state.
void AgentSession::keep_sent() {
  if (context_.is_object() || sent_.empty()) return;
  Tree& rows = state_.set(waiting_rows, Tree::array());
  for (Tree& row : std::exchange(sent_, {})) rows.push(std::move(row));
}

void AgentSession::add_sent() {
  for (Tree& row : std::exchange(sent_, {})) {
    const std::string id(row["id"].string());
    settings_.used->insert(id);
    state_.at(taken_messages).push(Tree::text(id));
    emit(event::Stage{"user_message", shown_message(row).to_json(json::Surrogates::replace)});
    if (owner_ != nullptr) owner_->message_taken(row);
    state_.at("messages").push(as_state_message(std::move(row)));
  }
}

// What was requested before has no reader, and the calls that waited are over.
void AgentSession::leave_questions() {
  agent::abort_waiting(state_, cut_call, services_.now_ms(), services_.call.ids,
                       agent::ResultIds::by_call);
  for (const std::string_view gone : {"subAgentRuns", "openQuestions", "humanWaitingSince"}) {
    state_.erase(gone);
  }
  waiting_children_ = Tree();
}

// Each call that readers have seen gets a result, and so does each that the conversation holds.
void AgentSession::close_cut_calls() {
  Tree& rows = state_.at("messages");
  std::vector<std::string> open = open_calls_;
  for (const std::string& call : unanswered(rows.items())) {
    Tree row = Tree::object();
    row.set("id", agent::result_message_id(call));
    row.set("role", "tool");
    row.set("content", cut_call);
    row.set("tool_call_id", call);
    row.set("error", cut_call);
    rows.push(std::move(row));
    if (std::find(open.begin(), open.end(), call) == open.end()) open.push_back(call);
  }
  for (const std::string& call : open) {
    report_result(call, {std::string(cut_call), true, std::string(row_of(Errc::cancelled).code)});
  }
}

}  // namespace millrace::run
