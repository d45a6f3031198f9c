// toApi, fromApi: messages in the shape of one API, and back, as JSON text.
#include "format/format.hpp"

#include "arguments.hpp"
#include "exports.hpp"
#include "guard.hpp"
#include "os/random_ids.hpp"

namespace millrace::native {
namespace {

// Calls `convert` with the format and the JSON text that the arguments give.
template <class Convert>
Napi::Value convert_with(const Napi::CallbackInfo& info, Convert convert) {
  const auto name = text_at(info, 0);
  if (!name) return raise(info.Env(), name.error());
  const auto json = text_at(info, 1);
  if (!json) return raise(info.Env(), json.error());
  const format::Format* found = format::find_format(name.value());
  if (found == nullptr) {
    return raise(info.Env(), format::unknown_format(name.value()));
  }
  const Result<std::string> result = convert(*found, json.value());
  if (!result) return raise(info.Env(), result.error());
  return to_text(info.Env(), result.value());
}

// toApi(format, messagesJson) -> JSON text
Napi::Value to_api(const Napi::CallbackInfo& info) {
  return convert_with(info, [](const format::Format& found, std::string_view json) {
    return format::to_api(found, json);
  });
}

// fromApi(format, dataJson) -> JSON text of the messages
Napi::Value from_api(const Napi::CallbackInfo& info) {
  return convert_with(info, [](const format::Format& found, std::string_view json) {
    os::RandomIds ids;
    return format::from_api(found, json, ids);
  });
}

}  // namespace

void export_format(Napi::Env env, Napi::Object exports) {
  set_function<to_api>(env, exports, "toApi");
  set_function<from_api>(env, exports, "fromApi");
}

}  // namespace millrace::native
