#include "run/durable/fork_edits.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/shown.hpp"
#include "run/durable/fork_source.hpp"

namespace millrace::run {
namespace {

using json::Tree;

// A result that is given anew has not failed.
void set_result(Tree& message, std::string_view text) {
  message.set("content", text);
  for (const std::string_view member : {"error", "isError", "pluginError"}) message.erase(member);
}

// Results of a call in a context, which the next step begins with.
void edit_in_context(Tree& value, std::string_view call, std::string_view text) {
  if (value["toolCallId"].string() == call || value["tool_call_id"].string() == call) {
    for (const std::string_view member : {"data", "result", "content"}) {
      if (value.find(member) != nullptr) value.set(member, text);
    }
    if (value.find("isSuccess") != nullptr) value.set("isSuccess", Tree::flag(true));
  }
  for (auto& [name, member] : value.members()) edit_in_context(member, call, text);
  for (Tree& item : value.items()) edit_in_context(item, call, text);
}

void edit_result(Tree& saved, std::string_view call, std::string_view text) {
  for (Tree& message : saved.at("state").at("messages").items()) {
    if (message["tool_call_id"].string() == call) set_result(message, text);
  }
  if (saved["context"].is_object()) edit_in_context(saved.at("context"), call, text);
}

bool edit_last_message(Tree::Items& messages, std::string_view text) {
  const auto last = std::find_if(messages.rbegin(), messages.rend(), [](const Tree& message) {
    return message["role"].string() == "user";
  });
  if (last == messages.rend()) return false;
  last->set("content", text);
  return true;
}

// Whether the run has nothing left to do but to end.
bool is_answered(const Tree& saved) {
  const Tree& context = saved["context"];
  if (saved["state"]["status"].string() == "done") return true;
  return context["phase"].string() == "llm_result" && !context["payload"]["hasToolCalls"].is_true();
}

}  // namespace

Result<void> edit_state(Tree& saved, const ForkRequest& request,
                        const journal::FoldedBranch& root) {
  const bool is_edited = request.message || !request.results.empty();
  if (is_edited && is_answered(saved)) {
    return wrong_fork(
        "The answer is complete at this record, and no edit changes it. Fork at a record before "
        "the answer.");
  }
  for (const auto& [call, text] : request.results) {
    const auto known = std::find_if(root.calls.begin(), root.calls.end(),
                                    [id = call](const auto& row) { return row.call == id; });
    if (known == root.calls.end() || !journal::is_over(known->state)) {
      return wrong_fork("The call " + shown_text(call) + " has no result at this record.");
    }
    edit_result(saved, call, text);
  }
  if (!request.message) return {};
  if (edit_last_message(saved.at("state").at("messages").items(), *request.message)) return {};
  return wrong_fork("There is no message of the user before this record.");
}

Tree edits_of(const ForkRequest& request) {
  if (request.results.empty() && !request.message) return {};
  Tree edits = Tree::object();
  if (request.message) edits.set("message", *request.message);
  for (const auto& [call, text] : request.results) {
    if (edits.find("results") == nullptr) edits.set("results", Tree::object());
    edits.at("results").set(call, text);
  }
  return edits;
}

bool edit_rows(store::ThreadUpdate& update, const ForkRequest& request) {
  Tree::Items messages;
  for (const store::ThreadEntry& entry : update.messages) {
    auto parsed = Tree::parse(entry.json);
    messages.push_back(parsed ? std::move(parsed).value() : Tree::object());
  }
  const bool is_edited = !request.message || edit_last_message(messages, *request.message);
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const auto edited = request.results.find(messages[at]["toolCallId"].string());
    if (edited != request.results.end()) set_result(messages[at], edited->second);
    if (messages[at]["role"].is_string()) {
      update.messages[at].json = messages[at].to_json(json::Surrogates::keep);
    }
  }
  return is_edited;
}

}  // namespace millrace::run
