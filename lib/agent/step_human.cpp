// Instructions that end a step: questions to a person, and the end of a run.
#include <algorithm>

#include "agent/approvals.hpp"
#include "agent/step_machine.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

Tree copy_of(const Tree& instruction, std::initializer_list<std::string_view> members) {
  Tree made = Tree::object();
  for (const std::string_view member : members) {
    if (const Tree* value = instruction.find(member)) made.set(member, *value);
  }
  return made;
}

Tree event_of(std::string_view type, const Tree& content, const Tree& operation) {
  Tree event = Tree::object();
  event.set("type", type);
  for (const auto& [name, value] : content.members()) event.set(name, value);
  event.set("operationId", operation);
  return event;
}

}  // namespace

void StepMachine::wait_for_human(std::string_view counter) {
  Tree& human = state_.at("usage").at("humanInteraction");
  human.set(counter, Tree::integer(human[counter].integer_or(0) + 1));
  state_.set("humanWaitingSince", Tree::integer(now_ms_));
  state_.set("status", "waiting_for_human");
  state_.erase("deferredHumanApproval");
  next_context_ = Tree();
}

void StepMachine::request_human_approve(const Tree& instruction) {
  const Tree calls = instruction["pendingToolsCalling"];
  const Tree& given = instruction["parentMessageId"].is_null()
                          ? context_["payload"]["parentMessageId"]
                          : instruction["parentMessageId"];
  const std::string parent(given.string());
  wait_for_human("approvalRequests");
  state_.set("pendingToolsCalling", calls);
  open_approvals(state_, calls);
  if (options_.history && !instruction["skipCreateToolMessage"].truthy()) {
    for (const Tree& call : calls.items()) {
      if (find_tool_row(state_, call["id"].string()) != nullptr) continue;
      Tree row = Tree::object();
      row.set("id", new_id());
      row.set("role", "tool");
      row.set("content", "");
      row.set("tool_call_id", call["id"]);
      if (!parent.empty()) row.set("parentId", parent);
      row.set("plugin", call);
      row.at("pluginIntervention").set("status", "pending");
      state_.at("messages").push(std::move(row));
    }
  }
  if (!parent.empty()) {
    Tree batch = Tree::object();
    batch.set("id", std::string(state_["operationId"].string()) + ':' +
                        std::to_string(step_count_) + ':' + parent);
    batch.set("assistantMessageId", parent);
    batch.set("stepIndex", Tree::integer(step_count_));
    batch.set("sealed", Tree::flag(true));
    if (!instruction["supersedes"].is_null()) batch.set("supersedes", instruction["supersedes"]);
    state_.set("pendingApprovalBatch", std::move(batch));
  }
  Tree content = Tree::object();
  content.set("pendingToolsCalling", calls);
  emit(event_of("human_approve_required", content, state_["operationId"]));
  if (options_.history) {
    Tree pending = Tree::object();
    pending.set("type", "tool_pending");
    pending.set("toolCalls", calls);
    emit(std::move(pending));
  }
  finish_instruction();
}

void StepMachine::request_human_prompt(const Tree& instruction) {
  wait_for_human("promptRequests");
  Tree content = copy_of(instruction, {"prompt", "metadata"});
  emit(event_of("human_prompt_required", content, state_["operationId"]));
  state_.set("pendingHumanPrompt", std::move(content));
  finish_instruction();
}

void StepMachine::request_human_select(const Tree& instruction) {
  wait_for_human("selectRequests");
  Tree content = copy_of(instruction, {"options", "multi", "prompt", "metadata"});
  emit(event_of("human_select_required", content, state_["operationId"]));
  state_.set("pendingHumanSelect", std::move(content));
  finish_instruction();
}

void StepMachine::finish(const Tree& instruction) {
  state_.set("status", "done");
  Tree event = Tree::object();
  event.set("type", "done");
  // A finish is no step of its own; the final state says so.
  if (!options_.lean) {
    Tree final_state = state_;
    if (counts_) {
      final_state.set("stepCount", Tree::integer(std::max<std::int64_t>(0, step_count_ - 1)));
    }
    event.set("finalState", std::move(final_state));
  }
  event.set("reason", instruction["reason"]);
  if (!instruction["reasonDetail"].is_null()) {
    event.set("reasonDetail", instruction["reasonDetail"]);
  }
  emit(std::move(event));
  finish_instruction();
}

}  // namespace millrace::agent
