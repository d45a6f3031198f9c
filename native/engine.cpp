// The engine of this environment: request, readAs, take and cancel, and the delivery of what
// streams produce. It starts with the first request; loading the addon starts nothing.
#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <vector>

#include "app/mcp_stream.hpp"
#include "app/transport.hpp"
#include "arguments.hpp"
#include "exports.hpp"
#include "guard.hpp"
#include "js_callback.hpp"
#include "live_engines.hpp"
#include "message/json_builder.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"
#include "tool/result_text.hpp"

namespace millrace::native {
namespace {

using app::Transport;
using Clock = std::chrono::steady_clock;

// Thread: the JavaScript thread.
class Engine {
 public:
  static Engine* of(napi_env env) {
    void* data = nullptr;
    napi_get_instance_data(env, &data);
    return static_cast<Engine*>(data);
  }

  Engine(napi_env env, app::TransportOptions options)
      : env_(env), waker_(env, on_wake, this), transport_(waker_, std::move(options)) {
    napi_value go_on = nullptr;
    napi_create_function(env, nullptr, 0, guard<deliver_rest>, nullptr, &go_on);
    napi_create_reference(env, go_on, 1, &go_on_);
    // Registered after the thread-safe function, so that it runs before that one's own clean-up.
    napi_add_env_cleanup_hook(env, clean_up, this);
  }

  Transport::StreamId start(net::Request request, napi_value deliver) {
    return watch(transport_.start(std::move(request)), deliver);
  }

  Transport::StreamId start(app::ModelCallSpec call, napi_value deliver) {
    return watch(transport_.start(std::move(call)), deliver);
  }

  Transport::StreamId start(mcp::ClientOptions client, napi_value deliver) {
    return watch(transport_.start(std::move(client)), deliver);
  }

  void command(Transport::StreamId id, app::StreamCommand command) {
    transport_.command(id, std::move(command));
  }

  Transport::StreamId start(app::ToolTask task, napi_value deliver) {
    return watch(transport_.start(std::move(task)), deliver);
  }

  // The number of a set of tools; sets of the same options are one.
  Result<std::size_t> builtin_tools(const std::string& options) {
    const auto known = toolset_of_.find(options);
    if (known != toolset_of_.end()) return known->second;
    auto tools = transport_.builtin_tools(options);
    if (!tools) return std::move(tools).error();
    toolsets_.push_back(std::move(tools).value());
    return toolset_of_[options] = toolsets_.size() - 1;
  }

  [[nodiscard]] std::shared_ptr<const tool::Registry> toolset(std::size_t number) const {
    return number < toolsets_.size() ? toolsets_[number] : nullptr;
  }

  Transport::StreamId start(app::AgentSpec agent, napi_value deliver) {
    return watch(transport_.start(std::move(agent)), deliver);
  }

  Result<std::string> demo_address() { return transport_.demo_address(); }

  Result<std::shared_ptr<const app::AgentPlan>> plan(std::string_view json) {
    return transport_.plan(json);
  }

  void stop(Transport::StreamId id) { transport_.stop(id); }

  void complete(Transport::StreamId id, std::uint64_t question, std::string json) {
    transport_.complete(id, question, std::move(json));
  }

  std::string circuits() const { return transport_.circuits_json(); }

  void read_as(Transport::StreamId id, const app::PipeSpec& spec) { transport_.read_as(id, spec); }

  // Delivers at once what is there.
  bool take(Transport::StreamId id) {
    auto batch = transport_.take(id);
    settle();
    if (!batch) return false;
    deliver(std::move(*batch));
    return true;
  }

  // The turn after one that was too short.
  static Napi::Value deliver_rest(const Napi::CallbackInfo& info) {
    if (Engine* engine = of(info.Env())) {
      engine->goes_on_ = false;
      engine->begin_turn(Clock::now());
      engine->deliver_due();
    }
    return info.Env().Undefined();
  }

  void cancel(Transport::StreamId id) {
    transport_.cancel(id);
    forget(id);
    settle();
  }

 private:
  Transport::StreamId watch(Transport::StreamId id, napi_value deliver) {
    napi_ref reference = nullptr;
    napi_create_reference(env_, deliver, 1, &reference);
    callbacks_.emplace(id, reference);
    settle();
    return id;
  }

  static void clean_up(void* data) {
    auto* self = static_cast<Engine*>(data);
    napi_set_instance_data(self->env_, nullptr, nullptr, nullptr);
    delete self;
  }

  static void on_wake(napi_env, void* context) {
    auto* self = static_cast<Engine*>(context);
    self->due_ = self->transport_.ready();
    self->deliver_due();
  }

  // Delivers what was there at the wake-up, but no longer than a moment before timers and sockets
  // of others have their turn. What comes meanwhile waits for the next wake-up, so that it may be
  // more by then. Node answers a wake-up that comes while one is answered in the same turn.
  void deliver_due() {
    constexpr std::size_t at_once = 16;
    const auto now = Clock::now();
    if (now - last_delivery_ > turn_gap) begin_turn(now);
    while (due_ > 0) {
      std::vector<Transport::Batch> batches = transport_.drain(std::min(at_once, due_));
      settle();
      for (Transport::Batch& batch : batches) {
        const Napi::HandleScope scope(env_);
        deliver(std::move(batch));
      }
      last_delivery_ = Clock::now();
      delivered_ += batches.size();
      due_ = batches.empty() ? 0 : due_ - batches.size();
      if (delivered_ >= most_a_turn || last_delivery_ - turn_began_ >= turn_length) {
        if (go_on_next_turn()) break;
        begin_turn(last_delivery_);
      }
    }
    if (due_ == 0 && !goes_on_) transport_.rest();
    // What the callbacks asked for is known only now.
    settle();
  }

  void begin_turn(Clock::time_point now) {
    turn_began_ = now;
    delivered_ = 0;
  }

  // Has deliver_due called by setImmediate; until then nobody is woken.
  bool go_on_next_turn() {
    const Napi::HandleScope scope(env_);
    napi_value global = nullptr;
    napi_value set_immediate = nullptr;
    napi_value go_on = nullptr;
    goes_on_ = napi_get_global(env_, &global) == napi_ok &&
               napi_get_named_property(env_, global, "setImmediate", &set_immediate) == napi_ok &&
               napi_get_reference_value(env_, go_on_, &go_on) == napi_ok &&
               napi_call_function(env_, global, set_immediate, 1, &go_on, nullptr) == napi_ok;
    return goes_on_;
  }

  // deliver(head: string | undefined, data: string | Buffer | undefined, end: string | undefined)
  // -> true to be called again without asking
  void deliver(Transport::Batch batch) {
    const auto at = callbacks_.find(batch.stream);
    if (at == callbacks_.end()) return;
    napi_value function = nullptr;
    napi_get_reference_value(env_, at->second, &function);
    const Napi::Value undefined = Napi::Env(env_).Undefined();
    const napi_value values[] = {
        batch.head ? to_text(env_, *batch.head) : undefined,
        batch.data.empty() ? undefined : to_output(env_, batch.data, batch.shape),
        batch.end ? to_text(env_, *batch.end) : undefined};
    if (batch.end) forget(batch.stream);
    const napi_value answer = call_or_report(env_, function, std::size(values), values);
    bool goes_on = false;
    if (answer != nullptr && napi_get_value_bool(env_, answer, &goes_on) == napi_ok && goes_on) {
      transport_.want(batch.stream);
    }
  }

  void forget(Transport::StreamId id) {
    const auto at = callbacks_.find(id);
    if (at == callbacks_.end()) return;
    napi_delete_reference(env_, at->second);
    callbacks_.erase(at);
  }

  void settle() { waker_.keep_alive(transport_.waiting() > 0); }

  static constexpr std::chrono::microseconds turn_gap{100};
  static constexpr std::chrono::milliseconds turn_length{2};
  // Promises that a delivery settled are heard after all of them.
  static constexpr std::size_t most_a_turn = 128;

  napi_env env_;
  napi_ref go_on_ = nullptr;  // the function that calls deliver_rest
  Clock::time_point turn_began_;
  Clock::time_point last_delivery_;
  std::size_t delivered_ = 0;  // this turn
  std::size_t due_ = 0;        // streams that the wake-up is still to be answered for
  bool goes_on_ = false;       // in the next turn
  JsWaker waker_;
  Transport transport_;
  LiveEngine live_{[this] { transport_.loop().stop(); }};
  std::unordered_map<Transport::StreamId, napi_ref> callbacks_;
  std::vector<std::shared_ptr<const tool::Registry>> toolsets_;
  std::unordered_map<std::string, std::size_t> toolset_of_;  // by their options
};

Result<Transport::StreamId> stream_at(const Napi::CallbackInfo& info, std::size_t index) {
  if (!info[index].IsNumber()) {
    return make_error(Errc::invalid_argument, "A stream is named by its number.");
  }
  return static_cast<Transport::StreamId>(info[index].As<Napi::Number>().Int64Value());
}

// startEngine(optionsJson): does nothing when the engine runs.
Napi::Value start_engine(const Napi::CallbackInfo& info) {
  if (Engine::of(info.Env()) != nullptr) return info.Env().Undefined();
  const auto json = text_at(info, 0);
  if (!json) return raise(info.Env(), json.error());
  auto options = app::read_transport_options(json.value());
  if (!options) return raise(info.Env(), options.error());
  // The clean-up hook deletes it.
  auto* engine = new Engine(info.Env(), std::move(options).value());
  napi_set_instance_data(info.Env(), engine, nullptr, nullptr);
  return info.Env().Undefined();
}

// The started engine, or null with an exception pending.
Engine* engine_of(const Napi::CallbackInfo& info) {
  Engine* engine = Engine::of(info.Env());
  if (engine == nullptr) raise(info.Env(), make_error(Errc::engine_closed));
  return engine;
}

// request(optionsJson, body: string | Uint8Array | undefined, deliver) -> stream
Napi::Value request(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto json = text_at(info, 0);
  if (!json) return raise(info.Env(), json.error());
  auto read = app::read_request(json.value());
  if (!read) return raise(info.Env(), read.error());
  if (!info[2].IsFunction()) {
    return raise(info.Env(), make_error(Errc::invalid_argument, "deliver must be a function."));
  }
  net::Request wanted = std::move(read).value();
  Body body = body_at(info, 1);
  wanted.has_body = body.given;
  wanted.body = std::move(body.bytes);
  return Napi::Number::New(info.Env(),
                           static_cast<double>(engine->start(std::move(wanted), info[2])));
}

// startModelCall(chainJson, payloadJson, optionsJson, deliver) -> stream
Napi::Value start_model_call(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  auto spec = model_call_at(info);
  if (!spec) return raise(info.Env(), spec.error());
  if (!info[3].IsFunction()) {
    return raise(info.Env(), make_error(Errc::invalid_argument, "deliver must be a function."));
  }
  return Napi::Number::New(info.Env(),
                           static_cast<double>(engine->start(std::move(spec).value(), info[3])));
}

// startMcpClient(optionsJson, deliver) -> stream
Napi::Value start_mcp_client(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto json = text_at(info, 0);
  if (!json) return raise(info.Env(), json.error());
  auto options = app::read_mcp_client(json.value());
  if (!options) return raise(info.Env(), options.error());
  if (!info[1].IsFunction()) {
    return raise(info.Env(), make_error(Errc::invalid_argument, "deliver must be a function."));
  }
  return Napi::Number::New(info.Env(),
                           static_cast<double>(engine->start(std::move(options).value(), info[1])));
}

// command(stream, name, id, text, options): see app/mcp_stream.hpp
Napi::Value command(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto stream = stream_at(info, 0);
  if (!stream) return raise(info.Env(), stream.error());
  auto name = text_at(info, 1);
  if (!name) return raise(info.Env(), name.error());
  const auto id = stream_at(info, 2);
  if (!id) return raise(info.Env(), id.error());
  auto text = text_at(info, 3);
  if (!text) return raise(info.Env(), text.error());
  auto options = text_at(info, 4);
  if (!options) return raise(info.Env(), options.error());
  app::StreamCommand wanted;
  wanted.name = std::move(name).value();
  wanted.id = id.value();
  wanted.text = std::move(text).value();
  wanted.options = std::move(options).value();
  engine->command(stream.value(), std::move(wanted));
  return info.Env().Undefined();
}

// builtinTools(optionsJson) -> JSON text {"id", "tools": [{"name", "description", "parameters",
// "effect", "approve", "timeoutMs", "serializeBy"}]}
Napi::Value builtin_tools(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto options = text_at(info, 0);
  if (!options) return raise(info.Env(), options.error());
  const auto id = engine->builtin_tools(options.value());
  if (!id) return raise(info.Env(), id.error());
  message::JsonBuilder out;
  out.open_object();
  out.raw("id", std::to_string(id.value()));
  out.open_array("tools");
  for (const auto& [name, entry] : engine->toolset(id.value())->entries()) {
    const tool::Spec& spec = entry.tool->spec();
    out.open_object();
    out.text("name", name);
    out.text("description", spec.description);
    out.raw("parameters", spec.parameters);
    out.text("effect", tool::name_of(spec.effect));
    out.raw("approve", spec.approve);
    out.raw("timeoutMs", std::to_string(spec.timeout.count()));
    out.filled("serializeBy", spec.serialize_by);
    out.close_object();
  }
  out.close_array();
  out.close_object();
  return to_text(info.Env(), out.take());
}

// runTool(toolset, name, argumentsJson, deliver) -> stream, whose head is the outcome
Napi::Value run_tool(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto toolset = stream_at(info, 0);
  if (!toolset) return raise(info.Env(), toolset.error());
  app::ToolTask task;
  task.tools = engine->toolset(toolset.value());
  auto name = text_at(info, 1);
  if (!name) return raise(info.Env(), name.error());
  auto arguments = text_at(info, 2);
  if (!arguments) return raise(info.Env(), arguments.error());
  if (!task.tools || !info[3].IsFunction()) {
    return raise(info.Env(), make_error(Errc::invalid_argument, "There is no such set of tools."));
  }
  task.name = std::move(name).value();
  task.arguments = std::move(arguments).value();
  return Napi::Number::New(info.Env(),
                           static_cast<double>(engine->start(std::move(task), info[3])));
}

// resultText(text, limit?) -> text that can stand in a conversation as data
Napi::Value result_text(const Napi::CallbackInfo& info) {
  const auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  const std::int64_t given = info[1].IsNumber() ? info[1].As<Napi::Number>().Int64Value() : 0;
  const std::size_t limit = given > 0 ? static_cast<std::size_t>(given) : tool::result_limit_bytes;
  return to_text(info.Env(), tool::result_text(text.value(), limit));
}

// startAgent(planJson, inputJson, optionsJson, deliver) -> stream
Napi::Value start_agent(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto plan_json = text_at(info, 0);
  if (!plan_json) return raise(info.Env(), plan_json.error());
  const auto input = text_at(info, 1);
  if (!input) return raise(info.Env(), input.error());
  const auto options = text_at(info, 2);
  if (!options) return raise(info.Env(), options.error());
  auto plan = engine->plan(plan_json.value());
  if (!plan) return raise(info.Env(), plan.error());
  os::RandomIds ids;
  auto spec = app::read_agent_spec(std::move(plan).value(), input.value(), options.value(), ids);
  if (!spec) return raise(info.Env(), spec.error());
  if (!info[3].IsFunction()) {
    return raise(info.Env(), make_error(Errc::invalid_argument, "deliver must be a function."));
  }
  return Napi::Number::New(info.Env(),
                           static_cast<double>(engine->start(std::move(spec).value(), info[3])));
}

// checkAgent(planJson): throws what is wrong with a plan
Napi::Value check_agent(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto json = text_at(info, 0);
  if (!json) return raise(info.Env(), json.error());
  const auto plan = engine->plan(json.value());
  if (!plan) return raise(info.Env(), plan.error());
  return info.Env().Undefined();
}

// demoModel() -> its address
Napi::Value demo_model(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto address = engine->demo_address();
  if (!address) return raise(info.Env(), address.error());
  return to_text(info.Env(), address.value());
}

// stopModelCall(stream): what it has to say about that is still delivered
Napi::Value stop_model_call(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto stream = stream_at(info, 0);
  if (!stream) return raise(info.Env(), stream.error());
  engine->stop(stream.value());
  return info.Env().Undefined();
}

// completeHook(stream, id, json): the answer of user code, "" for none
Napi::Value complete_hook(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto stream = stream_at(info, 0);
  if (!stream) return raise(info.Env(), stream.error());
  const auto question = stream_at(info, 1);
  if (!question) return raise(info.Env(), question.error());
  auto json = text_at(info, 2);
  if (!json) return raise(info.Env(), json.error());
  engine->complete(stream.value(), question.value(), std::move(json).value());
  return info.Env().Undefined();
}

// providerCircuits() -> JSON text; nothing has failed where no engine runs
Napi::Value provider_circuits(const Napi::CallbackInfo& info) {
  const Engine* engine = Engine::of(info.Env());
  return Napi::String::New(info.Env(), engine == nullptr ? "[]" : engine->circuits());
}

// readAs(stream, kind, optionsJson)
Napi::Value read_as(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto stream = stream_at(info, 0);
  if (!stream) return raise(info.Env(), stream.error());
  const auto kind = text_at(info, 1);
  if (!kind) return raise(info.Env(), kind.error());
  const auto options = text_at(info, 2);
  if (!options) return raise(info.Env(), options.error());
  const auto spec = app::read_pipe_spec(kind.value(), options.value());
  if (!spec) return raise(info.Env(), spec.error());
  engine->read_as(stream.value(), spec.value());
  return info.Env().Undefined();
}

// take(stream) -> true when deliver was called, false when it will be
Napi::Value take(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto stream = stream_at(info, 0);
  if (!stream) return raise(info.Env(), stream.error());
  return Napi::Boolean::New(info.Env(), engine->take(stream.value()));
}

// cancel(stream)
Napi::Value cancel(const Napi::CallbackInfo& info) {
  Engine* engine = engine_of(info);
  if (engine == nullptr) return {};
  const auto stream = stream_at(info, 0);
  if (!stream) return raise(info.Env(), stream.error());
  engine->cancel(stream.value());
  return info.Env().Undefined();
}

}  // namespace

void export_engine(Napi::Env env, Napi::Object exports) {
  set_function<start_engine>(env, exports, "startEngine");
  set_function<request>(env, exports, "request");
  set_function<start_model_call>(env, exports, "startModelCall");
  set_function<start_mcp_client>(env, exports, "startMcpClient");
  set_function<command>(env, exports, "command");
  set_function<builtin_tools>(env, exports, "builtinTools");
  set_function<run_tool>(env, exports, "runTool");
  set_function<result_text>(env, exports, "resultText");
  set_function<start_agent>(env, exports, "startAgent");
  set_function<check_agent>(env, exports, "checkAgent");
  set_function<demo_model>(env, exports, "demoModel");
  set_function<stop_model_call>(env, exports, "stopModelCall");
  set_function<complete_hook>(env, exports, "completeHook");
  set_function<provider_circuits>(env, exports, "providerCircuits");
  set_function<read_as>(env, exports, "readAs");
  set_function<take>(env, exports, "take");
  set_function<cancel>(env, exports, "cancel");
}

}  // namespace millrace::native
