#include "agent/vendor_calls.hpp"

#include <cstddef>
#include <utility>

#include "agent/state.hpp"
#include "agent/state_messages.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

constexpr std::string_view provider = "openai_responses";
constexpr std::string_view kind = "item";

}  // namespace

Tree pending_checks_of(const message::ToolCall& call) {
  const message::ProviderState* state = call.metadata.find(provider, kind);
  if (state == nullptr) return {};
  auto item = Tree::parse(state->json);
  if (!item) return {};
  const Tree& checks = item.value()["pending_safety_checks"];
  return checks.items().empty() ? Tree() : checks;
}

bool has_pending_checks(const Tree& call) {
  return !call[pending_checks_member].items().empty();
}

bool acknowledges_checks(const Tree& state, const Tree& call) {
  if (!has_pending_checks(call)) return false;
  const Tree* approval = find_by(state["pendingApprovals"], "toolCallId", call["id"].string());
  return approval != nullptr && (*approval)["status"].string() == "approved";
}

std::string texts_of_checks(const Tree& call) {
  std::string texts;
  for (const Tree& check : call[pending_checks_member].items()) {
    const std::string_view message = check["message"].string();
    const std::string_view text = message.empty() ? check["code"].string() : message;
    if (!texts.empty() && !text.empty()) texts.push_back(' ');
    texts.append(text);
  }
  return texts;
}

Tree acknowledged_checks(const Tree& call) {
  Tree state = Tree::object();
  state.set("type", "computer_call_output");
  state.set("acknowledged_safety_checks", call[pending_checks_member]);
  Tree entry = Tree::object();
  entry.set("provider", provider);
  entry.set("kind", kind);
  entry.set("state", std::move(state));
  return entry;
}

bool is_vendor_call(const Tree& state, const Tree& call) {
  return manifest_of(state, call["identifier"].string())["vendor"].is_true();
}

void mark_rejected_calls(Tree& state) {
  const auto is_unmarked = [&](const Tree& row) {
    const std::string_view status = row["pluginIntervention"]["status"].string();
    return (status == "rejected" || status == "aborted") && row["error"].is_null() &&
           is_vendor_call(state, row["plugin"]);
  };
  // Rows are shared with readers: those alone are copied that change.
  for (std::size_t at = 0; at < state["messages"].items().size(); ++at) {
    const Tree row = state["messages"].items()[at];
    if (is_unmarked(row)) state.at("messages").items()[at].set("error", row["content"]);
  }
}

}  // namespace millrace::agent
