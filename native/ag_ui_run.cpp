// class AgUiRun: events in, the bytes of one AG-UI run out.
#include "host/ag_ui_run.hpp"

#include "arguments.hpp"
#include "exports.hpp"
#include "object.hpp"

namespace millrace::native {

template <>
struct ObjectTraits<host::AgUiRun> {
  static constexpr const char* name = "AgUiRun";
  static constexpr napi_type_tag tag{0x6d696c6c72616365, 0x000161677569724e};
  // new AgUiRun(optionsJson)
  static Result<std::unique_ptr<host::AgUiRun>> make(const Napi::CallbackInfo& info) {
    const auto text = text_at(info, 0);
    if (!text) return text.error();
    json::Document document;
    const auto options = document.parse(text.value());
    if (!options) return options.error();
    return std::make_unique<host::AgUiRun>(host::read_run_options(options.value()));
  }
};

namespace {

// take() -> Buffer | undefined
Napi::Value take(host::AgUiRun& run, const Napi::CallbackInfo& info) {
  const std::string bytes = run.take();
  return bytes.empty() ? info.Env().Undefined() : to_bytes(info.Env(), bytes);
}

// push(eventsJson) -> Buffer | undefined
Napi::Value push(host::AgUiRun& run, const Napi::CallbackInfo& info) {
  const auto events = text_at(info, 0);
  if (!events) return raise(info.Env(), events.error());
  const auto result = run.push(events.value());
  if (!result) return raise(info.Env(), result.error());
  return take(run, info);
}

// finish() -> Buffer | undefined
Napi::Value finish(host::AgUiRun& run, const Napi::CallbackInfo& info) {
  run.finish();
  return take(run, info);
}

// fail(code, message) -> Buffer | undefined
Napi::Value fail(host::AgUiRun& run, const Napi::CallbackInfo& info) {
  const auto code = text_at(info, 0);
  if (!code) return raise(info.Env(), code.error());
  const auto message = text_at(info, 1);
  if (!message) return raise(info.Env(), message.error());
  run.fail(code.value(), message.value());
  return take(run, info);
}

// ended() -> true when a terminal event was written
Napi::Value ended(host::AgUiRun& run, const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), run.ended());
}

// contentType() -> of the response that has the bytes
Napi::Value content_type(host::AgUiRun& run, const Napi::CallbackInfo& info) {
  return to_text(info.Env(), run.content_type());
}

}  // namespace

void export_ag_ui_run(Napi::Env env, Napi::Object exports) {
  using host::AgUiRun;
  set_class<AgUiRun>(env, exports,
                     {{"take", method<AgUiRun, take>},
                      {"push", method<AgUiRun, push>},
                      {"finish", method<AgUiRun, finish>},
                      {"fail", method<AgUiRun, fail>},
                      {"ended", method<AgUiRun, ended>},
                      {"contentType", method<AgUiRun, content_type>}});
}

}  // namespace millrace::native
