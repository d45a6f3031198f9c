#include "agent/step_news.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace millrace::agent {
namespace {

using json::Tree;

constexpr std::array<std::string_view, 7> kind_names{"runner", "executor", "model",    "tool",
                                                     "usage",  "cost",     "sub_agent"};

Tree number(std::uint64_t id) {
  return Tree::integer(static_cast<std::int64_t>(id));
}

Tree tree_of(StepAction action) {
  Tree made = Tree::object();
  made.set("id", number(action.id));
  made.set("kind", name_of(action.kind));
  made.set("payload", std::move(action.payload));
  return made;
}

Tree tree_of(StepOutcome outcome) {
  Tree made = Tree::object();
  made.set("events", std::move(outcome.events));
  made.set("newState", std::move(outcome.state));
  if (outcome.next_context.is_object()) made.set("nextContext", std::move(outcome.next_context));
  return made;
}

}  // namespace

std::string_view name_of(ActionKind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}

Tree to_tree(StepNews news) {
  Tree made = Tree::object();
  Tree& actions = made.set("actions", Tree::array());
  for (StepAction& action : news.actions) actions.push(tree_of(std::move(action)));
  made.set("events", std::move(news.events));
  Tree& cancelled = made.set("cancelled", Tree::array());
  for (const std::uint64_t id : news.cancelled) cancelled.push(number(id));
  if (news.deadline_ms) made.set("deadlineMs", Tree::integer(*news.deadline_ms));
  if (news.outcome) made.set("outcome", tree_of(*std::move(news.outcome)));
  return made;
}

}  // namespace millrace::agent
