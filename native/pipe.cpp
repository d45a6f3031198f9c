// class Pipe: a body's bytes in, a reader's output out, on the calling thread.
#include "host/pipe.hpp"

#include "arguments.hpp"
#include "event/batch.hpp"
#include "exports.hpp"
#include "object.hpp"

namespace millrace::native {

template <>
struct ObjectTraits<host::Pipe> {
  static constexpr const char* name = "Pipe";
  static constexpr napi_type_tag tag{0x6d696c6c72616365, 0x0001706970650001};
  // new Pipe(kind, optionsJson)
  static Result<std::unique_ptr<host::Pipe>> make(const Napi::CallbackInfo& info) {
    auto kind = text_at(info, 0);
    if (!kind) return std::move(kind).error();
    auto options = text_at(info, 1);
    if (!options) return std::move(options).error();
    auto spec = host::read_pipe_spec(kind.value(), options.value());
    if (!spec) return std::move(spec).error();
    return host::make_pipe(spec.value());
  }
};

namespace {

Napi::Value take(host::Pipe& pipe, const Napi::CallbackInfo& info) {
  constexpr std::size_t retained_bytes = std::size_t{1} << 20U;
  std::string& output = pipe.output();
  if (output.empty()) return info.Env().Undefined();
  const Napi::Value value = to_output(info.Env(), output, pipe.shape());
  output.clear();
  if (output.capacity() > retained_bytes) output.shrink_to_fit();
  return value;
}

// feed(Uint8Array) -> output | undefined
Napi::Value feed(host::Pipe& pipe, const Napi::CallbackInfo& info) {
  const auto bytes = bytes_at(info, 0);
  if (!bytes) return raise(info.Env(), bytes.error());
  pipe.feed(bytes.value());
  return take(pipe, info);
}

// finish() -> output | undefined
Napi::Value finish(host::Pipe& pipe, const Napi::CallbackInfo& info) {
  pipe.finish();
  return take(pipe, info);
}

// fail(code, message): the body broke -> true when the output tells it
Napi::Value fail(host::Pipe& pipe, const Napi::CallbackInfo& info) {
  auto code = text_at(info, 0);
  if (!code) return raise(info.Env(), code.error());
  auto message = text_at(info, 1);
  if (!message) return raise(info.Env(), message.error());
  const Error error = make_error(code_of(code.value()), std::move(message).value());
  return Napi::Boolean::New(info.Env(), pipe.fail(error));
}

// done() -> true when the rest of the body is of no use
Napi::Value done(host::Pipe& pipe, const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), pipe.done());
}

}  // namespace

Napi::Value to_output(napi_env env, std::string& output, OutputShape shape) {
  if (shape == OutputShape::bytes) return to_bytes(env, output);
  if (shape == OutputShape::items) event::close_batch(output);
  return to_text(env, output);
}

void export_pipe(Napi::Env env, Napi::Object exports) {
  using host::Pipe;
  set_class<Pipe>(env, exports,
                  {{"feed", method<Pipe, feed>},
                   {"finish", method<Pipe, finish>},
                   {"take", method<Pipe, take>},
                   {"fail", method<Pipe, fail>},
                   {"done", method<Pipe, done>}});
}

}  // namespace millrace::native
