// Entry point of the addon: what require('millrace.node') returns. Loading it starts nothing.
#include "base/error.hpp"
#include "exports.hpp"
#include "node_api.hpp"

namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("version", Napi::String::New(env, MILLRACE_VERSION));
  millrace::native::export_agent(env, exports);
  millrace::native::export_agent_server(env, exports);
  millrace::native::export_ag_ui_run(env, exports);
  millrace::native::export_capabilities(env, exports);
  millrace::native::export_folder(env, exports);
  millrace::native::export_format(env, exports);
  millrace::native::export_model(env, exports);
  millrace::native::export_pipe(env, exports);
  millrace::native::export_usage(env, exports);
  millrace::native::export_schema(env, exports);
  millrace::native::export_store(env, exports);
  millrace::native::export_streams(env, exports);
  millrace::native::export_runtime(env, exports);
  millrace::native::export_tools(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(millrace, init)
