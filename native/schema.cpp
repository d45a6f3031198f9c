// Structured output: planObject, judgeObject and the class PartialJson.
#include "base/partial_json.hpp"
#include "model/provider/config.hpp"
#include "model/schema/object.hpp"

#include "arguments.hpp"
#include "exports.hpp"
#include "guard.hpp"
#include "object.hpp"

namespace millrace::native {

template <>
struct ObjectTraits<json::PartialJson> {
  static constexpr const char* name = "PartialJson";
  static constexpr napi_type_tag tag{0x6d696c6c72616365, 0x0001706172746a73};
  // new PartialJson()
  static Result<std::unique_ptr<json::PartialJson>> make(const Napi::CallbackInfo&) {
    return std::make_unique<json::PartialJson>();
  }
};

namespace {

// feed(text) -> the value so far as JSON text, "" while there is none
Napi::Value feed(json::PartialJson& self, const Napi::CallbackInfo& info) {
  const auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  self.feed(text.value());
  return to_text(info.Env(), self.completed());
}

// planObject(settingsJson, requestJson) -> JSON text of the plan
Napi::Value plan(const Napi::CallbackInfo& info) {
  const auto settings = text_at(info, 0);
  if (!settings) return raise(info.Env(), settings.error());
  const auto request = text_at(info, 1);
  if (!request) return raise(info.Env(), request.error());
  const auto config = model::read_config(settings.value());
  if (!config) return raise(info.Env(), config.error());
  const auto result = model::plan_object(config.value(), request.value());
  if (!result) return raise(info.Env(), result.error());
  return to_text(info.Env(), result.value());
}

// A verdict is reached on libuv's pool: a large answer against a large schema takes its time.
struct Judging {
  std::string plan;
  std::string answer;
  bool validate = false;
  Result<std::string> verdict{std::string()};
  napi_deferred deferred = nullptr;
  napi_async_work work = nullptr;
};

void judge(napi_env, void* data) {
  auto* judging = static_cast<Judging*>(data);
  try {
    judging->verdict = model::judge_object(judging->plan, judging->answer, judging->validate);
  } catch (const std::exception& exception) {
    judging->verdict = make_error(Errc::internal, exception.what());
  }
}

void deliver_verdict(napi_env env, napi_status status, void* data) {
  const std::unique_ptr<Judging> judging(static_cast<Judging*>(data));
  napi_delete_async_work(env, judging->work);
  if (status == napi_cancelled) judging->verdict = make_error(Errc::engine_closed);
  const Result<std::string>& verdict = judging->verdict;
  const std::string text = verdict ? verdict.value() : millrace::error_json(verdict.error());
  const napi_value value = to_text(env, text);
  if (verdict)
    napi_resolve_deferred(env, judging->deferred, value);
  else
    napi_reject_deferred(env, judging->deferred, value);
}

// judgeObject(planJson, answer, validate) -> promise of the verdict's JSON text
Napi::Value judge_later(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  auto judging = std::make_unique<Judging>();
  auto plan_json = text_at(info, 0);
  if (!plan_json) return raise(env, plan_json.error());
  auto answer = text_at(info, 1);
  if (!answer) return raise(env, answer.error());
  judging->plan = std::move(plan_json).value();
  judging->answer = std::move(answer).value();
  judging->validate = info[2].IsBoolean() && info[2].As<Napi::Boolean>().Value();
  napi_value promise = nullptr;
  const Napi::String name = Napi::String::New(env, "millrace.judgeObject");
  if (napi_create_promise(env, &judging->deferred, &promise) != napi_ok ||
      napi_create_async_work(env, nullptr, name, judge, deliver_verdict, judging.get(),
                             &judging->work) != napi_ok ||
      napi_queue_async_work(env, judging->work) != napi_ok) {
    return raise(env, make_error(Errc::internal, "The environment accepts no more work."));
  }
  static_cast<void>(judging.release());
  return {env, promise};
}

}  // namespace

void export_schema(Napi::Env env, Napi::Object exports) {
  set_function<plan>(env, exports, "planObject");
  set_function<judge_later>(env, exports, "judgeObject");
  set_class<json::PartialJson>(env, exports, {{"feed", method<json::PartialJson, feed>}});
}

}  // namespace millrace::native
