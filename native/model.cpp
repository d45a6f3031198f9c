// class ModelCallPipe: a model call whose requests JavaScript sends.
#include <utility>

#include "arguments.hpp"
#include "base/json.hpp"
#include "encoder/sources.hpp"
#include "event/batch.hpp"
#include "exports.hpp"
#include "guard.hpp"
#include "host/model_call_pipe.hpp"
#include "model/failure/html_page.hpp"
#include "model/payload/payload.hpp"
#include "model/provider/config.hpp"
#include "model/provider/providers.hpp"
#include "object.hpp"

namespace millrace::native {

Result<host::ModelCallSpec> model_call_at(const Napi::CallbackInfo& info) {
  const auto chain = text_at(info, 0);
  if (!chain) return chain.error();
  const auto payload = text_at(info, 1);
  if (!payload) return payload.error();
  const auto options = text_at(info, 2);
  if (!options) return options.error();
  os::RandomIds ids;
  return host::read_model_call(chain.value(), payload.value(), options.value(), ids);
}

template <>
struct ObjectTraits<host::ModelCallPipe> {
  static constexpr const char* name = "ModelCallPipe";
  static constexpr napi_type_tag tag{0x6d696c6c72616365, 0x00016d6f64656c31};
  // new ModelCallPipe(chainJson, payloadJson, optionsJson)
  static Result<std::unique_ptr<host::ModelCallPipe>> make(const Napi::CallbackInfo& info) {
    auto spec = model_call_at(info);
    if (!spec) return std::move(spec).error();
    return std::make_unique<host::ModelCallPipe>(std::move(spec).value());
  }
};

namespace {

using host::ModelCallPipe;

// [requestsJson | undefined, output | undefined]
Napi::Value answer(ModelCallPipe& pipe, const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array pair = Napi::Array::New(env, 2);
  std::string& requests = pipe.requests();
  event::close_batch(requests);
  pair.Set(0U, requests.empty() ? env.Undefined() : to_text(env, requests));
  requests.clear();
  std::string& output = pipe.output();
  pair.Set(1U, output.empty() ? env.Undefined() : to_output(env, output, pipe.shape()));
  output.clear();
  return pair;
}

Napi::Value start(ModelCallPipe& pipe, const Napi::CallbackInfo& info) {
  pipe.start();
  return answer(pipe, info);
}

// head(headJson)
Napi::Value head(ModelCallPipe& pipe, const Napi::CallbackInfo& info) {
  const auto json = text_at(info, 0);
  if (!json) return raise(info.Env(), json.error());
  if (const auto read = pipe.head(json.value()); !read) return raise(info.Env(), read.error());
  return answer(pipe, info);
}

// data(Uint8Array)
Napi::Value data(ModelCallPipe& pipe, const Napi::CallbackInfo& info) {
  const auto bytes = bytes_at(info, 0);
  if (!bytes) return raise(info.Env(), bytes.error());
  pipe.data(bytes.value());
  return answer(pipe, info);
}

// done(code, message): an empty code is a complete body
Napi::Value done(ModelCallPipe& pipe, const Napi::CallbackInfo& info) {
  const auto code = text_at(info, 0);
  if (!code) return raise(info.Env(), code.error());
  const auto message = text_at(info, 1);
  if (!message) return raise(info.Env(), message.error());
  pipe.done(code.value(), message.value());
  return answer(pipe, info);
}

Napi::Value timer(ModelCallPipe& pipe, const Napi::CallbackInfo& info) {
  pipe.timer();
  return answer(pipe, info);
}

// complete(id, json)
Napi::Value complete(ModelCallPipe& pipe, const Napi::CallbackInfo& info) {
  if (!info[0].IsNumber()) {
    return raise(info.Env(), make_error(Errc::invalid_argument, "Argument 1 must be a number."));
  }
  const auto json = text_at(info, 1);
  if (!json) return raise(info.Env(), json.error());
  pipe.complete(static_cast<std::uint64_t>(info[0].As<Napi::Number>().Int64Value()), json.value());
  return answer(pipe, info);
}

Napi::Value stop(ModelCallPipe& pipe, const Napi::CallbackInfo& info) {
  pipe.stop(!info[0].IsBoolean() || info[0].As<Napi::Boolean>().Value());
  return answer(pipe, info);
}

// providers() -> JSON text
Napi::Value providers(const Napi::CallbackInfo& info) {
  return to_text(info.Env(), model::providers_json());
}

// isPayloadMember(name) -> boolean
Napi::Value is_payload_member(const Napi::CallbackInfo& info) {
  const auto name = text_at(info, 0);
  if (!name) return raise(info.Env(), name.error());
  return Napi::Boolean::New(info.Env(), model::is_payload_member(name.value()));
}

// htmlPage(text) -> what to call it where it is an HTML page, else ""
Napi::Value html_page(const Napi::CallbackInfo& info) {
  const auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  return to_text(info.Env(), model::html_page(text.value()));
}

// sourcesOf(citationJson) -> the sources that a citation names, in LobeHub's shape
Napi::Value sources_of(const Napi::CallbackInfo& info) {
  const auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  json::Document document;
  encoder::Sources sources;
  if (const auto citation = document.parse(text.value())) sources.add(citation.value());
  std::string out;
  sources.write(out);
  return to_text(info.Env(), out);
}

// checkProvider(settingsJson) -> the provider's id
Napi::Value check_provider(const Napi::CallbackInfo& info) {
  const auto json = text_at(info, 0);
  if (!json) return raise(info.Env(), json.error());
  const auto config = model::read_config(json.value());
  if (!config) return raise(info.Env(), config.error());
  return to_text(info.Env(), config.value().id);
}

}  // namespace

void export_model(Napi::Env env, Napi::Object exports) {
  set_function<providers>(env, exports, "providers");
  set_function<is_payload_member>(env, exports, "isPayloadMember");
  set_function<html_page>(env, exports, "htmlPage");
  set_function<sources_of>(env, exports, "sourcesOf");
  set_function<check_provider>(env, exports, "checkProvider");
  set_class<ModelCallPipe>(env, exports,
                           {{"start", method<ModelCallPipe, start>},
                            {"head", method<ModelCallPipe, head>},
                            {"data", method<ModelCallPipe, data>},
                            {"done", method<ModelCallPipe, done>},
                            {"timer", method<ModelCallPipe, timer>},
                            {"complete", method<ModelCallPipe, complete>},
                            {"stop", method<ModelCallPipe, stop>}});
}

}  // namespace millrace::native
