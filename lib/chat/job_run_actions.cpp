// What the user is to decide in a run: the actions of a job, and the calls that they are about.
#include <string>
#include <string_view>
#include <utility>

#include "chat/job_calls.hpp"
#include "chat/job_run.hpp"
#include "chat/redaction.hpp"

namespace millrace::chat {

using json::Tree;

// The identity and the arguments of a call of any branch; null when there is none.
Tree JobRun::call_at(std::string_view id) const {
  for (const auto& [number, branch] : branches_) {
    const auto found = branch.calls.find(id);
    if (id.empty() || found == branch.calls.end()) continue;
    Tree call = identity(branch, id, found->second);
    call.set("arguments_preview", preview(found->second.arguments));
    return call;
  }
  const auto vendor = vendor_calls_.find(id);
  return vendor == vendor_calls_.end() ? Tree() : vendor->second;
}

// A call that the provider runs itself, once the user approves it.
void JobRun::note_vendor_call(std::string_view json) {
  const auto item = Tree::parse(json);
  if (!item || item.value()["id"].string().empty()) return;
  const Tree& id = item.value()["id"];
  Tree& call = vendor_calls_[std::string(id.string())];
  call.set("tool_call_id", id);
  call.set("webchat_call_id", id);
  call.set("name", item.value()["name"].string());
  call.set("arguments_preview", preview(item.value()["arguments"].string()));
}

void JobRun::request_action(const journal::ApprovalRequested& fact) {
  Tree payload = Tree::object();
  payload.set("action_id", fact.id);
  payload.set("kind", journal::name_of(fact.kind));
  const Tree call = call_at(fact.call);
  if (call.is_object()) {
    for (const std::string_view key : {"tool_call_id", "webchat_call_id", "parent_webchat_call_id",
                                       "name", "arguments_preview"}) {
      payload.set(key, call[key]);
    }
  } else if (!fact.call.empty()) {
    payload.set("name", fact.call);
  }
  if (fact.expires_ms > 0) payload.set("expires_at", seconds(fact.expires_ms));
  // A function reports what it waits for itself, before or behind this.
  const bool is_of_function = !has_model_ && !call.is_object() && !fact.call.empty();
  const auto reported = reported_actions_.find(fact.id);
  const bool is_reported = reported != reported_actions_.end();
  // What a function is at, it says itself.
  if (has_model_ && open_actions_.empty()) {
    actions_.stage("waiting_input", payload["name"].string());
  }
  open_actions_.push_back({std::string(fact.id), is_reported ? reported->second : payload});
  if (!is_reported && !is_of_function) actions_.requires_action(payload);
}

void JobRun::note_rejection(std::string_view action_id) {
  for (const Action& action : open_actions_) {
    const std::string_view call = action.payload["tool_call_id"].string();
    if (action.id == action_id && !call.empty()) rejected_.emplace(call);
  }
}

Tree JobRun::reported_action(const Tree& given) {
  Tree payload = given;
  const std::string_view id = given["id"].string();
  if (given["action_id"].is_null() && !id.empty()) {
    const Tree& kind = given["metadata"]["kind"];
    payload = Tree::object();
    payload.set("action_id", id);
    const std::string_view usual = journal::name_of(journal::ApprovalKind::prompt);
    payload.set("kind", kind.is_string() ? kind.string() : usual);
    payload.set("name", given["metadata"]["action"]);
    if (!given["message"].is_null()) payload.set("message", given["message"]);
    if (!given["responseSchema"].is_null()) payload.set("schema", given["responseSchema"]);
    const Tree& expires = given["expiresAt"];
    if (expires.is_number()) payload.set("expires_at", seconds(expires.integer_or(0)));
  }
  const std::string action(payload["action_id"].string());
  reported_actions_[action] = payload;
  for (Action& open : open_actions_) {
    if (open.id == action) open.payload = payload;
  }
  return payload;
}

Tree JobRun::waiting_input() const {
  return open_actions_.empty() ? Tree() : open_actions_.front().payload;
}

}  // namespace millrace::chat
