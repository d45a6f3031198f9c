// Entry point of the addon: what require('millrace.node') returns. Loading it starts nothing.
#include <napi.h>

namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("version", Napi::String::New(env, MILLRACE_VERSION));
  return exports;
}

}  // namespace

NODE_API_MODULE(millrace, init)
