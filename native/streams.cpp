// The functions of the engine's streams: requests, model calls, MCP clients; reading, stopping and
// cancelling them.
#include "engine_call.hpp"
#include "exports.hpp"

namespace millrace::native {
namespace {

// The setImmediate that the global object has now.
napi_value set_immediate_of(Napi::Env env) {
  return env.Global().Get("setImmediate");
}

// startEngine(optionsJson, defer, renew: function | undefined): does nothing when the engine runs.
// `defer` is that of Engine, by default the global setImmediate; `renew` is that of Buffers.
Napi::Value start_engine(const Napi::CallbackInfo& info) {
  if (Engine::of(info.Env()) != nullptr) return info.Env().Undefined();
  const auto json = text_at(info, 0);
  if (!json) return raise(info.Env(), json.error());
  auto options = app::read_engine_options(json.value());
  if (!options) return raise(info.Env(), options.error());
  // The clean-up hook deletes it.
  const napi_value defer =
      info[1].IsFunction() ? static_cast<napi_value>(info[1]) : set_immediate_of(info.Env());
  const napi_value renew = info[2].IsFunction() ? static_cast<napi_value>(info[2]) : nullptr;
  auto* engine = new Engine(info.Env(), std::move(options).value(), defer, renew);
  napi_set_instance_data(info.Env(), engine, nullptr, nullptr);
  return info.Env().Undefined();
}

// request(optionsJson, body: string | Uint8Array | undefined, deliver) -> stream
Napi::Value request(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const std::string json = call.text(0);
  const napi_value deliver = call.function(2);
  if (!call) return call.raised();
  net::Request wanted = call.value_of(app::read_request(json));
  if (!call) return call.raised();
  Body body = body_at(info, 1);
  wanted.has_body = body.given;
  wanted.body = std::move(body.bytes);
  return call.started(call.engine().start(std::move(wanted), deliver));
}

// startModelCall(chainJson, payloadJson, optionsJson, deliver) -> stream
Napi::Value start_model_call(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const napi_value deliver = call.function(3);
  if (!call) return call.raised();
  host::ModelCallSpec spec = call.value_of(model_call_at(info));
  if (!call) return call.raised();
  return call.started(call.engine().start(std::move(spec), deliver));
}

// startMcpClient(optionsJson, deliver) -> stream
Napi::Value start_mcp_client(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const std::string json = call.text(0);
  const napi_value deliver = call.function(1);
  if (!call) return call.raised();
  mcp::ClientOptions options = call.value_of(host::read_mcp_client(json));
  if (!call) return call.raised();
  return call.started(call.engine().start(std::move(options), deliver));
}

// command(stream, name, id, text, options): see host/mcp_stream.hpp
Napi::Value command(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId stream = call.number(0);
  host::HostCommand wanted;
  wanted.name = call.text(1);
  wanted.id = call.number(2);
  wanted.text = call.text(3);
  wanted.options = call.text(4);
  if (call) call.engine().command(stream, std::move(wanted));
  return call.nothing();
}

// demoModel() -> its address
Napi::Value demo_model(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  if (!call) return call.raised();
  const std::string address = call.value_of(call.engine().demo_address());
  return call ? to_text(info.Env(), address) : call.raised();
}

// stopModelCall(stream): what it has to say about that is still delivered
Napi::Value stop_model_call(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId stream = call.number(0);
  if (call) call.engine().stop(stream);
  return call.nothing();
}

// completeHook(stream, id, json): the answer of user code, "" for none
Napi::Value complete_hook(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId stream = call.number(0);
  const Engine::StreamId request_id = call.number(1);
  std::string json = call.text(2);
  if (call) call.engine().complete(stream, request_id, std::move(json));
  return call.nothing();
}

// providerCircuits() -> JSON text; nothing has failed where no engine runs
Napi::Value provider_circuits(const Napi::CallbackInfo& info) {
  const Engine* engine = Engine::of(info.Env());
  return Napi::String::New(info.Env(), engine == nullptr ? "[]" : engine->circuits());
}

// readAs(stream, kind, optionsJson)
Napi::Value read_as(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId stream = call.number(0);
  const std::string kind = call.text(1);
  const std::string options = call.text(2);
  if (!call) return call.raised();
  const host::PipeSpec spec = call.value_of(host::read_pipe_spec(kind, options));
  if (call) call.engine().read_as(stream, spec);
  return call.nothing();
}

// take(stream) -> true when deliver was called, false when it will be
Napi::Value take(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId stream = call.number(0);
  if (!call) return call.raised();
  return Napi::Boolean::New(info.Env(), call.engine().take(stream));
}

// cancel(stream)
Napi::Value cancel(const Napi::CallbackInfo& info) {
  EngineCall call(info);
  const Engine::StreamId stream = call.number(0);
  if (call) call.engine().cancel(stream);
  return call.nothing();
}

}  // namespace

void export_streams(Napi::Env env, Napi::Object exports) {
  set_function<start_engine>(env, exports, "startEngine");
  set_function<request>(env, exports, "request");
  set_function<start_model_call>(env, exports, "startModelCall");
  set_function<start_mcp_client>(env, exports, "startMcpClient");
  set_function<command>(env, exports, "command");
  set_function<demo_model>(env, exports, "demoModel");
  set_function<stop_model_call>(env, exports, "stopModelCall");
  set_function<complete_hook>(env, exports, "completeHook");
  set_function<provider_circuits>(env, exports, "providerCircuits");
  set_function<read_as>(env, exports, "readAs");
  set_function<take>(env, exports, "take");
  set_function<cancel>(env, exports, "cancel");
}

}  // namespace millrace::native
