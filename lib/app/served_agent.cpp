// The agent that `millrace serve` serves: its model, its tools and its skills.
#include <utility>
#include <vector>

#include "app/agent_server_state.hpp"
#include "app/demo_tools.hpp"
#include "model/payload/request.hpp"
#include "run/plan.hpp"

namespace millrace::app {
namespace {

model::CallChain chain_of(model::ProviderConfig config) {
  std::vector<model::CallLink> links;
  links.push_back({std::move(config), {}});
  return links;
}

// The settings of the model's provider: those that the configuration has of it, with the address
// and the key of the model on top.
json::Tree settings_of(const AgentServerOptions& wanted, std::string_view provider,
                       const std::string& base_url) {
  json::Tree settings = json::Tree::object();
  for (const std::string& text : wanted.providers) {
    auto given = json::Tree::parse(text);
    const model::Provider* row = model::find_provider(provider);
    const bool is_its = given && row != nullptr && given.value()["provider"].string() == row->id;
    if (is_its) settings = std::move(given).value();
  }
  settings.set("provider", provider);
  if (!base_url.empty()) settings.set("baseURL", base_url);
  if (!wanted.api_key.empty()) settings.set("apiKey", wanted.api_key);
  return settings;
}

}  // namespace

bool is_demo(const AgentServerOptions& options) {
  return options.model.starts_with("demo:") && options.base_url.empty();
}

// The chat route has every provider of the table; one without a key reports that with its answer.
Result<api::Served> read_served(const AgentServerOptions& options, const ServedAgent& agent) {
  api::Served served;
  served.model = {agent.model, options.instructions, std::nullopt};
  if (agent.provider.provider->dialect == model::Dialect::anthropic) {
    served.model.max_tokens = options.max_output_tokens;
  }
  served.version = options.version;
  served.max_steps = options.max_steps;
  for (const model::Provider& row : model::providers()) {
    auto config = model::config_of(row.id);
    if (config) {
      served.chats.insert_or_assign(std::string(row.id), chain_of(std::move(config).value()));
    }
  }
  for (const std::string& settings : options.providers) {
    auto config = model::read_config(settings);
    if (!config) return std::move(config).error();
    std::string id = config.value().id;
    served.chats.insert_or_assign(std::move(id), chain_of(std::move(config).value()));
  }
  served.chain = chain_of(agent.provider);
  served.chats.insert_or_assign(agent.provider.id, served.chain);
  return served;
}

// The demo model brings tools of its own along.
Result<ServedAgent> AgentServer::State::read_agent(const AgentServerOptions& wanted) {
  ServedAgent made;
  made.base_url = is_demo(wanted) ? demo_url : wanted.base_url;
  made.tools = wanted.tools;
  auto name = model::read_model_name(wanted.model);
  if (!name) return std::move(name).error();
  made.model = name.value().model;
  const json::Tree settings = settings_of(wanted, name.value().provider, made.base_url);
  auto config = model::read_config(settings.to_json());
  if (!config) return std::move(config).error();
  made.provider = std::move(config).value();
  // A missing setting is reported at the start, not with the first request.
  auto way = model::check_config(made.provider, made.model);
  if (!way) return std::move(way).error();
  if (!wanted.tools.empty()) {
    auto tools = run::agent_tools({loop, *client, pool});
    if (!tools) return std::move(tools).error();
    // Unknown names are told by the plan.
    made.own_tools = std::move(tools).value();
  }
  if (!is_demo(wanted)) return made;
  for (const std::shared_ptr<tool::Tool>& each : demo_tools()) {
    MILLRACE_TRY(made.own_tools.add(each));
    made.tools.push_back(each->spec().name);
  }
  return made;
}

Result<void> AgentServer::State::open_agent() {
  auto made = make_plan(options, agent);
  if (!made) return std::move(made).error();
  plan = std::move(made).value();
  routes.set_skills(options.skills);
  routes.set_plan(plan, options.mcp.empty());
  if (options.mcp.empty()) return {};
  mcp =
      std::make_unique<McpServers>(loop, *client, std::move(options.mcp), [this] { renew_plan(); });
  loop.post([this] { mcp->start(); });
  return {};
}

// The agent with the tools that there are at the moment.
Result<std::shared_ptr<const run::AgentPlan>> AgentServer::State::make_plan(
    const AgentServerOptions& wanted, const ServedAgent& from) {
  tool::Registry all = from.own_tools;
  std::vector<std::string> names = from.tools;
  std::string instructions = wanted.instructions;
  MILLRACE_TRY(add_skills(wanted.skills, all, names, instructions));
  if (mcp) {
    for (const std::shared_ptr<tool::Tool>& remote : mcp->tools()) {
      // Names of other servers cannot be taken; a server's own two of the same name were one.
      if (all.add(remote)) names.push_back(remote->spec().name);
    }
  }
  json::Tree given = json::Tree::object();
  json::Tree link = settings_of(wanted, from.provider.id, from.base_url);
  link.set("model", from.model);
  given.set("chain", json::Tree::array()).push(std::move(link));
  if (from.provider.provider->dialect == model::Dialect::anthropic) {
    given.at("payload").set("max_tokens", json::Tree::integer(wanted.max_output_tokens));
  }
  given.set("instructions", instructions);
  given.set("approval", wanted.approval);
  given.at("limits").set("maxSteps", json::Tree::integer(wanted.max_steps));
  given.set("builtin", json::Tree::array());
  for (const std::string& name : names) given.at("builtin").push(json::Tree::text(name));
  return run::read_agent_plan(given.to_json(), {all});
}

// Runs that are on their way keep the tools that they began with.
void AgentServer::State::renew_plan() {
  auto made = make_plan(options, agent);
  if (made) plan = std::move(made).value();
  routes.set_plan(plan, !mcp || mcp->settled());
}

// What a model may load is a tool, and the system prompt names it.
Result<void> AgentServer::State::add_skills(const std::string& json, tool::Registry& tools,
                                            std::vector<std::string>& names,
                                            std::string& instructions) {
  if (json.empty()) return {};
  const auto skills = json::Tree::parse(json);
  if (!skills) return skills.error();
  if (skills.value()["list"].items().empty()) return {};
  json::Tree named = json::Tree::object();
  named.at("skills").set("list", skills.value()["list"]);
  auto made = tool::make_builtin_tools(named, {loop, *client, pool});
  if (!made) return std::move(made).error();
  for (const auto& [name, entry] : made.value().entries()) {
    MILLRACE_TRY(tools.add(entry.tool));
    names.push_back(name);
  }
  if (!instructions.empty()) instructions.append("\n\n");
  instructions.append(skills.value()["instructions"].string());
  return {};
}

}  // namespace millrace::app
