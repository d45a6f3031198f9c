#include "api/capabilities.hpp"

#include <initializer_list>
#include <utility>

#include "model/auth/auth.hpp"

namespace millrace::api {
namespace {

using json::Tree;

void say_yes(Tree& part, std::initializer_list<std::string_view> members) {
  for (const std::string_view member : members) part.set(member, Tree::flag(true));
}

Tree told_of(const tool::Spec& spec) {
  Tree item = Tree::object();
  item.set("name", spec.name);
  item.set("description", spec.description);
  auto parameters = Tree::parse(spec.parameters);
  if (parameters) item.set("parameters", std::move(parameters).value());
  return item;
}

}  // namespace

std::string agent_capabilities(const run::AgentPlan& plan, std::string_view version,
                               std::int64_t max_steps) {
  Tree told = Tree::object();
  Tree& identity = told.at("identity");
  identity.set("name", "millrace");
  identity.set("type", "millrace");
  identity.set("version", version);
  say_yes(told.at("transport"), {"streaming"});
  Tree& tools = told.at("tools");
  say_yes(tools, {"supported", "parallelCalls", "clientProvided"});
  tools.set("items", Tree::array());
  for (const auto& [name, entry] : plan.tools.entries()) {
    tools.at("items").push(told_of(entry.tool->spec()));
  }
  say_yes(told.at("reasoning"), {"supported", "streaming", "encrypted"});
  say_yes(told.at("humanInTheLoop"), {"supported", "approvals", "interrupts", "approveWithEdits"});
  if (max_steps > 0) told.at("execution").set("maxIterations", Tree::integer(max_steps));
  return told.to_json(json::Surrogates::replace);
}

std::vector<std::string> missing_keys(const run::AgentPlan& plan) {
  std::vector<std::string> sentences;
  for (const model::CallLink& link : plan.chain) {
    const auto error = model::missing_credentials(link.config);
    if (!error) continue;
    const bool is_first = &link == plan.chain.begin();
    sentences.push_back((is_first ? "" : "Its fallback cannot be asked: ") + error->message);
  }
  return sentences;
}

}  // namespace millrace::api
