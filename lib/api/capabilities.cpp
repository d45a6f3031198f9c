#include "api/capabilities.hpp"

#include <initializer_list>
#include <utility>

#include "model/auth/auth.hpp"

namespace millrace::api {
namespace {

using json::Tree;

void set_true(Tree& part, std::initializer_list<std::string_view> members) {
  for (const std::string_view member : members) part.set(member, Tree::flag(true));
}

Tree reported_of(const tool::Spec& spec) {
  Tree item = Tree::object();
  item.set("name", spec.name);
  item.set("description", spec.description);
  auto parameters = Tree::parse(spec.parameters);
  if (parameters) item.set("parameters", std::move(parameters).value());
  return item;
}

void set_identity(Tree& capabilities, std::string_view version) {
  Tree& identity = capabilities.at("identity");
  identity.set("name", "millrace");
  identity.set("type", "millrace");
  identity.set("version", version);
  set_true(capabilities.at("transport"), {"streaming"});
}

}  // namespace

std::string agent_capabilities(const run::AgentPlan& plan, std::string_view version,
                               std::int64_t max_steps) {
  Tree capabilities = Tree::object();
  set_identity(capabilities, version);
  Tree& tools = capabilities.at("tools");
  set_true(tools, {"supported", "parallelCalls", "clientProvided"});
  tools.set("items", Tree::array());
  for (const auto& [name, entry] : plan.tools.entries()) {
    tools.at("items").push(reported_of(entry.tool->spec()));
  }
  set_true(capabilities.at("reasoning"), {"supported", "streaming", "encrypted"});
  set_true(capabilities.at("humanInTheLoop"),
           {"supported", "approvals", "interrupts", "approveWithEdits"});
  if (max_steps > 0) capabilities.at("execution").set("maxIterations", Tree::integer(max_steps));
  return capabilities.to_json(json::Surrogates::replace);
}

std::string function_capabilities(std::string_view version) {
  Tree capabilities = Tree::object();
  set_identity(capabilities, version);
  set_true(capabilities.at("humanInTheLoop"), {"supported", "interrupts"});
  return capabilities.to_json(json::Surrogates::replace);
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
