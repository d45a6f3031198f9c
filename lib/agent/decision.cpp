#include "agent/decision.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/approval/approval_list.hpp"
#include "agent/approval/approvals.hpp"
#include "agent/approval/call_schema.hpp"
#include "agent/approval/intervention.hpp"
#include "agent/approval/vendor_approvals.hpp"
#include "agent/approval/waiting.hpp"
#include "agent/decision_answers.hpp"
#include "agent/first_context.hpp"
#include "agent/open_calls.hpp"
#include "agent/state.hpp"
#include "agent/vendor_calls.hpp"
#include "base/shown.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

// Rows and calls know what was decided.
void write_message(Tree& state, const Tree& call, std::string_view content, std::string_view status,
                   std::string_view reason, const StateMessageIds& ids) {
  Tree* state_message = find_tool_message(state, call["id"].string());
  if (state_message == nullptr) {
    Tree made = Tree::object();
    const std::string_view id = call["id"].string();
    const std::string shown = shown_result_id(state["messages"], id);
    made.set("id", shown.empty() ? std::string(ids.of_result(id)) : shown);
    made.set("role", "tool");
    made.set("tool_call_id", call["id"]);
    made.set("plugin", call);
    state_message = &state.at("messages").push(std::move(made));
  }
  state_message->set("content", content);
  Tree& intervention = state_message->at("pluginIntervention");
  intervention.set("status", status);
  if (!reason.empty()) intervention.set("rejectedReason", reason);
}

void set_approval(Tree& state, std::string_view id, std::string_view status) {
  if (Tree* approval = approval_list::find_in(state, "pendingApprovals", "toolCallId", id)) {
    approval->set("status", status);
  }
}

constexpr std::string_view unapproved = "The call was aborted before it was approved.";

void abort_calls(Tree& state, std::string_view content, std::int64_t now_ms,
                 const StateMessageIds& ids) {
  const Tree pending = state["pendingToolsCalling"];
  for (const Tree& call : pending.items()) {
    write_message(state, call, content, "aborted", {}, ids);
    set_approval(state, call["id"].string(), "aborted");
  }
  state.erase("pendingToolsCalling");
  state.erase("pendingToolMessageIds");
  end_human_wait(state, now_ms);
}

// A member without a reader would approve the call as it was shown, whatever was meant.
Result<void> check_members(const Tree& decision) {
  static constexpr std::array<std::string_view, 9> known{
      "action", "toolCallId", "arguments", "editedArguments", "editedArgs",
      "reason", "value",      "result",    "success"};
  for (const auto& [name, value] : decision.members()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return make_error(Errc::invalid_argument,
                      "A decision has no member '" + std::string(name) +
                          "'; use editedArguments to change the arguments.");
  }
  return {};
}

class Decision {
 public:
  Decision(Tree state, const Tree& decision, std::int64_t now_ms, StateMessageIds ids)
      : state_(std::move(state)), decision_(decision), now_ms_(now_ms), ids_(ids) {}

  Result<Tree> run() {
    struct Row {
      std::string_view action;
      Result<void> (Decision::*apply)();
    };
    static constexpr std::array actions{Row{"approve", &Decision::approve},
                                        Row{"approve_all", &Decision::approve_all},
                                        Row{"reject", &Decision::reject},
                                        Row{"reject_and_continue", &Decision::reject},
                                        Row{"stop", &Decision::stop},
                                        Row{"answer", &Decision::respond},
                                        Row{"tool_result", &Decision::tool_result}};
    const std::string_view action = decision_["action"].string();
    const auto* found = std::find_if(actions.begin(), actions.end(),
                                     [&](const Row& r) { return r.action == action; });
    if (found == actions.end()) {
      return make_error(Errc::invalid_argument,
                        "There is no action '" + std::string(action) +
                            "'; use approve, approve_all, reject, reject_and_continue, stop, "
                            "answer or tool_result.");
    }
    MILLRACE_TRY(check_members(decision_));
    MILLRACE_TRY((this->*found->apply)());
    state_.set("lastModified", iso_time(now_ms_));
    Tree result = Tree::object();
    result.set("newState", std::move(state_));
    result.set("events", std::move(events_));
    if (next_.is_object()) result.set("nextContext", std::move(next_));
    return result;
  }

 private:
  // The open call that the decision is about.
  Result<Tree> open_call() {
    const std::string_view id = decision_["toolCallId"].string();
    Tree* approval = approval_list::find_in(state_, "pendingApprovals", "toolCallId", id);
    if (approval != nullptr && (*approval)["status"].string() != "pending")
      return approval_list::answered(id);
    Tree* call = approval_list::find_in(state_, "pendingToolsCalling", "id", id);
    if (call == nullptr) return approval_list::unknown(id);
    return chat_tool_call(*call);
  }

  Result<void> approve() {
    auto open = open_call();
    if (!open) return open.error();
    Tree call = std::move(open).value();
    const std::string id(call["id"].string());
    const Tree& shown = decision_["arguments"];
    if (shown.is_string() && shown.string() != call["arguments"].string()) {
      return make_error(Errc::approval_mismatch,
                        "The approved arguments differ from those of call '" + id +
                            "'; use editedArguments to change them.");
    }
    Tree* approval = approval_list::find_in(state_, "pendingApprovals", "toolCallId", id);
    if (approval != nullptr) MILLRACE_TRY(approval_list::check_time(*approval, id, now_ms_));
    const Tree& edited =
        decision_[decision_["editedArguments"].is_null() ? "editedArgs" : "editedArguments"];
    if (is_mcp_call(call)) return approve_vendor(call, edited);
    if (has_pending_checks(call) && !edited.is_null()) return not_editable(id);
    if (edited.is_null()) {
      if (approval != nullptr) MILLRACE_TRY(approval_list::check_shown(*approval, call));
    } else {
      const auto written = Tree::parse(edited.string());
      const bool is_text = edited.is_string() && written.ok() && written.value().is_object();
      if (!is_text && !edited.is_object()) {
        return make_error(Errc::invalid_argument,
                          "editedArguments must be an object, or the JSON text of one, not " +
                              shown_value(edited) + ".");
      }
      const std::string text = edited.is_string() ? std::string(edited.string()) : edited.to_json();
      MILLRACE_TRY(check_call_arguments(state_, call, text));
      edit(call, approval, text);
    }
    if (approval != nullptr) {
      approval->set("status", "approved");
      approval->set("ready", Tree::flag(true));
    }
    if (Tree* pending = approval_list::find_in(state_, "pendingToolsCalling", "id", id))
      *pending = call;
    Tree payload = Tree::object();
    payload.set("approvedToolCall", call);
    add_message(call, payload);
    set_status(state_, Status::running);
    go_on("human_approved_tool", std::move(payload));
    return {};
  }

  // What the provider runs, or warned of, is what was shown.
  static Error not_editable(const std::string& id) {
    return make_error(Errc::invalid_argument,
                      "The arguments of call '" + id +
                          "' cannot be edited: the provider knows it as it was shown. Reject it "
                          "with a reason instead.");
  }

  // Nothing runs here: the answer is in the conversation.
  Result<void> approve_vendor(const Tree& call, const Tree& edited) {
    const std::string id(call["id"].string());
    if (!edited.is_null()) return not_editable(id);
    if (const Tree* approval =
            approval_list::find_in(state_, "pendingApprovals", "toolCallId", id)) {
      MILLRACE_TRY(approval_list::check_time(*approval, id, now_ms_));
      MILLRACE_TRY(approval_list::check_shown(*approval, call));
    }
    write_message(state_, call, "The user approved this call.", "approved", {}, ids_);
    set_approval(state_, id, "approved");
    approval_list::drop_pending(state_, id);
    go_on_where_decided();
    return {};
  }

  // The model goes on where no call waits any more.
  void go_on_where_decided() {
    if (waiting_status(state_, Status::waiting_for_async_tool)) return;
    set_status(state_, Status::running);
    go_on("user_input", Tree::object());
  }

  // Both sets of arguments are kept; the approval is for the new one.
  void edit(Tree& call, Tree* approval, std::string_view edited) {
    const Tree before = call["arguments"];
    const std::string old_hash = approval_list::hash_of(call);
    call.set("arguments", edited);
    const std::string new_hash = approval_list::hash_of(call);
    if (approval != nullptr) {
      approval->set("hash", new_hash);
      approval->at("original").set("arguments", before);
      approval->at("original").set("hash", old_hash);
      approval->at("edited").set("arguments", call["arguments"]);
      approval->at("edited").set("hash", new_hash);
    }
    const std::string_view id = call["id"].string();
    if (Tree* state_message = find_tool_message(state_, id);
        state_message != nullptr && (*state_message)["plugin"].is_object()) {
      state_message->at("plugin").set("arguments", call["arguments"]);
    }
    auto& state_messages = state_.at("messages").items();
    for (auto state_message = state_messages.rbegin(); state_message != state_messages.rend();
         ++state_message) {
      if (state_message->find("tool_calls") == nullptr) continue;
      bool own = false;
      for (Tree& made : state_message->at("tool_calls").items()) {
        if (made["id"].string() != id) continue;
        made.at("function").set("arguments", call["arguments"]);
        own = true;
      }
      // An older turn may have used the same id.
      if (own) break;
    }
  }

  // A row that waits for the result is updated instead of a new one being made.
  void add_message(const Tree& call, Tree& payload) {
    if (Tree* state_message = find_tool_message(state_, call["id"].string())) {
      state_message->at("pluginIntervention").set("status", "approved");
      payload.set("parentMessageId", (*state_message)["id"]);
      payload.set("skipCreateToolMessage", Tree::flag(true));
    }
  }

  Result<void> approve_all() {
    const Tree waiting = state_["pendingToolsCalling"];
    if (waiting.items().empty()) {
      return make_error(Errc::approval_answered,
                        "No call is waiting for approval: its approvals were already answered.");
    }
    for (const Tree& call : waiting.items()) {
      if (is_mcp_call(call)) MILLRACE_TRY(approve_vendor(call, Tree()));
    }
    const Tree calls = state_["pendingToolsCalling"];
    if (calls.items().empty()) return {};
    Tree payload = Tree::object();
    for (const Tree& call : calls.items()) {
      const std::string_view id = call["id"].string();
      if (const Tree* approval =
              approval_list::find_in(state_, "pendingApprovals", "toolCallId", id)) {
        MILLRACE_TRY(approval_list::check_shown(*approval, call));
      }
      if (Tree* state_message = find_tool_message(state_, id)) {
        state_message->at("pluginIntervention").set("status", "approved");
        payload.at("existingToolMessageIds").set(id, (*state_message)["id"]);
        if (payload["parentMessageId"].is_null())
          payload.set("parentMessageId", (*state_message)["parentId"]);
      }
    }
    Tree& approved = payload.set("approvedToolCalls", Tree::array());
    for (const Tree& call : calls.items()) approved.push(chat_tool_call(call));
    set_status(state_, Status::running);
    go_on("human_approved_tool", std::move(payload));
    return {};
  }

  Result<void> reject() {
    auto open = open_call();
    if (!open) return open.error();
    const Tree call = std::move(open).value();
    const std::string_view id = call["id"].string();
    const std::string reason(decision_["reason"].string());
    std::string content = "The user refused this call.";
    if (!reason.empty()) content += " Reason: " + reason;
    write_message(state_, call, content, "rejected", reason, ids_);
    set_approval(state_, id, "rejected");
    approval_list::drop_pending(state_, id);
    if (decision_["action"].string() == "reject") {
      abort_calls(state_, unapproved, now_ms_, ids_);
      interrupt("human_rejected");
      return {};
    }
    go_on_where_decided();
    return {};
  }

  void interrupt(std::string_view reason) {
    const std::string at = iso_time(now_ms_);
    set_status(state_, Status::interrupted);
    Tree event = Tree::object();
    event.set("type", "interrupted");
    Tree& record = state_.set("interruption", Tree::object());
    for (Tree* target : {&event, &record}) {
      target->set("reason", reason);
      target->set("interruptedAt", at);
      target->set("canResume", Tree::flag(false));
    }
    events_.push(std::move(event));
  }

  // Stopping twice is no error.
  Result<void> stop() {
    const Status status = status_of(state_);
    if (status == Status::done || status == Status::error) return {};
    abort_waiting(state_, unapproved, now_ms_, ids_.source, ids_.results);
    set_status(state_, Status::done);
    Tree event = Tree::object();
    event.set("type", "done");
    event.set("finalState", state_);
    event.set("reason", "user_aborted");
    if (decision_["reason"].is_string()) event.set("reasonDetail", decision_["reason"]);
    events_.push(std::move(event));
    return {};
  }

  Result<void> respond() {
    auto next = take_response(state_, decision_["value"], now_ms_, ids_);
    return follow(std::move(next));
  }

  Result<void> tool_result() {
    auto next = take_tool_result(state_, decision_, events_, now_ms_, ids_);
    return follow(std::move(next));
  }

  Result<void> follow(Result<std::optional<NextPhase>> next) {
    if (!next) return std::move(next).error();
    if (!next.value()) return {};
    set_status(state_, Status::running);
    go_on(next.value()->phase, std::move(next.value()->payload));
    return {};
  }

  void go_on(std::string_view phase, Tree payload) {
    next_ = Tree::object();
    next_.set("phase", phase);
    next_.set("payload", std::move(payload));
    next_.set("session", session_of(state_));
  }

  Tree state_;
  const Tree& decision_;
  std::int64_t now_ms_;
  StateMessageIds ids_;
  Tree events_ = Tree::array();
  Tree next_;
};

}  // namespace

void abort_waiting(Tree& state, std::string_view content, std::int64_t now_ms, IdSource& ids,
                   ResultIds result_ids) {
  abort_calls(state, content, now_ms, {ids, result_ids});
  state.erase("pendingHumanPrompt");
  state.erase("pendingHumanSelect");
  forget_deferred(state);
}

Result<Tree> apply_decision(Tree state, const Tree& decision, std::int64_t now_ms, IdSource& ids,
                            ResultIds result_ids) {
  auto loaded = load_state(std::move(state), Tree(), now_ms);
  if (!loaded) return std::move(loaded).error();
  return Decision(std::move(loaded).value(), decision, now_ms, {ids, result_ids}).run();
}

}  // namespace millrace::agent
