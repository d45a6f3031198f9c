// Instructions that end a step: questions to a person, and the end of a run.
#include <algorithm>

#include "agent/approval/approvals.hpp"
#include "agent/approval/waiting.hpp"
#include "agent/open_calls.hpp"
#include "agent/state.hpp"
#include "agent/step/step_machine.hpp"

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

const Tree* row_of(const Tree& messages, std::string_view id) {
  const auto& state_messages = messages.items();
  const auto found = std::find_if(
      state_messages.begin(), state_messages.end(),
      [&](const Tree& state_message) { return !id.empty() && state_message["id"].string() == id; });
  return found == state_messages.end() ? nullptr : &*found;
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
  set_status(state_, Status::waiting_for_human);
  forget_deferred(state_);
  next_context_ = Tree();
}

// The batch that the calls are a part of already: `{batchId, operationId, toolCallIds}`, or null.
// Errors: invalid_instruction when they are of several, or some of none.
Result<Tree> StepMachine::batch_of(const Tree& calls) {
  Tree batch;
  std::size_t bound = 0;
  for (const Tree& call : calls.items()) {
    const Tree* state_message = find_tool_message(state_, call["id"].string());
    const Tree& own = call["intervention"];
    const Tree& known = own["batchId"].is_string() || state_message == nullptr
                            ? own
                            : (*state_message)["pluginIntervention"];
    if (!known["batchId"].is_string()) continue;
    ++bound;
    const bool other = batch.is_object() && (!(batch["batchId"] == known["batchId"]) ||
                                             !(batch["operationId"] == known["operationId"]));
    if (other) {
      bound = 0;
      break;
    }
    batch.set("batchId", known["batchId"]);
    if (!known["operationId"].is_null()) batch.set("operationId", known["operationId"]);
  }
  if (batch.is_null()) return batch;
  if (bound != calls.items().size()) {
    return make_error(
        Errc::invalid_instruction,
        "The calls of one request_human_approve belong to several batches; return one "
        "instruction for each batch.");
  }
  batch.set("toolCallIds", Tree::array());
  for (const Tree& call : calls.items()) batch.at("toolCallIds").push(call["id"]);
  return batch;
}

// Makes the rows of calls that wait for a person a part of the batch, and rows where there are
// none.
void StepMachine::bind_messages(const Tree& calls, const std::string& parent,
                                const std::string& batch_id, bool make) {
  const ShownResults results(state_["messages"]);
  for (std::size_t i = 0; i < calls.items().size(); ++i) {
    const Tree& call = calls.items()[i];
    Tree* state_message = find_tool_message(state_, call["id"].string());
    if (state_message == nullptr && make) {
      Tree made = Tree::object();
      made.set("id", new_result_id(call));
      made.set("role", "tool");
      made.set("content", "");
      made.set("tool_call_id", call["id"]);
      if (!parent.empty()) made.set("parentId", parent);
      made.set("plugin", call);
      mark_group(made);
      const CallOwner owner = owner_of(state_["messages"], call["id"].string());
      const Tree* turn =
          owner.state_message != nullptr ? owner.state_message : row_of(state_["messages"], parent);
      if (turn != nullptr && (*turn)["groupId"].is_string()) {
        made.set("groupId", (*turn)["groupId"]);
      }
      state_message = &state_.at("messages").push(std::move(made));
    }
    if (state_message == nullptr) {
      // A group shows the row of the result within the turn.
      const std::string shown = results.of(std::string(call["id"].string()));
      if (!shown.empty()) state_.at("pendingToolMessageIds").set(call["id"].string(), shown);
      continue;
    }
    Tree& intervention = state_message->at("pluginIntervention");
    intervention.set("status", "pending");
    if (!parent.empty()) intervention.set("batchId", batch_id);
    intervention.set("itemIndex", Tree::integer(static_cast<std::int64_t>(i)));
    intervention.set("operationId", state_["operationId"]);
    intervention.set("stepIndex", Tree::integer(step_count_));
    state_.at("pendingToolMessageIds").set(call["id"].string(), (*state_message)["id"]);
  }
}

// An interrupt about rows that are not there could not be answered in them.
// Errors: invalid_instruction naming the call.
Result<void> StepMachine::check_messages(const Tree& calls) {
  for (const Tree& call : calls.items()) {
    const std::string_view id = call["id"].string();
    if (find_tool_message(state_, id) != nullptr) continue;
    // A group shows the row of a call's result within the turn.
    const Tree* shown = owner_of(state_["messages"], id).call;
    const bool folded = shown != nullptr && ((*shown)["result_msg_id"].is_string() ||
                                             (*shown)["intervention"].is_object());
    if (folded) continue;
    return make_error(Errc::invalid_instruction,
                      "Missing durable tool message: no row is for the result of call '" +
                          std::string(id) + "'; leave skipCreateToolMessage out to have it made.");
  }
  return {};
}

// The row of the assistant that the calls are of.
std::string StepMachine::parent_of(const Tree& instruction) {
  const Tree& calls = instruction["pendingToolsCalling"];
  const Tree* first = calls.items().empty() ? nullptr : &calls.items().front();
  const std::string_view id = first == nullptr ? "" : (*first)["id"].string();
  // Rows that are there know the turn that they are of.
  if (instruction["skipCreateToolMessage"].truthy()) {
    const Tree* state_message = find_tool_message(state_, id);
    if (state_message != nullptr && (*state_message)["parentId"].is_string()) {
      return std::string((*state_message)["parentId"].string());
    }
  }
  if (instruction["parentMessageId"].is_string()) {
    return std::string(instruction["parentMessageId"].string());
  }
  const Tree* turn = owner_of(state_["messages"], id).turn;
  const bool named = turn != nullptr && (*turn)["id"].is_string();
  return std::string((named ? (*turn)["id"] : context_["payload"]["parentMessageId"]).string());
}

// No answer comes that could fill the row that was made for it; the next one gets its own, behind
// the calls.
void StepMachine::retire_placeholder() {
  const Tree placeholder = state_["pendingAssistantMessageId"];
  state_.erase("pendingAssistantMessageId");
  if (!options_.history || !placeholder.is_string()) return;
  std::erase_if(state_.at("messages").items(), [&](const Tree& state_message) {
    return state_message["id"] == placeholder && state_message["role"].string() == "assistant" &&
           state_message["content"].string().empty() &&
           state_message["tool_calls"].items().empty() && state_message["tools"].items().empty();
  });
}

void StepMachine::request_human_approve(const Tree& instruction) {
  const Tree& calls = instruction["pendingToolsCalling"];
  const bool make = !instruction["skipCreateToolMessage"].truthy();
  const std::string parent = parent_of(instruction);
  if (!make && options_.history) {
    const auto retained = check_messages(calls);
    if (!retained) return fail_step(error_tree(retained.error()));
  }
  auto before = batch_of(calls);
  if (!before) return fail_step(error_tree(before.error()));
  wait_for_human("approvalRequests");
  retire_placeholder();
  state_.set("pendingToolsCalling", calls);
  open_approvals(state_, calls, options_.approval_ms > 0 ? now_ms_ + options_.approval_ms : 0);
  std::string batch_id(state_["operationId"].string());
  batch_id.append(":").append(std::to_string(step_count_)).append(":").append(parent);
  if (options_.history) bind_messages(calls, parent, batch_id, make);
  if (!parent.empty()) {
    Tree batch = Tree::object();
    batch.set("id", batch_id);
    batch.set("assistantMessageId", parent);
    batch.set("stepIndex", Tree::integer(step_count_));
    batch.set("sealed", Tree::flag(true));
    const Tree& supersedes =
        instruction["supersedes"].is_null() ? before.value() : instruction["supersedes"];
    if (!supersedes.is_null()) batch.set("supersedes", supersedes);
    state_.set("pendingApprovalBatch", std::move(batch));
  }
  Tree content = Tree::object();
  content.set("pendingToolsCalling", calls);
  emit(event_of("human_approve_required", content, state_["operationId"]));
  Tree pending = typed("tool_pending");
  pending.set("toolCalls", calls);
  emit(std::move(pending));
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
  set_status(state_, Status::done);
  report(EndReason{std::string(instruction["reason"].string())});
  if (options_.lean) return finish_instruction();
  // A finish is no step of its own; the final state says so.
  Tree final_state = state_;
  if (counts_) {
    final_state.set("stepCount", Tree::integer(std::max<std::int64_t>(0, step_count_ - 1)));
  }
  Tree event = typed("done");
  event.set("finalState", std::move(final_state));
  event.set("reason", instruction["reason"]);
  if (!instruction["reasonDetail"].is_null()) {
    event.set("reasonDetail", instruction["reasonDetail"]);
  }
  emit(std::move(event));
  finish_instruction();
}

}  // namespace millrace::agent
