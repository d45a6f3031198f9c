#include "agent/first_context.hpp"

#include <cstdint>
#include <utility>

#include "base/json_tree.hpp"

namespace millrace::agent {

using json::Tree;

FirstContext first_context(const Tree& state) {
  const auto& messages = state["messages"].items();
  if (messages.empty() || messages.back()["role"].string() != "user") return {"init", Tree()};
  Tree payload = Tree::object();
  payload.set("message", messages.back());
  payload.set("isFirstMessage", Tree::flag(messages.size() == 1));
  return {"user_input", std::move(payload)};
}

Tree session_of(const Tree& state) {
  Tree session = Tree::object();
  session.set("messageCount",
              Tree::integer(static_cast<std::int64_t>(state["messages"].items().size())));
  session.set("sessionId", state["operationId"]);
  session.set("status", state["status"]);
  session.set("stepCount", state["stepCount"]);
  return session;
}

}  // namespace millrace::agent
