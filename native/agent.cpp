// agentAnswer: the pure functions of the agent room; class AgentStep: one step as a state machine.
// JSON text in and out.
#include "agent/gate.hpp"
#include "agent/step/step_machine.hpp"
#include "arguments.hpp"
#include "exports.hpp"
#include "object.hpp"
#include "os/random_ids.hpp"
#include "schema/pattern.hpp"

namespace millrace::native {
namespace {

// agentAnswer(name, requestJson, nowMs, matchesRegex?) -> JSON text
Napi::Value agent_answer(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto name = text_at(info, 0);
  if (!name) return raise(env, name.error());
  const auto query = text_at(info, 1);
  if (!query) return raise(env, query.error());
  auto parsed = json::Tree::parse(query.value());
  if (!parsed) return raise(env, parsed.error());
  const std::int64_t now = info[2].IsNumber() ? info[2].As<Napi::Number>().Int64Value() : 0;
  agent::RegexTest regex;
  if (info[3].IsFunction()) {
    const auto matches = info[3].As<Napi::Function>();
    regex = [env, matches](std::string_view pattern, std::string_view text) -> std::optional<bool> {
      // The engine's own reader takes a bounded time; JavaScript's knows the rest of the language.
      const auto compiled = schema::Pattern::compile(pattern, schema::Syntax::script);
      if (compiled) return compiled.value().found_in(text);
      const Napi::Value found = matches.Call({to_text(env, pattern), to_text(env, text)});
      if (env.IsExceptionPending() || !found.IsBoolean()) return std::nullopt;
      return found.As<Napi::Boolean>().Value();
    };
  }
  os::RandomIds ids;
  const auto result = agent::answer(name.value(), parsed.value(), {now, ids, regex});
  if (!result) return raise(env, result.error());
  return to_text(env, result.value().to_json());
}

struct StepObject {
  explicit StepObject(agent::StepOptions options) : machine(std::move(options), ids) {}
  os::RandomIds ids;
  agent::StepMachine machine;
};

Result<json::Tree> tree_at(const Napi::CallbackInfo& info, std::size_t index) {
  const auto text = text_at(info, index);
  if (!text) return text.error();
  return json::Tree::parse(text.value());
}

std::int64_t number_at(const Napi::CallbackInfo& info, std::size_t index) {
  return info[index].IsNumber() ? info[index].As<Napi::Number>().Int64Value() : 0;
}

}  // namespace

template <>
struct ObjectTraits<StepObject> {
  static constexpr const char* name = "AgentStep";
  static constexpr napi_type_tag tag{0x6d696c6c72616365, 0x0061676e74737465};
  // new AgentStep(optionsJson)
  static Result<std::unique_ptr<StepObject>> make(const Napi::CallbackInfo& info) {
    auto options = tree_at(info, 0);
    if (!options) return options.error();
    return std::make_unique<StepObject>(agent::StepOptions::from(options.value()));
  }
};

namespace {

Napi::Value take(Napi::Env env, StepObject& self) {
  return to_text(env, self.machine.take().to_json());
}

// begin(stateJson, contextJson, nowMs) -> JSON text of what is to be done
Napi::Value begin(StepObject& self, const Napi::CallbackInfo& info) {
  auto state = tree_at(info, 0);
  if (!state) return raise(info.Env(), state.error());
  auto context = tree_at(info, 1);
  if (!context) return raise(info.Env(), context.error());
  self.machine.begin(std::move(state).value(), std::move(context).value(), number_at(info, 2));
  return take(info.Env(), self);
}

// execute(instructionJson, stateJson, contextJson, nowMs)
Napi::Value execute(StepObject& self, const Napi::CallbackInfo& info) {
  auto instruction = tree_at(info, 0);
  if (!instruction) return raise(info.Env(), instruction.error());
  auto state = tree_at(info, 1);
  if (!state) return raise(info.Env(), state.error());
  auto context = tree_at(info, 2);
  if (!context) return raise(info.Env(), context.error());
  self.machine.begin_instruction(std::move(instruction).value(), std::move(state).value(),
                                 std::move(context).value(), number_at(info, 3));
  return take(info.Env(), self);
}

// complete(id, resultJson, nowMs)
Napi::Value complete(StepObject& self, const Napi::CallbackInfo& info) {
  auto result = tree_at(info, 1);
  if (!result) return raise(info.Env(), result.error());
  self.machine.complete(static_cast<std::uint64_t>(number_at(info, 0)), std::move(result).value(),
                        number_at(info, 2));
  return take(info.Env(), self);
}

// fail(id, errorJson, nowMs)
Napi::Value fail(StepObject& self, const Napi::CallbackInfo& info) {
  auto error = tree_at(info, 1);
  if (!error) return raise(info.Env(), error.error());
  self.machine.fail(static_cast<std::uint64_t>(number_at(info, 0)), std::move(error).value(),
                    number_at(info, 2));
  return take(info.Env(), self);
}

// progress(id, chunkJson)
Napi::Value progress(StepObject& self, const Napi::CallbackInfo& info) {
  auto chunk = tree_at(info, 1);
  if (!chunk) return raise(info.Env(), chunk.error());
  self.machine.progress(static_cast<std::uint64_t>(number_at(info, 0)), std::move(chunk).value());
  return take(info.Env(), self);
}

// expire(nowMs)
Napi::Value expire(StepObject& self, const Napi::CallbackInfo& info) {
  self.machine.expire(number_at(info, 0));
  return take(info.Env(), self);
}

// abort(reason, nowMs)
Napi::Value abort(StepObject& self, const Napi::CallbackInfo& info) {
  const auto reason = text_at(info, 0);
  if (!reason) return raise(info.Env(), reason.error());
  self.machine.abort(reason.value(), number_at(info, 1));
  return take(info.Env(), self);
}

}  // namespace

void export_agent(Napi::Env env, Napi::Object exports) {
  set_function<agent_answer>(env, exports, "agentAnswer");
  set_class<StepObject>(env, exports,
                        {{"begin", method<StepObject, begin>},
                         {"execute", method<StepObject, execute>},
                         {"complete", method<StepObject, complete>},
                         {"fail", method<StepObject, fail>},
                         {"progress", method<StepObject, progress>},
                         {"expire", method<StepObject, expire>},
                         {"abort", method<StepObject, abort>}});
}

}  // namespace millrace::native
