// class AgentServer: `millrace serve` inside the engine.
#include "app/agent_server.hpp"

#include <utility>

#include "arguments.hpp"
#include "exports.hpp"
#include "host/mcp_stream.hpp"
#include "object.hpp"

namespace millrace::native {

template <>
struct ObjectTraits<app::AgentServer> {
  static constexpr const char* name = "AgentServer";
  static constexpr napi_type_tag tag{0x6d696c6c72616365, 0x0001736572760001};
  // new AgentServer(optionsJson): listens when it returns
  static Result<std::unique_ptr<app::AgentServer>> make(const Napi::CallbackInfo& info) {
    auto text = text_at(info, 0);
    if (!text) return std::move(text).error();
    auto options = app::read_server_options(text.value());
    if (!options) return std::move(options).error();
    return app::AgentServer::start(std::move(options).value());
  }
};

namespace {

// Stops the server on a pool thread, since answers may take their time to end.
class StopWork final : public Napi::AsyncWorker {
 public:
  StopWork(app::AgentServer& server, Napi::Object owner, const Napi::Function& done)
      : Napi::AsyncWorker(done, "millrace.stop"), server_(server) {
    Receiver().Set("server", owner);
  }

 protected:
  void Execute() override { server_.stop(); }

 private:
  app::AgentServer& server_;  // kept alive by the receiver's reference to its object
};

// checkServer(optionsJson): throws what a server would not start with
Napi::Value check_server(const Napi::CallbackInfo& info) {
  auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  auto options = app::read_server_options(text.value());
  if (!options) return raise(info.Env(), options.error());
  auto checked = app::AgentServer::check(std::move(options).value());
  if (!checked) return raise(info.Env(), checked.error());
  return info.Env().Undefined();
}

// port() -> number
Napi::Value port(app::AgentServer& server, const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), server.port());
}

// change(optionsJson): takes what may change while the server runs
Napi::Value change(app::AgentServer& server, const Napi::CallbackInfo& info) {
  auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  auto options = app::read_server_options(text.value());
  if (!options) return raise(info.Env(), options.error());
  auto changed = server.change(std::move(options).value());
  if (!changed) return raise(info.Env(), changed.error());
  return info.Env().Undefined();
}

// mcpStatus() -> JSON text (app/mcp_servers.hpp)
Napi::Value mcp_status(app::AgentServer& server, const Napi::CallbackInfo& info) {
  return to_text(info.Env(), server.mcp_status());
}

// takeProblems() -> JSON text: what kept runs from being taken over since the last call
Napi::Value take_problems(app::AgentServer& server, const Napi::CallbackInfo& info) {
  return to_text(info.Env(), server.take_problems());
}

// answerMcp(name, headersJson, message): a message refuses
Napi::Value answer_mcp(app::AgentServer& server, const Napi::CallbackInfo& info) {
  const auto name = text_at(info, 0);
  const auto headers = text_at(info, 1);
  const auto message = text_at(info, 2);
  for (const auto* given : {&name, &headers, &message}) {
    if (!*given) return raise(info.Env(), given->error());
  }
  if (message.value().empty()) {
    server.authorize_mcp(name.value(), host::read_authorization(headers.value()));
  } else {
    server.reject_mcp(name.value(), message.value());
  }
  return info.Env().Undefined();
}

// setSkills(json): "" is none
Napi::Value set_skills(app::AgentServer& server, const Napi::CallbackInfo& info) {
  auto json = text_at(info, 0);
  if (!json) return raise(info.Env(), json.error());
  server.set_skills(std::move(json).value());
  return info.Env().Undefined();
}

// expedite(): a stop waits no longer
Napi::Value expedite(app::AgentServer& server, const Napi::CallbackInfo& info) {
  server.expedite();
  return info.Env().Undefined();
}

// stop(callback): calls back when the last connection is closed
Napi::Value stop(app::AgentServer& server, const Napi::CallbackInfo& info) {
  if (info.Length() < 1 || !info[0].IsFunction()) {
    return raise(info.Env(), make_error(Errc::invalid_argument, "stop() takes a function."));
  }
  (new StopWork(server, info.This().As<Napi::Object>(), info[0].As<Napi::Function>()))->Queue();
  return info.Env().Undefined();
}

}  // namespace

void export_agent_server(Napi::Env env, Napi::Object exports) {
  using app::AgentServer;
  set_function<check_server>(env, exports, "checkServer");
  set_class<AgentServer>(env, exports,
                         {{"port", method<AgentServer, port>},
                          {"change", method<AgentServer, change>},
                          {"mcpStatus", method<AgentServer, mcp_status>},
                          {"takeProblems", method<AgentServer, take_problems>},
                          {"answerMcp", method<AgentServer, answer_mcp>},
                          {"setSkills", method<AgentServer, set_skills>},
                          {"expedite", method<AgentServer, expedite>},
                          {"stop", method<AgentServer, stop>}});
}

}  // namespace millrace::native
