// The functions of durable runs: runtimes, the agents that are registered in them, their runs.
#include "chat/command_registry.hpp"
#include "engine_call.hpp"
#include "exports.hpp"
#include "os/random_ids.hpp"
#include "run/durable/crash_point.hpp"
#include "run/plan_hash.hpp"

namespace millrace::native {
namespace {

// startRuntime(optionsJson, deliver) -> stream
Napi::Value start_runtime(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const std::string options = call.text(0);
  const napi_value deliver = call.function(1);
  if (!call) return call.raised();
  const auto id = call.value_of(call.engine().start_runtime(options, deliver));
  return call ? call.started(id) : call.raised();
}

// runtimeAgent(runtime, name, planJson, version, settingsJson)
Napi::Value runtime_agent(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId runtime = call.number(0);
  std::string name = call.text(1);
  const std::string plan = call.text(2);
  std::string version = call.text(3);
  const std::string settings = call.text(4);
  if (!call) return call.raised();
  run::DurableAgent agent = call.value_of(host::read_agent_settings(settings));
  if (!call) return call.raised();
  agent.version = std::move(version);
  agent.plan_hash = run::plan_hash(plan);
  agent.plan = call.value_of(call.engine().plan(plan));
  if (!call) return call.raised();
  call.engine().add_agent(runtime, std::move(name), std::move(agent));
  return call.nothing();
}

// runtimeFunction(runtime, name, onRestart: "" | "rerun" | "enter", version, settingsJson); what is
// entered again is a job
Napi::Value runtime_function(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId runtime = call.number(0);
  std::string name = call.text(1);
  const std::string on_restart = call.text(2);
  std::string version = call.text(3);
  const std::string settings = call.text(4);
  if (!call) return call.raised();
  run::DurableAgent agent = call.value_of(host::read_agent_settings(settings));
  if (!call) return call.raised();
  agent.version = std::move(version);
  agent.kind = on_restart == "enter" ? run::RunKind::job : run::RunKind::function;
  agent.reruns = on_restart == "rerun";
  call.engine().add_agent(runtime, std::move(name), std::move(agent));
  return call.nothing();
}

// Null for a text of "".
std::shared_ptr<const run::AgentPlan> plan_at(EngineCall& call, std::size_t at) {
  const std::string json = call.text(at);
  if (!call || json.empty()) return nullptr;
  return call.value_of(call.engine().plan(json));
}

// Starts a reader of a run, which `read` makes of a plan, the input and the options. A plan of ""
// is for runs of functions; without an input as well a run that is there is read.
template <auto read>
Napi::Value start_reader(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId runtime = call.number(0);
  const auto plan = plan_at(call, 1);
  const std::string input = call.text(2);
  const std::string options = call.text(3);
  const napi_value deliver = call.function(4);
  if (!call) return call.raised();
  os::RandomIds ids;
  auto spec = call.value_of(read(plan, input, options, ids));
  if (!call) return call.raised();
  return call.started(call.engine().start(runtime, std::move(spec), deliver));
}

// feedRoute(stream, body): a piece of the body that it waits for; undefined is the end
Napi::Value feed_route(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId stream = call.number(0);
  if (!call) return call.raised();
  Body body = body_at(info, 1);
  call.engine().feed(stream, body.given ? std::optional(std::move(body.bytes)) : std::nullopt);
  return call.nothing();
}

// fetchRoute(runtime, headJson, body, deliver) -> stream of a response
Napi::Value fetch_route(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId runtime = call.number(0);
  const std::string head = call.text(1);
  std::string body = body_at(info, 2).bytes;
  const napi_value deliver = call.function(3);
  if (!call) return call.raised();
  auto spec = call.value_of(host::read_fetch(head, std::move(body)));
  if (!call) return call.raised();
  return call.started(call.engine().start(runtime, std::move(spec), deliver));
}

// keepAlive(stream, isOn): whether a stream that is always read keeps the process alive
Napi::Value keep_alive(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId stream = call.number(0);
  const bool is_on = info[1].ToBoolean().Value();
  if (call) call.engine().keep_alive(stream, is_on);
  return call.nothing();
}

// checkCommand(declarationJson) -> the name of the slash command
Napi::Value check_command(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const std::string declaration = call.text(0);
  if (!call) return call.raised();
  const auto parsed = json::Tree::parse(declaration);
  if (!parsed) return raise(info.Env(), parsed.error());
  const auto command = chat::read_command(parsed.value());
  if (!command) return raise(info.Env(), command.error());
  return to_text(info.Env(), command.value().name);
}

// crashAfter(kind, name, count): ends the process after the commit of a record
Napi::Value crash_after(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  run::CrashPoint point;
  point.kind = call.text(0);
  point.name = call.text(1);
  point.count = call.number(2);
  if (!call) return call.raised();
  run::set_crash_point(std::move(point));
  return call.nothing();
}

}  // namespace

void export_runtime(Napi::Env env, Napi::Object exports) {
  set_function<start_runtime>(env, exports, "startRuntime");
  set_function<runtime_agent>(env, exports, "runtimeAgent");
  set_function<runtime_function>(env, exports, "runtimeFunction");
  // startRun, runBytes(runtime, planJson, inputJson, optionsJson, deliver) -> stream of items, or
  // of an AG-UI response
  set_function<start_reader<host::read_run_spec>>(env, exports, "startRun");
  set_function<start_reader<host::read_run_bytes>>(env, exports, "runBytes");
  set_function<fetch_route>(env, exports, "fetchRoute");
  set_function<feed_route>(env, exports, "feedRoute");
  set_function<keep_alive>(env, exports, "keepAlive");
  set_function<check_command>(env, exports, "checkCommand");
  set_function<crash_after>(env, exports, "crashAfter");
}

}  // namespace millrace::native
