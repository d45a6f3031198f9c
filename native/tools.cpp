// The functions of native tools: builtinTools, runTool, resultText, withoutHosts, carriedSecrets,
// allowedTools, describeMcpTools, mcpResultText; and of agents that run in the engine: startAgent,
// agentBytes, checkAgent, agentCapabilities, suspendedLimits.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/capabilities.hpp"
#include "base/json.hpp"
#include "base/secret_filter.hpp"
#include "base/shown_hosts.hpp"
#include "engine_call.hpp"
#include "exports.hpp"
#include "host/ag_ui_run.hpp"
#include "message/json_builder.hpp"
#include "os/random_ids.hpp"
#include "run/suspended_runs.hpp"
#include "tool/mcp/remote_tools.hpp"
#include "tool/policy.hpp"
#include "tool/result_text.hpp"

namespace millrace::native {
namespace {

void write_members(message::JsonBuilder& out, std::string_view name, const tool::Spec& spec) {
  out.text("name", name);
  out.text("description", spec.description);
  out.raw("parameters", spec.parameters);
  out.text("effect", tool::name_of(spec.effect));
  out.raw("approval", spec.approval);
  out.raw("timeoutMs", std::to_string(spec.timeout.count()));
  out.raw("resultLimit", std::to_string(spec.result_limit));
  out.filled("serializeBy", spec.serialize_by);
}

// Bytes of a result's text; the engine's own limit where none is given.
std::size_t limit_at(const Napi::CallbackInfo& info, std::size_t at) {
  const std::int64_t given = info[at].IsNumber() ? info[at].As<Napi::Number>().Int64Value() : 0;
  return given > 0 ? static_cast<std::size_t>(given) : tool::result_limit_bytes;
}

// builtinTools(optionsJson) -> JSON text {"id", "tools": [{"name", "description", "parameters",
// "effect", "approval", "timeoutMs", "serializeBy"}]}
Napi::Value builtin_tools(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const std::string options = call.text(0);
  if (!call) return call.raised();
  const std::size_t id = call.value_of(call.engine().builtin_tools(options));
  if (!call) return call.raised();
  message::JsonBuilder out;
  out.open_object();
  out.raw("id", std::to_string(id));
  out.open_array("tools");
  for (const auto& [name, entry] : call.engine().toolset(id)->entries()) {
    out.open_object();
    write_members(out, name, entry.tool->spec());
    out.close_object();
  }
  out.close_array();
  out.close_object();
  return to_text(info.Env(), out.take());
}

// runTool(toolset, name, argumentsJson, deliver) -> stream, whose head is the outcome
Napi::Value run_tool(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const auto toolset = static_cast<std::size_t>(call.number(0));
  host::ToolTask task;
  task.name = call.text(1);
  task.arguments = call.text(2);
  const napi_value deliver = call.function(3);
  if (!call) return call.raised();
  task.tools = call.engine().toolset(toolset);
  if (!task.tools) {
    return raise(info.Env(),
                 make_error(Errc::invalid_argument, "There is no set of tools with the number " +
                                                        std::to_string(toolset) + "."));
  }
  return call.started(call.engine().start(std::move(task), deliver));
}

// allowedTools(policyJson: {"allow"?, "expose"?, "deny"?: [pattern]}, namesJson: [[the names of a
// tool]]) -> JSON text [boolean]
Napi::Value allowed_tools(const Napi::CallbackInfo& info) {
  const auto policy_text = text_at(info, 0);
  if (!policy_text) return raise(info.Env(), policy_text.error());
  const auto names_text = text_at(info, 1);
  if (!names_text) return raise(info.Env(), names_text.error());
  const auto given = json::Tree::parse(policy_text.value());
  if (!given) return raise(info.Env(), given.error());
  const auto tools = json::Tree::parse(names_text.value());
  if (!tools) return raise(info.Env(), tools.error());
  const auto policy = tool::read_policy(given.value());
  if (!policy) return raise(info.Env(), policy.error());
  std::string allowed = "[";
  for (const json::Tree& one : tools.value().items()) {
    std::vector<std::string_view> names;
    for (const json::Tree& name : one.items()) names.push_back(name.string());
    if (allowed.size() > 1) allowed.push_back(',');
    allowed.append(tool::allows(policy.value(), names) ? "true" : "false");
  }
  allowed.push_back(']');
  return to_text(info.Env(), allowed);
}

// describeMcpTools(rulesJson: {"server", "trusted", "allow"?, "deny"?: [name], "pins": boolean,
// "known": {name: fingerprint}, "tools": [as the server lists them]}) -> JSON text [{"name",
// "description", "parameters", "effect", "approval", ..., "tool": the server's name,
// "fingerprint"}], and "notes": [sentence about a tool that is left out]
Napi::Value describe_mcp_tools(const Napi::CallbackInfo& info) {
  const auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  const auto given = json::Tree::parse(text.value());
  if (!given) return raise(info.Env(), given.error());
  const mcp::ToolRules rules = mcp::read_rules(given.value());
  const auto tools = mcp::remote_tools(given.value(), rules);
  if (!tools) return raise(info.Env(), tools.error());
  message::JsonBuilder out;
  out.open_object();
  out.open_array("tools");
  for (const auto& remote : tools.value()) {
    out.open_object();
    write_members(out, remote.spec.name, remote.spec);
    out.text("tool", remote.name);
    out.text("fingerprint", remote.fingerprint);
    out.close_object();
  }
  out.close_array();
  out.open_array("notes");
  for (const std::string& note : mcp::left_out_tools(given.value(), rules)) out.text(note);
  out.close_array();
  out.close_object();
  return to_text(info.Env(), out.take());
}

// mcpResultText(resultJson, limit?) -> what a model reads of it
Napi::Value mcp_result_text(const Napi::CallbackInfo& info) {
  const auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  const auto result = json::Tree::parse(text.value());
  if (!result) return raise(info.Env(), result.error());
  return to_text(info.Env(), mcp::remote_result_text(result.value(), limit_at(info, 1)));
}

// resultText(text, limit?) -> text that can stand in a conversation as data
Napi::Value result_text(const Napi::CallbackInfo& info) {
  const auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  return to_text(info.Env(), tool::result_text(text.value(), limit_at(info, 1)));
}

// withoutHosts(text) -> the text with the hosts of its URLs masked
Napi::Value hide_hosts(const Napi::CallbackInfo& info) {
  const auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  return to_text(info.Env(), without_hosts(text.value()));
}

// startAgent(planJson, inputJson, optionsJson, deliver) -> stream
Napi::Value start_agent(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const std::string plan_json = call.text(0);
  const std::string input = call.text(1);
  const std::string options = call.text(2);
  const napi_value deliver = call.function(3);
  if (!call) return call.raised();
  auto plan = call.value_of(call.engine().plan(plan_json));
  if (!call) return call.raised();
  os::RandomIds ids;
  host::AgentSpec spec = call.value_of(host::read_agent_spec(std::move(plan), input, options, ids));
  if (!call) return call.raised();
  return call.started(call.engine().start(std::move(spec), deliver));
}

// agentBytes(stream, optionsJson, deliver) -> stream: those of a run's AG-UI response but its start
Napi::Value agent_bytes(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId agent = call.number(0);
  const std::string json = call.text(1);
  const napi_value deliver = call.function(2);
  if (!call) return call.raised();
  json::Document document;
  const json::Value options = call.value_of(document.parse(json));
  if (!call) return call.raised();
  host::AgentBytesTask task{agent, host::read_run_options(options)};
  return call.started(call.engine().start(std::move(task), deliver));
}

// checkAgent(planJson) -> JSON text [sentence]: which keys are missing; throws what is wrong with a
// plan
Napi::Value check_agent(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const std::string json = call.text(0);
  if (!call) return call.raised();
  const auto plan = call.value_of(call.engine().plan(json));
  if (!call) return call.raised();
  std::string sentences = "[";
  for (const std::string& sentence : api::missing_keys(*plan)) {
    if (sentences.size() > 1) sentences.push_back(',');
    json::append_string(sentences, sentence);
  }
  return to_text(info.Env(), sentences + "]");
}

// suspendedLimits() -> JSON text {"runs", "lifetimeMs"}: how many runs wait for the user, and how
// long
Napi::Value suspended_limits(const Napi::CallbackInfo& info) {
  const run::SuspendedLimits limits;
  std::string json = "{";
  json::append_member(json, "runs", static_cast<std::int64_t>(limits.runs));
  json::append_member(json, "lifetimeMs", limits.lifetime_ms);
  return to_text(info.Env(), json + "}");
}

// agentCapabilities(planJson, version) -> JSON text: AG-UI's AgentCapabilities of a plan
Napi::Value agent_capabilities(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const std::string json = call.text(0);
  const std::string version = call.text(1);
  if (!call) return call.raised();
  const auto plan = call.value_of(call.engine().plan(json));
  if (!call) return call.raised();
  return to_text(info.Env(), api::agent_capabilities(*plan, version, plan->max_turns));
}

// carriedSecrets(headersJson: {name: value}) -> JSON text [string]: what of them is secret
Napi::Value carried_secrets(const Napi::CallbackInfo& info) {
  const auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  json::Document document;
  const auto headers = document.parse(text.value());
  if (!headers) return raise(info.Env(), headers.error());
  std::vector<std::string> secrets;
  for (const json::Member header : headers.value().members()) {
    add_carried_secrets(secrets, header.key, header.value.string());
  }
  message::JsonBuilder out;
  out.open_array();
  for (const std::string& secret : secrets) out.text(secret);
  out.close_array();
  return to_text(info.Env(), out.take());
}

}  // namespace

void export_tools(Napi::Env env, Napi::Object exports) {
  set_function<builtin_tools>(env, exports, "builtinTools");
  set_function<run_tool>(env, exports, "runTool");
  set_function<result_text>(env, exports, "resultText");
  set_function<hide_hosts>(env, exports, "withoutHosts");
  set_function<carried_secrets>(env, exports, "carriedSecrets");
  set_function<allowed_tools>(env, exports, "allowedTools");
  set_function<describe_mcp_tools>(env, exports, "describeMcpTools");
  set_function<mcp_result_text>(env, exports, "mcpResultText");
  set_function<start_agent>(env, exports, "startAgent");
  set_function<agent_bytes>(env, exports, "agentBytes");
  set_function<check_agent>(env, exports, "checkAgent");
  set_function<agent_capabilities>(env, exports, "agentCapabilities");
  set_function<suspended_limits>(env, exports, "suspendedLimits");
}

}  // namespace millrace::native
