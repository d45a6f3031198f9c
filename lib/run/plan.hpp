// What an agent is made with; its runs share one plan.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/rounds.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "model/call/call.hpp"
#include "tool/builtin/builtin.hpp"
#include "tool/registry.hpp"

namespace millrace::run {

// Who is asked before a tool runs. Nothing lifts the hard rules of the security blacklist.
enum class ApprovalPolicy : std::uint8_t {
  per_tool,
  risky,   // the tools' own wishes, and whatever is not read or idempotent
  always,  // every call
  never,
};

struct AgentPlan;

// What a model is asked for and offered in each turn, without what runs the tools: it may be read
// and destroyed on any thread.
struct Offer {
  std::string payload;  // as of the plan
  std::string model;
  json::Tree definitions;                    // of the tools, as a model gets them
  std::set<std::string, std::less<>> names;  // of the tools
};

// Another agent that a model may give work to; to the model it is a tool.
struct SubAgent {
  std::string name;
  bool inherit_messages = false;
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
  std::shared_ptr<const AgentPlan> plan;
};

// Lifetime: shared by the runs; nothing changes it.
struct AgentPlan {
  model::CallChain chain;  // empty when the host is asked for the model's turns
  bool host_model = false;
  bool retry_after_first_token = false;
  adapter::DecoderOptions decoder;
  std::string model;
  std::int64_t answer_tokens = 0;  // at most, in one turn; 0 is not known
  std::string payload;  // members of every request but model, messages, tools: `"key":value,...`
  std::string instructions;
  ApprovalPolicy approval = ApprovalPolicy::per_tool;

  tool::Registry tools;
  std::set<std::string, std::less<>> host_tools;  // those of the registry that the host runs
  std::set<std::string, std::less<>> unchecked;   // whose arguments the host checks
  std::vector<SubAgent> sub_agents;
  json::Tree provider_tools;  // objects that are sent as they are

  std::optional<agent::RoundRules> rounds;  // of FrostAgent's engine, instead of the general agent
  std::int64_t max_turns = 0;  // of the model, then one last answer without tools; 0 is no limit
  std::size_t concurrency = 8;
  json::Tree state;        // members that a new run's state begins with: limits, costLimit
  json::Tree compression;  // of the general agent's configuration
  json::Tree definitions;  // of the tools, as a model gets them
  std::shared_ptr<const Offer> offer;
  // What each turn asks for, but the messages; or why it cannot be asked for.
  std::shared_ptr<const Result<model::ChatPayload>> request;
  // Which of the engine's sets a tool is of, by its name: sets differ in what they may reach.
  std::map<std::string, std::string, std::less<>> tool_sets;
  json::Tree manifests;  // who is asked, by the name of the tool
  std::shared_ptr<const std::vector<std::string>> tool_names;
};

// Where a plan finds tools that run in the engine.
// Lifetime: used during the call.
struct ToolSources {
  const tool::Registry& builtin;  // by name
  // The tool that "engine" of an entry of "tools" names, described by `spec`; null when there is
  // none.
  std::function<std::shared_ptr<tool::Tool>(const json::Tree& engine, tool::Spec spec)> find = {};
};

// Reads a plan.
// Shape: { "chain": that of read_chain, or "hostModel": true, "rounds"?: RoundRules::from, "payload"?: object (its "tools" are the provider's own), "instructions"?: string, "tools"?:
// [{ "name", "description"?, "parameters"?: JSON Schema, "effect"?, "approval"?: policy,
// "ordered"?, "serializeBy"?, "timeoutMs"?, "resultLimit"?, "retries"?, "checked"?: "host",
// "engine"?: object,
// "vendor"?: the vendor's own object }], "builtin"?: [name], "approval"?: "tools" | "risky" |
// "always" | "never", "limits"?: { "maxSteps", "maxTokens", "maxCost", "maxDurationMs",
// "maxRepeats" }, "state"?: object, "compression"?: object, "concurrency"?,
// "retryAfterFirstToken"?: boolean, "agents"?: [{ "name", "description"?, "inheritMessages"?:
// boolean, "timeoutMs"?, "plan": object }] }.
// Errors: those of read_chain and Registry::add; invalid_option.
Result<std::shared_ptr<const AgentPlan>> read_agent_plan(std::string_view json,
                                                         const ToolSources& sources);

// The value of `approval`.
// Errors: invalid_option.
Result<ApprovalPolicy> read_approval(std::string_view name);

// The tool by which a model asks the user: it is answered like an approval, not run.
constexpr std::string_view ask_user_name = "ask_user";

// The tools that the engine brings along and that need no settings: time, calculator, http_fetch,
// ask_user.
// Errors: those of make_builtin_tools.
Result<tool::Registry> agent_tools(const tool::Surroundings& around);

// The manifest of a tool that needs no approval.
json::Tree free_manifest(std::string_view name);

// AG-UI names a tool of the client at its top, OpenAI's shape in `function`, a vendor by its type.
std::string name_of_client_tool(const json::Tree& tool);

// What each turn asks for when a model is also told of the client's tools; those that are named as
// tools of the plan are left out.
// Thread: any.
std::shared_ptr<const Result<model::ChatPayload>> request_with(const Offer& offer,
                                                               const json::Tree& client_tools);

// Fills what follows from the tools; once, when all of them are in.
void describe_tools(AgentPlan& plan);

}  // namespace millrace::run
