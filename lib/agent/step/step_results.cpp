// Results of the calls of a step: what they count, their rows, and what the agent gets.
#include <utility>

#include "agent/open_calls.hpp"
#include "agent/result_ids.hpp"
#include "agent/state.hpp"
#include "agent/step/step_machine.hpp"
#include "agent/vendor_calls.hpp"
#include "base/result_parts.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

Tree message_of(const Tree& error) {
  Tree made = Tree::object();
  made.set("error", error["message"].is_string() ? error["message"] : error);
  return made;
}

// A tool may report in its result that it failed.
bool succeeded(const Tree& error, const Tree& result) {
  return error.is_null() && result["success"].type() != json::Type::boolean_false;
}

// What a result holds beside its text stays with its row: LobeHub's state of the plugin, and files
// that the answer refers to.
void keep_beside(Tree& state_message, const Tree& result) {
  if (const Tree* state = result.find("state")) state_message.set("pluginState", *state);
  if (result["attachments"].is_array()) state_message.set("attachments", result["attachments"]);
}

}  // namespace

// Counts the calls one after the other, in the order they were asked for.
void StepMachine::account_tools() {
  if (batch_->custom) return merge_custom_tools();
  while (batch_->accounted < batch_->runs.size() && batch_->runs[batch_->accounted].parked) {
    ++batch_->accounted;
  }
  if (batch_->accounted == batch_->runs.size()) return finish_tools();
  const ToolRun& run = batch_->runs[batch_->accounted];
  Tree result = Tree::object();
  result.set("toolCall", run.call);
  result.set("result", run.error.is_null() ? run.result : message_of(run.error));
  result.set("executionTime", Tree::integer(run.elapsed));
  result.set("isSuccess", Tree::flag(succeeded(run.error, run.result)));
  account("tool", std::move(result), run.elapsed, [this] {
    ++batch_->accounted;
    account_tools();
  });
}

// A result as the model reads it.
void StepMachine::write_tool_message(const ToolRun& run, const Tree& content) {
  if (is_vendor_call(state_, run.call)) return write_vendor_message(run, content);
  const bool plain = options_.history && content.is_string();
  const bool wrapped = options_.history && content["content"].is_string();
  const std::string text = plain     ? std::string(content.string())
                           : wrapped ? std::string(content["content"].string())
                                     : (content.is_null() ? "null" : content.to_json());
  Tree& state_message = tool_message(run);
  state_message.set("content", text);
  if (wrapped) keep_beside(state_message, content);
  // Some providers take failures as such, as they do after the conversation was read again.
  const Tree& failure = run.error["message"];
  if (options_.lean && failure.is_string()) state_message.set("error", failure);
}

// The readers of a lean host know it by the call.
std::string StepMachine::new_result_id(const Tree& call) const {
  if (options_.lean) return result_message_id(call["id"].string());
  std::string shown = shown_result_id(state_["messages"], call["id"].string());
  return shown.empty() ? new_id() : shown;
}

// The row of a call's result: the one that waits for it, or a new one.
Tree& StepMachine::tool_message(const ToolRun& run) {
  if (!run.state_message.empty()) {
    for (Tree& message : state_.at("messages").items()) {
      if (message["id"].string() == run.state_message) return message;
    }
  }
  Tree state_message = Tree::object();
  state_message.set("role", "tool");
  state_message.set("content", "");
  state_message.set("tool_call_id", run.call["id"]);
  if (options_.history) {
    state_message.set("id",
                      run.state_message.empty() ? new_result_id(run.call) : run.state_message);
    if (!batch_->parent.empty()) state_message.set("parentId", batch_->parent);
    state_message.set("plugin", run.call);
    mark_group(state_message);
  }
  state_message.fit();
  return state_.at("messages").push(std::move(state_message));
}

// The row of a call of a tool that a vendor defines: its provider takes images and failures as
// such.
void StepMachine::write_vendor_message(const ToolRun& run, const Tree& content) {
  const Tree& text = content["content"].is_string() ? content["content"] : content;
  const Tree& parts = content[result_parts_member];
  const bool failed = !run.error.is_null();
  Tree& state_message = tool_message(run);
  state_message.set("content", parts.is_array() ? parts : failed ? run.error["message"] : text);
  if (failed) state_message.set("error", run.error["message"]);
  if (content["content"].is_string()) keep_beside(state_message, content);
  if (acknowledges_checks(state_, run.call)) {
    state_message.at("metadata").at("millrace").set("providerState", Tree::array());
    state_message.at("metadata")
        .at("millrace")
        .at("providerState")
        .push(acknowledged_checks(run.call));
  }
}

Tree StepMachine::error_for_model(const Tree& error) const {
  return options_.failure ? Tree::text(options_.failure(error)) : message_of(error);
}

// Reports a result to a lean host: its readers get it when the call ends, the model when all have
// ended.
void StepMachine::report_result(ToolRun& run) {
  if (std::exchange(run.reported, true)) return;
  const bool acknowledges = acknowledges_checks(state_, run.call);
  report(CallEnd{std::string(run.call["id"].string()), run.result, run.error,
                 std::move(run.details), acknowledges ? acknowledged_checks(run.call) : Tree()});
}

// Writes a result and reports it; gives what the agent learns of it.
Tree StepMachine::reported_result(ToolRun& run) {
  const bool ok = run.error.is_null();
  const Tree data = ok ? run.result : error_for_model(run.error);
  write_tool_message(run, data);
  if (options_.lean) {
    report_result(run);
  } else {
    Tree event = typed("tool_result");
    event.set("id", run.call["id"]);
    event.set("result", data);
    emit(std::move(event));
  }
  Tree entry = Tree::object();
  entry.set("toolCall", run.call);
  entry.set("toolCallId", run.call["id"]);
  entry.set("data", data);
  entry.set("result", data);
  entry.set("isSuccess", Tree::flag(succeeded(run.error, run.result)));
  entry.set("executionTime", Tree::integer(run.elapsed));
  if (data["stop"].truthy()) entry.set("stop", Tree::flag(true));
  return entry;
}

// What the agent decides on next.
void StepMachine::pass_results(Tree results) {
  std::string parent = batch_->parent;
  const auto& messages = state_["messages"].items();
  if (options_.history && !messages.empty() && messages.back()["role"].string() == "tool") {
    parent = messages.back()["id"].string();
  }
  if (batch_->single && !results.items().empty()) {
    Tree payload = std::move(results.items().front());
    payload.set("parentMessageId", parent);
    next_context_ = context_of("tool_result", std::move(payload));
  } else {
    Tree payload = Tree::object();
    payload.set("parentMessageId", parent);
    payload.set("toolCount", Tree::integer(static_cast<std::int64_t>(batch_->runs.size())));
    payload.set("toolResults", std::move(results));
    next_context_ = context_of("tools_batch_result", std::move(payload));
  }
}

// Keeps the calls that are answered later, and reports what they wait for; true when there are any.
bool StepMachine::park_runs() {
  Tree at_client = Tree::array();
  Tree deferred = Tree::array();
  for (const ToolRun& run : batch_->runs) {
    if (!run.parked) continue;
    Tree* pending = state_.find("pendingToolsCalling");
    (pending != nullptr ? *pending : state_.set("pendingToolsCalling", Tree::array()))
        .push(run.call);
    (run.result.is_null() ? at_client : deferred).push(run.call);
  }
  const auto report = [&](Tree calls, std::string_view reason) {
    if (calls.items().empty()) return;
    Tree event = typed("tool_pending");
    event.set("reason", reason);
    event.set("toolCalls", std::move(calls));
    emit(std::move(event));
  };
  const bool any = !at_client.items().empty() || !deferred.items().empty();
  report(std::move(at_client), "client_tool_execution");
  report(std::move(deferred), "async_tool");
  return any;
}

}  // namespace millrace::agent
