// How a run ends, or begins to wait for the user.
#include <utility>

#include "agent/interrupts.hpp"
#include "base/error_json.hpp"
#include "base/sha256.hpp"
#include "run/durable/run_log.hpp"
#include "run/run_end.hpp"
#include "run/suspended_runs.hpp"

namespace millrace::run {

using journal::RunState;
using json::Tree;

void RunLog::change_state(RunState state) {
  is_waiting_ = state == RunState::waiting;
  store::RunChange change;
  change.run = line_.root;
  change.state = state;
  change.step = root_.step();
  line_.batch.changes.push_back(std::move(change));
  put_messages(state);
}

// With the end of the run, so that the thread has both or neither.
void RunLog::put_messages(RunState state) {
  if (line_.options.thread_id.empty()) return;
  join(line_.batch.thread, messages_->rows(line_.root, state));
}

void RunLog::finish() {
  const AgentOutcome& outcome = session_->outcome();
  // Behind the calls that the client makes others may wait for the user.
  const bool is_deferred =
      outcome.kind == AgentOutcome::Kind::delegated && agent::must_be_suspended(session_->state());
  const RunState state = is_deferred ? RunState::waiting : state_of(outcome);
  if (state == RunState::waiting) request_approvals(outcome);
  report_end(*session_, thread_shown_, line_.options.ag_ui_run, sink_);
  if (journal::is_over(state)) {
    root_.end_children(nullptr);
    root_.note_terminal(outcome, session_->state());
  }
  change_state(state);
  // Without an approval that could expire nothing else would ever end the wait.
  if (is_deferred) line_.batch.changes.back().deadline = now() + line_.options.approval_ms;
  if (!outcome.value_json.empty()) line_.batch.changes.back().head = outcome.value_json;
  line_.is_over = true;
}

void RunLog::end_as(RunState state, std::string_view reason, const Error* error) {
  root_.end_children(&sink_);
  if (error != nullptr) {
    on_event({event::Failed{error->message, error->code_name()}});
  } else {
    on_event({event::RunEnd{thread_shown_, line_.options.ag_ui_run, event::RunOutcome::cancelled}});
  }
  const std::string text = error != nullptr ? error_json(*error) : std::string();
  note(journal::Terminal{state, reason, text, {}, {}});
  change_state(state);
  // Messages that this run no longer answers stay part of the conversation.
  if (!line_.options.thread_id.empty()) {
    for (Tree& message : sent_before_) {
      join(line_.batch.thread, sent_message(std::move(message), line_.root, now()));
    }
  }
  line_.is_over = true;
  flush();
}

void RunLog::ask(const std::vector<UnknownCall>& calls) {
  open_segment();
  Tree interrupts = Tree::array();
  for (const UnknownCall& call : calls) {
    const bool is_new = call.approval.empty();
    const std::string id = is_new ? services_.call.ids.next_id() : call.approval;
    const std::int64_t expires = is_new ? now() + line_.options.approval_ms : call.expires_ms;
    const Tree interrupt = outcome_interrupt(call.row, id, expires);
    add_approval(interrupt, call.row.call, journal::ApprovalKind::select, expires);
    interrupts.push(interrupt);
  }
  event::RunEnd end{thread_shown_, line_.options.ag_ui_run, event::RunOutcome::interrupt};
  const std::string list = interrupts.to_json(json::Surrogates::replace);
  end.interrupts_json = list;
  on_event({end});
  change_state(RunState::waiting);
  line_.is_over = true;
  flush();
}

// Each interrupt is a row that survives the process and is answered once.
void RunLog::request_approvals(const AgentOutcome& outcome) {
  for (const Tree& interrupt : outcome.interrupts.items()) {
    const std::string_view call = interrupt["toolCallId"].string();
    // A model asks by a call, which needs no approval.
    const bool is_prompt = call.empty() || interrupt["reason"].string() == "input_required";
    add_approval(interrupt, call,
                 is_prompt ? journal::ApprovalKind::prompt : journal::ApprovalKind::approval,
                 now() + line_.options.approval_ms,
                 is_prompt ? std::string() : tools_requested(session_->state(), *plan_, call));
  }
}

void RunLog::request_answer(std::string_view name, const Tree& interrupt, std::int64_t expires_ms) {
  add_approval(interrupt, name, journal::ApprovalKind::prompt, expires_ms);
}

void RunLog::add_approval(const Tree& interrupt, std::string_view call, journal::ApprovalKind kind,
                          std::int64_t expires_ms, std::string tools_hash) {
  store::ApprovalRow row;
  row.id = interrupt["id"].string();
  row.run = line_.root;
  row.call = call;
  row.kind = kind;
  row.principal = line_.options.principal;
  row.args_hash = sha256_hex(interrupt["metadata"]["arguments"].to_json());
  row.tools_hash = std::move(tools_hash);
  row.shown = interrupt.to_json(json::Surrogates::replace);
  row.expires = expires_ms;
  note(journal::ApprovalRequested{row.id, row.call, row.kind, row.args_hash, row.tools_hash,
                                  row.principal, row.expires});
  line_.batch.approvals.push_back(std::move(row));
}

}  // namespace millrace::run
