// The begin of a session: the state that it starts from or goes on with, and what its readers learn
// before its first step.
#include <string>
#include <utility>

#include "agent/approval/vendor_approvals.hpp"
#include "agent/interrupts.hpp"
#include "agent/state.hpp"
#include "agent/vendor_calls.hpp"
#include "base/json_tree.hpp"
#include "message/vendor_tool.hpp"
#include "run/client_messages.hpp"
#include "run/input.hpp"
#include "run/session.hpp"

namespace millrace::run {

using json::Tree;

void AgentSession::start() {
  const auto self = shared_from_this();
  begin();
  task_.reset();
}

void AgentSession::begin() {
  prepare_state();
  if (task_->failure) {
    return end({AgentOutcome::Kind::failed, "error", task_->failure.copy(), {}});
  }
  if (!settings_.used) settings_.used = std::make_shared<UsedIds>();
  for (const Tree& state_message : state_["messages"].items()) {
    settings_.used->insert(state_message["id"].string());
    for (const Tree& call : state_message["tool_calls"].items()) {
      settings_.used->insert(call["id"].string());
    }
  }
  // A call that compression took out of the state is in the ledger, with its id in place of its
  // result.
  if (settings_.recorder != nullptr) {
    for (const std::string& id : settings_.recorder->call_ids()) settings_.used->insert(id);
  }
  for (const std::string& unmatched : task_->unmatched) {
    owner_->on_event(
        {event::Warning{row_of(Errc::approval_mismatch).code, agent::unmatched_sentence(unmatched)},
         {}});
  }
  if (task_->withheld.count > 0) {
    owner_->on_event(
        {event::Warning{row_of(Errc::invalid_messages).code, withheld_sentence(task_->withheld)},
         {}});
  }
  if (task_->unfit_records > 0) {
    owner_->on_event(
        {event::Warning{row_of(Errc::invalid_messages).code, unfit_sentence(task_->unfit_records)},
         {}});
  }
  // A run that goes on in the middle of a turn reports that to readers of its own. Where the next
  // one was requested, they have its end.
  const Recorder* const recorder = settings_.recorder;
  is_in_step_ = recorder != nullptr && recorder->is_in_step();
  const bool is_open = context_.is_object() && state_["modelStep"]["open"].is_true();
  const bool has_ended = recorder != nullptr && recorder->last_step() > step_;
  if (is_open && !is_in_step_ && !has_ended) report_step();
  for (const auto& [call_id, text] : task_->results) report_result(call_id, {text, true});
  for (const agent::Answered::State& state : task_->states) {
    emit(event::ProviderState{state.provider, state.kind, state.message_id, state.json});
  }
  load_sent();
  take_recorded();
  if (!task_->children.members().empty()) return resume_children();
  if (!context_.is_object() && !goes_on()) return;
  // An answer that goes on was requested without them.
  const bool has_answer = recorder != nullptr && recorder->goes_on_with_answer();
  if (!has_answer && (!context_.is_object() || may_add_sent())) add_sent();
  // What a crash before the first step goes back to.
  if (recorder != nullptr) owner_->rest(state_, context_);
  next_step();
  // What is known of calls is in the conversation first.
  pump();
  if (waits_any(task_->interruptions)) interrupt_step();
}

// Whether a saved run without a next step has one all the same; what has not ends here.
bool AgentSession::goes_on() {
  const agent::Status status = agent::status_of(state_);
  if (status == agent::Status::interrupted && state_["interruption"]["canResume"].truthy()) {
    agent::set_status(state_, agent::Status::running);
    state_.erase("interruption");
    return true;
  }
  if (status == agent::Status::waiting_for_human ||
      status == agent::Status::waiting_for_async_tool) {
    keep_sent();
    report_checkpoint();
    end_waiting();
    return false;
  }
  if (!agent::is_blocked(status)) return true;
  report_checkpoint();
  reason_ = state_["endReason"].string();
  if (status == agent::Status::interrupted || reason_ == "user_aborted") {
    end({AgentOutcome::Kind::cancelled, "user_aborted", {}, {}, true});
  } else {
    finish();
  }
  return false;
}

void AgentSession::prepare_state() {
  const std::int64_t now = services_.now_ms();
  context_ = std::move(task_->context);
  if (task_->state.is_object()) {
    state_ = std::move(task_->state);
    waiting_children_ = state_["subAgentRuns"];
  } else {
    state_ = agent::initial_state(plan_->state, now);
    state_.set("operationId", task_->run_id);
    Tree messages = Tree::array();
    if (!plan_->instructions.empty()) {
      Tree state_message = Tree::object();
      state_message.set("id", std::string(instructions_id) + services_.call.ids.next_id());
      state_message.set("role", "system");
      state_message.set("content", plan_->instructions);
      messages.push(std::move(state_message));
    }
    agent::deny_left_requests(task_->state_messages);
    for (Tree& state_message : task_->state_messages.items())
      messages.push(std::move(state_message));
    state_.set("messages", std::move(messages));
    state_.set("modelTurns", Tree::integer(0));
    given_messages_ = state_["messages"].items().size();
  }
  operation_id_ = state_["operationId"].string();
  step_ = state_["modelStep"]["number"].integer_or(state_["modelTurns"].integer_or(0));
  state_.set("tools", plan_->definitions);
  state_.set("toolManifestMap", plan_->manifests);
  agent::mark_rejected_calls(state_);
  for (const Tree& tool : task_->client_tools.items()) leave_to_client(name_of_client_tool(tool));
  for (const Tree& tool : plan_->provider_tools.items()) {
    leave_to_client(std::string(message::call_name_of(tool)));
  }
  if (task_->client_tools.items().empty()) {
    request_ = plan_->request;
  } else if (task_->request) {
    request_ = std::move(task_->request);
  } else {
    request_ = request_with(*plan_->offer, task_->client_tools);
  }
  state_.fit();
}

// The calls of a tool that nothing here runs are the client's.
void AgentSession::leave_to_client(const std::string& name) {
  if (name.empty() || plan_->tools.find(name) != nullptr) return;
  client_names_.insert(name);
  state_.at("toolManifestMap").set(name, free_manifest(name));
  state_.at("toolExecutorMap").set(name, "client");
}

}  // namespace millrace::run
