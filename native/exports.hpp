// What each file of this folder adds to the addon's exports.
#pragma once

#include <string>

#include "base/result.hpp"
#include "host/model_stream.hpp"
#include "host/pipe.hpp"
#include "node_api.hpp"

namespace millrace::native {

void export_agent(Napi::Env env, Napi::Object exports);
void export_agent_server(Napi::Env env, Napi::Object exports);
void export_ag_ui_run(Napi::Env env, Napi::Object exports);
void export_capabilities(Napi::Env env, Napi::Object exports);
void export_folder(Napi::Env env, Napi::Object exports);
void export_format(Napi::Env env, Napi::Object exports);
void export_model(Napi::Env env, Napi::Object exports);
void export_pipe(Napi::Env env, Napi::Object exports);
void export_usage(Napi::Env env, Napi::Object exports);
void export_schema(Napi::Env env, Napi::Object exports);
void export_store(Napi::Env env, Napi::Object exports);
void export_streams(Napi::Env env, Napi::Object exports);
void export_runtime(Napi::Env env, Napi::Object exports);
void export_tools(Napi::Env env, Napi::Object exports);

// The model call that the first three arguments describe (host::read_model_call).
Result<host::ModelCallSpec> model_call_at(const Napi::CallbackInfo& info);

// A pipe's output as a JavaScript value; `output` is used up.
Napi::Value to_output(napi_env env, std::string& output, OutputShape shape);

}  // namespace millrace::native
