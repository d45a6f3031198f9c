#include "agent/decision_answers.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/approval/approval_list.hpp"
#include "agent/approval/approvals.hpp"
#include "agent/approval/waiting.hpp"
#include "agent/result_ids.hpp"
#include "agent/state.hpp"
#include "base/error.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "base/shown.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

Result<void> check_choice(const Tree& question, const Tree& value) {
  std::vector<const Tree*> chosen;
  if (value.is_array()) {
    for (const Tree& item : value.items()) chosen.push_back(&item);
  } else {
    chosen.push_back(&value);
  }
  const bool several = question["multi"].truthy();
  const auto offered = [&](const Tree* choice) {
    const auto& options = question["options"].items();
    return std::any_of(options.begin(), options.end(),
                       [&](const Tree& option) { return option["value"] == *choice; });
  };
  if ((!several && chosen.size() != 1) || !std::all_of(chosen.begin(), chosen.end(), offered)) {
    return make_error(
        Errc::invalid_argument,
        "The answer " +
            (value.is_string() ? shown_value(value) : value.to_json().substr(0, shown_bytes)) +
            " is not one of the options that were offered; answer with the `value` of " +
            (several ? "some of them." : "one of them."));
  }
  return {};
}

// A result in LobeHub's shape is its content.
std::string content_of(const Tree& result) {
  const Tree& text = result["content"].is_string() ? result["content"] : result;
  return text.is_string() ? std::string(text.string()) : text.to_json();
}

void write_result(Tree& state, const Tree& call, std::string_view content,
                  const StateMessageIds& ids) {
  if (Tree* const waiting = find_tool_message(state, call["id"].string()); waiting != nullptr) {
    waiting->set("content", content);
    return;
  }
  Tree made = Tree::object();
  made.set("id", ids.of_result(call["id"].string()));
  made.set("role", "tool");
  made.set("content", content);
  made.set("tool_call_id", call["id"]);
  state.at("messages").push(std::move(made));
}

}  // namespace

Result<std::optional<NextPhase>> take_response(Tree& state, const Tree& value, std::int64_t now_ms,
                                               const StateMessageIds& ids) {
  const bool prompt = state["pendingHumanPrompt"].is_object();
  const bool select = state["pendingHumanSelect"].is_object();
  if (!prompt && !select) {
    return make_error(Errc::approval_answered,
                      "No question is waiting for an answer: it was already answered.");
  }
  if (select) MILLRACE_TRY(check_choice(state["pendingHumanSelect"], value));
  const Tree& requested = state[select ? "pendingHumanSelect" : "pendingHumanPrompt"];
  const Tree call = requested["metadata"]["toolCallId"];
  Tree state_message = Tree::object();
  state_message.set("id", call.is_string() ? ids.of_result(call.string()) : ids.source.next_id());
  state_message.set("role", call.is_string() ? "tool" : "user");
  state_message.set("content", value.is_string() ? value : Tree::text(value.to_json()));
  // A model that asked by a call reads the answer as its result.
  if (call.is_string()) state_message.set("tool_call_id", call);
  Tree payload = Tree::object();
  payload.set("message", state_message);
  payload.set("response", value);
  payload.set("parentMessageId", state_message["id"]);
  payload.set("kind", select ? "select" : "prompt");
  state.at("messages").push(std::move(state_message));
  state.erase(select ? "pendingHumanSelect" : "pendingHumanPrompt");
  if (call.is_string()) approval_list::drop_pending(state, call.string());
  if (keep_waiting(state, Status::waiting_for_async_tool, now_ms))
    return std::optional<NextPhase>();
  return std::optional(NextPhase{"human_response", std::move(payload)});
}

Result<std::optional<NextPhase>> take_tool_result(Tree& state, const Tree& decision, Tree& events,
                                                  std::int64_t now_ms, const StateMessageIds& ids) {
  const std::string_view id = decision["toolCallId"].string();
  const Tree* const found = approval_list::find_in(state, "pendingToolsCalling", "id", id);
  if (found == nullptr || !waits_for_result(state, *found)) return approval_list::unknown(id);
  const Tree call = *found;
  const Tree& result = decision["result"];
  write_result(state, call, content_of(result), ids);
  Tree event = Tree::object();
  event.set("type", "tool_result");
  event.set("id", call["id"]);
  event.set("result", result);
  events.push(std::move(event));
  approval_list::drop_pending(state, id);
  if (keep_waiting(state, status_of(state), now_ms)) return std::optional<NextPhase>();
  Tree payload = Tree::object();
  payload.set("toolCall", call);
  payload.set("toolCallId", call["id"]);
  payload.set("data", result);
  const Tree& success = decision["success"].is_null() ? result["success"] : decision["success"];
  payload.set("isSuccess", Tree::flag(success.is_null() || success.truthy()));
  payload.set("parentMessageId", (*find_tool_message(state, id))["id"]);
  return std::optional(NextPhase{"tool_result", std::move(payload)});
}

}  // namespace millrace::agent
