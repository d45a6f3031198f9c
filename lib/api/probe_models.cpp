#include "api/probe_models.hpp"

#include <string>
#include <utility>

#include "model/payload/switches.hpp"
#include "model/usage/cards.hpp"

namespace millrace::api {
namespace {

using json::Tree;

// Agents may have names that give the same one.
void add_named(Tree& models, const std::string& name, Tree model) {
  std::string free = name;
  for (int at = 2; !models[free].is_null(); ++at) free = name + "_" + std::to_string(at);
  models.set(free, std::move(model));
}

// What the host sets for the first model counts more than its card.
std::int64_t window_of(const run::AgentPlan& plan, const model::CallLink& link,
                       std::string_view model) {
  const bool is_first = &link == plan.chain.begin();
  const Tree& given = plan.state["modelRuntimeConfig"]["contextWindowTokens"];
  if (is_first && given.is_number()) return given.integer_or(0);
  const model::ModelCard* card = model::find_card(link.config.id, model);
  return card == nullptr ? 0 : card->context_tokens;
}

Tree link_json(const run::AgentPlan& plan, const model::CallLink& link) {
  model::ChatPayload payload = plan.request->value();
  if (!link.model.empty()) payload.model = link.model;
  Tree json = model::switches_json(link.config, payload);
  const std::int64_t window = window_of(plan, link, payload.model);
  if (window > 0) json.set("context_window_tokens", Tree::integer(window));
  return json;
}

void add_plan(Tree& models, const std::string& name, const run::AgentPlan& plan) {
  if (plan.request == nullptr || !*plan.request) return;
  for (const model::CallLink& link : plan.chain) {
    add_named(models, name + "_model", link_json(plan, link));
  }
  for (const run::SubAgent& agent : plan.sub_agents) add_plan(models, agent.name, *agent.plan);
}

}  // namespace

Tree models_of(const ApiContext& context) {
  Tree models = Tree::object();
  const std::string& chat = context.options.agent;
  const auto plans = context.runs->plans();
  if (const auto own = plans.find(chat); own != plans.end()) {
    add_plan(models, "chat", *own->second);
  }
  for (const auto& [name, plan] : plans) {
    if (name != chat) add_plan(models, name, *plan);
  }
  for (const auto& [name, model] : context.options.probes["models"].members()) {
    models.set(name, model);
  }
  return models;
}

}  // namespace millrace::api
