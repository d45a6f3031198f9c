#include "run/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/shown.hpp"
#include "base/spelling.hpp"
#include "message/vendor_tool.hpp"
#include "model/call/chain.hpp"
#include "model/usage/cards.hpp"
#include "run/tool_spec.hpp"

namespace millrace::run {
namespace {

using json::Tree;

constexpr std::size_t deepest_plan = 4;

// A tool that the session has somebody else run; it is here to be described and checked.
class Described final : public tool::Tool {
 public:
  explicit Described(tool::Spec spec) : spec_(std::move(spec)) {}
  [[nodiscard]] const tool::Spec& spec() const override { return spec_; }
  std::unique_ptr<tool::RunningTool> start(tool::ToolCall call,
                                           std::shared_ptr<tool::ToolHost> host) override {
    host->finished({call.name + " does not run here.", true, "tool_failed"});
    return nullptr;
  }

 private:
  tool::Spec spec_;
};

Error wrong(std::string_view member, std::string_view expected, const Tree& given) {
  return make_error(Errc::invalid_option, "`" + std::string(member) + "` of the agent must be " +
                                              std::string(expected) + ", not " +
                                              shown_value(given) + ".");
}

Result<void> add_tools(AgentPlan& plan, const Tree& given, const ToolSources& sources) {
  const tool::Registry& builtin = sources.builtin;
  for (const Tree& name : given["builtin"].items()) {
    const auto found = builtin.entries().find(name.string());
    if (found == builtin.entries().end()) {
      std::vector<std::string_view> known;
      for (const auto& [other, entry] : builtin.entries()) known.push_back(other);
      return make_error(Errc::invalid_option, "There is no builtin tool '" +
                                                  std::string(name.string()) + "'. " +
                                                  advice(name.string(), known));
    }
    MILLRACE_TRY(plan.tools.add(found->second.tool));
  }
  for (const Tree& item : given["tools"].items()) {
    auto spec = read_tool_spec(item);
    if (!spec) return std::move(spec).error();
    const std::string name = spec.value().name;
    if (const Tree& engine = item["engine"]; engine.is_object()) {
      auto found = sources.find ? sources.find(engine, std::move(spec).value()) : nullptr;
      if (!found) return wrong("tools.engine", "the name of a tool of this engine", engine["name"]);
      MILLRACE_TRY(plan.tools.add(std::move(found)));
      if (!engine["set"].is_null()) plan.tool_sets.emplace(name, engine.to_json());
      continue;
    }
    MILLRACE_TRY(plan.tools.add(std::make_shared<Described>(std::move(spec).value())));
    plan.host_tools.insert(name);
    if (item["checked"].string() == "host") plan.unchecked.insert(name);
  }
  return {};
}

struct LimitRow {
  std::string_view name;
  std::int64_t least;
  bool whole;
  std::int64_t absent;  // 0 is none
};

constexpr std::array limit_rows{
    LimitRow{"maxSteps", 0, true, 32},  LimitRow{"maxCallsPerStep", 1, true, 16},
    LimitRow{"maxTokens", 1, true, 0},  LimitRow{"maxDurationMs", 1, true, 0},
    LimitRow{"maxRepeats", 1, true, 0}, LimitRow{"maxCost", 0, false, 0}};

Result<void> check_limit(const LimitRow& row, const Tree& value) {
  const double number = value.number_or(-1);
  const bool fits = value.is_number() && number >= static_cast<double>(row.least) &&
                    (!row.whole || number == std::floor(number));
  if (fits) return {};
  return wrong("limits." + std::string(row.name),
               std::string(row.whole ? "a whole number" : "a number") + " of at least " +
                   std::to_string(row.least),
               value);
}

Error unknown_limit(std::string_view name) {
  std::vector<std::string_view> known;
  for (const LimitRow& row : limit_rows) known.push_back(row.name);
  return make_error(Errc::invalid_option,
                    "There is no limit '" + std::string(name) + "'. " + advice(name, known));
}

Result<void> read_limits(AgentPlan& plan, const Tree& limits) {
  for (const Tree::Member& limit : limits.members()) {
    const auto* row = std::find_if(limit_rows.begin(), limit_rows.end(),
                                   [&](const LimitRow& r) { return r.name == limit.first; });
    if (row == limit_rows.end()) return unknown_limit(limit.first);
    if (!limit.second.is_null()) MILLRACE_TRY(check_limit(*row, limit.second));
  }
  for (const LimitRow& row : limit_rows) {
    const Tree& given = limits[row.name];
    const bool none = given.is_null() && row.absent == 0;
    if (none) continue;
    const Tree value = given.is_null() ? Tree::integer(row.absent) : given;
    if (row.name == "maxSteps") {
      plan.max_turns = value.integer_or(0);
    } else if (row.name == "maxCost") {
      plan.state.at("costLimit").set("maxTotalCost", value);
      plan.state.at("costLimit").set("onExceeded", "stop");
    } else {
      plan.state.at("limits").set(row.name, value);
    }
  }
  return {};
}

// Who answers: a provider of the chain, or the host.
Result<void> read_model(AgentPlan& plan, const Tree& given) {
  if (given["rounds"].is_object()) {
    auto rules = agent::RoundRules::from(given["rounds"]);
    if (!rules) return std::move(rules).error();
    plan.rounds = std::move(rules).value();
  }
  plan.host_model = given["hostModel"].is_true();
  if (plan.host_model) return {};
  auto chain = model::read_chain(given["chain"].to_json());
  if (!chain) return std::move(chain).error();
  plan.chain = std::move(chain).value();
  plan.model = plan.chain.front().model;
  if (plan.model.empty()) plan.model = given["payload"]["model"].string();
  return {};
}

// A window that is known decides when the conversation is compressed.
void read_window(AgentPlan& plan) {
  if (plan.host_model) return;
  const model::CallLink& first = plan.chain.front();
  const model::ModelCard* card = model::find_card(first.config.id, first.model);
  if (card == nullptr || !plan.state["modelRuntimeConfig"].is_null()) return;
  Tree& config = plan.state.at("modelRuntimeConfig");
  config.set("provider", first.config.id);
  config.set("model", first.model);
  config.set("contextWindowTokens", Tree::integer(card->context_tokens));
}

Result<std::shared_ptr<const AgentPlan>> read_plan(const Tree& given, const ToolSources& sources,
                                                   std::size_t depth);

Result<void> add_agents(AgentPlan& plan, const Tree& agents, const ToolSources& sources,
                        std::size_t depth) {
  for (const Tree& item : agents.items()) {
    if (depth >= deepest_plan) {
      return make_error(Errc::invalid_option,
                        "The agent '" + std::string(item["name"].string()) +
                            "' is nested too deep: sub-agents may be nested 4 deep.");
    }
    SubAgent agent;
    agent.name = item["name"].string();
    agent.inherit_messages = item["inheritMessages"].truthy();
    if (item["timeoutMs"].is_number()) {
      agent.timeout = std::chrono::milliseconds(item["timeoutMs"].integer_or(0));
    }
    auto read = read_plan(item["plan"], sources, depth + 1);
    if (!read) return std::move(read).error();
    agent.plan = std::move(read).value();
    tool::Spec spec;
    spec.name = agent.name;
    spec.description = item["description"].string();
    spec.parameters =
        R"({"type":"object","properties":{"task":{"type":"string",)"
        R"("description":"What to do, with everything that has to be known for it."}},)"
        R"("required":["task"]})";
    spec.effect = tool::Effect::read;
    spec.timeout = agent.timeout;
    MILLRACE_TRY(plan.tools.add(std::make_shared<Described>(std::move(spec))));
    plan.sub_agents.push_back(std::move(agent));
  }
  return {};
}

// The first model of the agent, or of one that it calls, whose price is not known beforehand.
std::optional<std::string> unpriced_model(const AgentPlan& plan) {
  // These report what each answer cost; the demo costs nothing.
  constexpr std::array<std::string_view, 4> reporting{"openrouter", "xai", "perplexity", "demo"};
  for (const model::CallLink& link : plan.chain) {
    const std::string& provider = link.config.id;
    const std::string& name = link.model.empty() ? plan.model : link.model;
    if (std::find(reporting.begin(), reporting.end(), provider) != reporting.end()) continue;
    if (model::find_card(provider, name) != nullptr) continue;
    std::string unpriced = provider;
    return unpriced.append(":").append(name);
  }
  for (const SubAgent& agent : plan.sub_agents) {
    if (auto found = unpriced_model(*agent.plan)) return found;
  }
  return std::nullopt;
}

// A budget that cannot be counted would be none.
Result<void> check_budget(const AgentPlan& plan) {
  if (plan.state["costLimit"].is_null()) return {};
  const auto model = unpriced_model(plan);
  if (!model) return {};
  return make_error(Errc::invalid_option, "`limits.maxCost` cannot be enforced: the price of " +
                                              *model +
                                              " is unknown. Give `limits.maxTokens` instead.");
}

// Members that a vendor alone knows are let through; one that is misspelt would be lost.
Result<void> check_parameters(const Tree& parameters) {
  for (const auto& [key, value] : parameters.members()) {
    const std::string_view name(key);
    if (model::is_payload_member(name)) continue;
    const auto meant = meant_by(name, model::payload_members(), slip_letters_among_others);
    if (!meant) continue;
    return make_error(Errc::invalid_option, "`parameters` of the agent has no member '" +
                                                std::string(name) + "'. Did you mean '" +
                                                std::string(*meant) + "'?");
  }
  return {};
}

Result<std::shared_ptr<const AgentPlan>> read_plan(const Tree& given, const ToolSources& sources,
                                                   std::size_t depth) {
  if (!given.is_object()) return wrong("plan", "an object", given);
  auto plan = std::make_shared<AgentPlan>();
  MILLRACE_TRY(read_model(*plan, given));
  MILLRACE_TRY(check_parameters(given["payload"]));
  auto provider_tools = read_provider_tools(given["payload"]["tools"]);
  if (!provider_tools) return std::move(provider_tools).error();
  plan->provider_tools = std::move(provider_tools).value();
  for (const auto& [key, value] : given["payload"].members()) {
    if (key == "messages" || key == "tools" || key == "model") continue;
    if (!plan->payload.empty()) plan->payload.push_back(',');
    json::append_string(plan->payload, key);
    plan->payload.append(":").append(value.to_json());
  }
  plan->answer_tokens = given["payload"]["max_tokens"].integer_or(0);
  plan->instructions = given["instructions"].string();
  plan->retry_after_first_token = given["retryAfterFirstToken"].truthy();
  if (const Tree& approval = given["approval"]; !approval.is_null()) {
    const auto policy =
        read_approval(approval.is_true()                             ? "always"
                      : approval.type() == json::Type::boolean_false ? "never"
                                                                     : approval.string());
    if (!policy) return policy.error();
    plan->approval = policy.value();
  }
  plan->state = given["state"].is_object() ? given["state"] : Tree::object();
  plan->compression = given["compression"];
  plan->concurrency = static_cast<std::size_t>(
      std::clamp<std::int64_t>(given["concurrency"].integer_or(8), 1, 256));
  MILLRACE_TRY(read_limits(*plan, given["limits"]));
  read_window(*plan);
  MILLRACE_TRY(add_tools(*plan, given, sources));
  MILLRACE_TRY(add_agents(*plan, given["agents"], sources, depth));
  MILLRACE_TRY(check_budget(*plan));
  describe_tools(*plan);
  return std::shared_ptr<const AgentPlan>(std::move(plan));
}

tool::Spec ask_user_spec() {
  tool::Spec spec;
  spec.name = ask_user_name;
  spec.description =
      "Asks the user a question and gives the answer. With `options` the user chooses one of them, "
      "or several where `multi` is true.";
  spec.parameters = R"({"type":"object","properties":{"prompt":{"type":"string","minLength":1},)"
                    R"("options":{"type":"array","items":{"type":"object","properties":)"
                    R"({"label":{"type":"string"},"value":{"type":"string"}},)"
                    R"("required":["value"]}},"multi":{"type":"boolean"}},"required":["prompt"]})";
  spec.effect = tool::Effect::read;
  return spec;
}

// The policy of one tool under the agent's.
Tree policy_of(const tool::Spec& spec, ApprovalPolicy approval) {
  auto own = Tree::parse(spec.approval);
  Tree policy = own ? std::move(own).value() : Tree::text("required");
  const bool changes = spec.effect != tool::Effect::read && spec.effect != tool::Effect::idempotent;
  const bool free = policy.string() == "never";
  switch (approval) {
    case ApprovalPolicy::per_tool: return policy;
    case ApprovalPolicy::risky: return free && changes ? Tree::text("required") : policy;
    case ApprovalPolicy::always:
      return policy.string() == "always" ? policy : Tree::text("required");
    case ApprovalPolicy::never: break;
  }
  return Tree::text("never");
}

}  // namespace

Result<ApprovalPolicy> read_approval(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ApprovalPolicy>, 4> rows{{
      {"tools", ApprovalPolicy::per_tool},
      {"risky", ApprovalPolicy::risky},
      {"always", ApprovalPolicy::always},
      {"never", ApprovalPolicy::never},
  }};
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == name; });
  if (row != rows.end()) return row->second;
  return make_error(Errc::invalid_option, "`approval` must be tools, risky, always or never, not " +
                                              shown_text(name) + ".");
}

Result<tool::Registry> agent_tools(const tool::Surroundings& around) {
  Tree options = Tree::object();
  for (const std::string_view name : {"time", "calculator", "httpFetch"}) {
    options.set(name, Tree::flag(true));
  }
  auto tools = tool::make_builtin_tools(options, around);
  if (!tools) return tools;
  MILLRACE_TRY(tools.value().add(std::make_shared<Described>(ask_user_spec())));
  return tools;
}

Tree free_manifest(std::string_view name) {
  Tree manifest = Tree::object();
  manifest.set("identifier", name);
  manifest.set("humanIntervention", "never");
  return manifest;
}

std::string name_of_client_tool(const Tree& tool) {
  if (const auto name = message::call_name_of(tool); !name.empty()) return std::string(name);
  const Tree& function = tool["function"];
  return std::string((function.is_object() ? function : tool)["name"].string());
}

std::shared_ptr<const Result<model::ChatPayload>> request_with(const Offer& offer,
                                                               const Tree& client_tools) {
  Tree definitions = offer.definitions;
  for (const Tree& tool : client_tools.items()) {
    const std::string name = name_of_client_tool(tool);
    if (!name.empty() && !offer.names.contains(name)) definitions.push(tool);
  }
  std::string text = "{" + offer.payload;
  json::append_member(text, "model", offer.model);
  json::append_raw_member(text, "tools", definitions.to_json());
  text.push_back('}');
  auto read = model::read_settings(text);
  if (read) read.value().leaves_out = true;
  return std::make_shared<const Result<model::ChatPayload>>(std::move(read));
}

void describe_tools(AgentPlan& plan) {
  plan.definitions = Tree::array();
  plan.manifests = Tree::object();
  std::vector<std::string> names;
  for (const auto& [name, entry] : plan.tools.entries()) {
    names.push_back(name);
    const tool::Spec& spec = entry.tool->spec();
    auto definition = Tree::parse(tool::definition_json(spec));
    if (definition) plan.definitions.push(std::move(definition).value());
    Tree& manifest = plan.manifests.at(name);
    manifest.set("identifier", name);
    manifest.set("humanIntervention", policy_of(spec, plan.approval));
    manifest.set("effect", tool::name_of(spec.effect));
    if (!spec.vendor.empty()) manifest.set("vendor", Tree::flag(true));
    if (!spec.ordered && spec.serialize_by.empty()) continue;
    Tree api = Tree::object();
    api.set("name", name);
    if (spec.ordered) api.set("ordered", Tree::flag(true));
    if (!spec.serialize_by.empty()) api.set("serializeBy", spec.serialize_by);
    manifest.set("api", Tree::array()).push(std::move(api));
  }
  for (const Tree& tool : plan.provider_tools.items()) {
    // One that is bound is there already.
    if (plan.tools.find(message::call_name_of(tool)) == nullptr) plan.definitions.push(tool);
  }
  plan.offer = std::make_shared<const Offer>(
      Offer{plan.payload, plan.model, plan.definitions, {names.begin(), names.end()}});
  plan.request = request_with(*plan.offer, Tree::array());
  plan.tool_names = std::make_shared<const std::vector<std::string>>(std::move(names));
}

Result<std::shared_ptr<const AgentPlan>> read_agent_plan(std::string_view json,
                                                         const ToolSources& sources) {
  auto given = Tree::parse(json);
  if (!given) return std::move(given).error();
  return read_plan(given.value(), sources, 1);
}

}  // namespace millrace::run
