#include "api/routes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "api/agent_reply.hpp"
#include "api/agent_routes.hpp"
#include "api/api_answers.hpp"
#include "api/capabilities.hpp"
#include "api/chat_reply.hpp"
#include "api/model_reply.hpp"
#include "api/sse_response.hpp"
#include "api/system_routes.hpp"
#include "base/json.hpp"
#include "model/call/chain.hpp"

namespace millrace::api {
namespace {

constexpr std::string_view chat_path = "/webapi/chat/";
// Nobody waits for a title; a client waits for an object.
constexpr std::chrono::seconds title_limit{30};
constexpr std::chrono::minutes object_limit{5};

std::string chat_refusal(const Error& error, std::string_view path) {
  return chat_error_json(error, path.substr(chat_path.size()));
}

// The same route for those whose key allows it.
http::Route scoped(http::Route route, std::string_view scope) {
  route.scope = scope;
  route.handler = [scope, handler = std::move(route.handler)](
                      http::Request&& request,
                      const std::shared_ptr<http::ResponseStream>& response) {
    if (request.caller && !request.caller->may(scope)) {
      return (void)response->send_error(scope_missing(scope));
    }
    handler(std::move(request), response);
  };
  return route;
}

// What recorded runs would answer.
std::vector<http::Route> unrecorded_routes() {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> rows{{
      {"POST", "/agent/connect"},
      {"GET", "/agent/runs"},
      {"GET", "/agent/runs/*"},
      {"DELETE", "/agent/runs/*"},
      {"POST", "/agent/runs/*/messages"},
      {"POST", "/agent/runs/*/fork"},
      {"POST", "/agent/runs/*/approvals/*"},
  }};
  std::vector<http::Route> routes;
  for (const auto& [method, path] : rows) {
    routes.push_back({std::string(method), std::string(path),
                      [](http::Request&&, const std::shared_ptr<http::ResponseStream>& response) {
                        (void)response->send_error(make_error(
                            Errc::run_not_found,
                            "This server records no runs; start it with `--storage file:PATH`."));
                      }});
  }
  return routes;
}

}  // namespace

void Routes::open(net::Client& client, Served served) {
  client_ = &client;
  served_ = std::move(served);
}

void Routes::change(Served served, const ApiOptions& api) {
  served_ = std::move(served);
  if (api_) api_->change(api);
  tools_.limit(api.tools.timeout);
}

void Routes::set_plan(std::shared_ptr<const run::AgentPlan> plan, bool settled) {
  plan_ = std::move(plan);
  settled_ = settled;
  tools_.set_plan(plan_);
  if (!settled_) return;
  if (runs_.is_open()) runs_.set_agent(plan_, served_.version);
  for (const auto& work : std::exchange(held_, {})) work();
}

void Routes::record_runs(const RecordingOptions& options, ApiOptions api) {
  runs_.open(services(), options);
  on_loss_ = options.on_loss;
  api.version = served_.version;
  tools_.limit(api.tools.timeout);
  tools_.serve(runs_.registry(), served_.version);
  const auto ask = [this](std::string_view kind, json::Tree value, ApiContext::Reply reply) {
    loop_.post([this, kind = std::string(kind), value = std::move(value),
                reply = std::move(reply)] { do_for_routes(kind, value, reply); });
  };
  ApiContext context{
      {loop_, pool_, *client_, options.writer, runs_.registry(), runs_.requests(), ask},
      std::move(api)};
  context.when_ready = [this](std::function<void()> work) { when_settled(std::move(work)); };
  api_.emplace(std::move(context));
}

void Routes::do_for_routes(std::string_view kind, const json::Tree& value,
                           const ApiContext::Reply& reply) {
  using Work = void (*)(Routes&, const json::Tree&, const ApiContext::Reply&);
  static constexpr std::array<std::pair<std::string_view, Work>, 8> works{{
      {"tools",
       [](Routes& own, const json::Tree&, const ApiContext::Reply& answer) {
         json::Tree known = json::Tree::object();
         known.set("tools", own.tools_.list());
         known.set("remote", own.tools_.remote_names());
         auto skills = json::Tree::parse(own.skills_);
         if (skills) known.set("skills", skills.value()["list"]);
         answer(std::move(known));
       }},
      {"invoke",
       [](Routes& own, const json::Tree& call, const ApiContext::Reply& answer) {
         own.when_settled([&own, call, answer] { own.tools_.invoke(call, answer); });
       }},
      {"invoke_cancel",
       [](Routes& own, const json::Tree& id, const ApiContext::Reply& answer) {
         own.tools_.cancel(id.string());
         answer(json::Tree());
       }},
      {"commands",
       [](Routes&, const json::Tree&, const ApiContext::Reply& answer) {
         json::Tree none = json::Tree::object();
         none.set("revision", json::Tree::integer(0));
         answer(std::move(none));
       }},
      {"callback_failed",
       [](Routes& own, const json::Tree& why, const ApiContext::Reply& answer) {
         own.report_loss("The callback of a tool has not arrived", why.string());
         answer(json::Tree());
       }},
      {"media_lost",
       [](Routes& own, const json::Tree& lost, const ApiContext::Reply& answer) {
         own.report_loss("A medium in the text of the run " + std::string(lost["run"].string()) +
                             " is not stored, and readers get 404 for it",
                         lost["reason"].string());
         answer(json::Tree());
       }},
      {"title", [](Routes& own, const json::Tree& first,
                   const ApiContext::Reply& answer) { own.make_title(first, answer); }},
      {"object",
       [](Routes& own, const json::Tree& body, const ApiContext::Reply& answer) {
         auto work = object_work(own.served_.chain.front().config, own.served_.model.model, body);
         if (!work) return answer(std::move(work).error());
         own.make_object(std::move(work).value(), answer);
       }},
  }};
  const auto* const found =
      std::find_if(works.begin(), works.end(), [&](const auto& row) { return row.first == kind; });
  if (found == works.end()) return reply(make_error(Errc::tool_not_found));
  found->second(*this, value, reply);
}

void Routes::report_loss(const std::string& what, std::string_view why) const {
  if (on_loss_) on_loss_(what, why);
}

void Routes::make_title(const json::Tree& first, const ApiContext::Reply& reply) {
  auto payload = title_request(served_.model.model, first, ids_);
  if (!payload) return reply(std::move(payload).error());
  answers_.request(services(), served_.chain, std::move(payload).value(), title_limit,
                   [reply](const Result<json::Tree>& message) {
                     if (!message) return reply(message.error());
                     reply(json::Tree::text(message.value()["content"].string()));
                   });
}

void Routes::make_object(ObjectWork work, const ApiContext::Reply& reply) {
  if (served_.model.max_tokens) {
    work.payload.set("max_tokens", json::Tree::integer(*served_.model.max_tokens));
  }
  auto payload = model::read_payload(work.payload.to_json(json::Surrogates::replace), ids_);
  if (!payload) return reply(std::move(payload).error());
  answers_.request(services(), served_.chain, std::move(payload).value(), object_limit,
                   [this, work = std::move(work), reply](const Result<json::Tree>& message) {
                     if (!message) return reply(message.error());
                     ObjectWork next = work;
                     auto made = take_object(next, message.value());
                     if (!made) return reply(std::move(made).error());
                     if (!made.value()) return make_object(std::move(next), reply);
                     reply(*std::move(made).value());
                   });
}

void Routes::close() {
  held_.clear();
  answers_.close();
  tools_.close();
  if (api_) api_->close();
  runs_.close();
  bodies_.clear();
}

http::Router Routes::router() {
  http::Route chat{"POST", std::string(chat_path) + "*",
                   [this](http::Request&& request, Response response) {
                     on_chat(std::move(request), std::move(response));
                   },
                   chat_refusal};
  std::vector<http::Route> routes{
      scoped(std::move(chat), "chat"),
      {"GET", "/health",
       [this](http::Request&&, const Response& response) { on_health(response); }},
  };
  if (!api_) {
    routes.push_back({"POST", "/agent", [this](http::Request&& request, Response response) {
                        // A function object must be copyable, and a body is not cheap to copy.
                        auto shared = std::make_shared<http::Request>(std::move(request));
                        when_settled([this, shared, response = std::move(response)] {
                          on_agent(shared, response);
                        });
                      }});
    routes.push_back({"GET", "/agent/capabilities", [this](http::Request&&, Response response) {
                        when_settled(
                            [this, response = std::move(response)] { on_capabilities(response); });
                      }});
    for (http::Route& route : unrecorded_routes()) routes.push_back(std::move(route));
    return http::Router(std::move(routes), {}, log_);
  }
  for (http::Route& route : api_->routes()) {
    // The server tells more of its health.
    if (route.path != "/health") routes.push_back(std::move(route));
  }
  return http::Router(std::move(routes), {api_->zone()}, api_->observer(log_));
}

model::DriverServices Routes::services() {
  return {loop_, *client_, {ids_, random_source_, tokens_, circuits_}, &pool_};
}

void Routes::on_agent(const std::shared_ptr<http::Request>& request, Response response) {
  bodies_.read(
      request->body.size(), std::move(response),
      [request, model = served_.model, offer = plan_->offer] {
        return read_agent_request(*request, model, offer);
      },
      [this, request](Result<AgentRequest> requested, Response responder) {
        if (!requested) return (void)responder->send_error(requested.error());
        requested.value().is_binary =
            wants_binary(*request, requested.value().input.protocol_version);
        answer(std::move(requested).value(), std::move(responder));
      });
}

void Routes::answer(AgentRequest requested, Response response) {
  if (!requested.payload) {
    // The tools may have changed since.
    if (requested.offer != plan_->offer) requested.request = nullptr;
    std::make_shared<AgentReply>(services(), plan_, requested.input, requested.is_binary,
                                 suspended_, std::move(response))
        ->start(requested.input, std::move(requested.request));
    return;
  }
  model::CallOptions call;
  const std::string& trace = requested.input.trace;
  call.chain =
      trace.empty() ? served_.chain : model::with_header(served_.chain, "traceparent", trace);
  std::make_shared<ModelReply>(services(), std::move(call), *std::move(requested.payload),
                               requested.input, requested.is_binary, std::move(response))
      ->start();
}

void Routes::on_chat(http::Request&& request, Response response) {
  const std::string_view name = std::string_view(request.path).substr(chat_path.size());
  const model::Provider* row = model::find_provider(name);
  const auto found = served_.chats.find(row == nullptr ? name : row->id);
  if (found == served_.chats.end()) {
    const std::string received(name.substr(0, 64));
    return send_chat_error(
        *response,
        make_error(Errc::unknown_provider,
                   row == nullptr
                       ? "There is no model provider \"" + received +
                             "\": `millrace providers` lists them."
                       : "The server has no key for the provider \"" + received +
                             "\": set its environment variable (`millrace providers` names it) "
                             "and start the server again."),
        name);
  }
  auto body = std::make_shared<const std::string>(std::move(request.body));
  bodies_.read(
      body->size(), std::move(response), [body] { return read_chat_request(*body); },
      [this, chain = found->second](Result<ChatRequest> requested, Response responder) {
        if (requested) return answer(chain, std::move(requested).value(), std::move(responder));
        send_chat_error(*responder, requested.error(), chain.front().config.id);
      });
}

void Routes::answer(const model::CallChain& chain, ChatRequest requested, Response response) {
  model::CallOptions call;
  call.chain = chain;
  std::make_shared<ChatReply>(services(), std::move(call), std::move(requested),
                              std::move(response))
      ->start();
}

void Routes::on_capabilities(const Response& response) const {
  (void)response->send(200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
                       agent_capabilities(*plan_, served_.version, served_.max_steps));
}

void Routes::on_health(const Response& response) const {
  json::Tree health = health_json(served_.version);
  // Clients of the Runtime API look for the name of its contract; without that API there are none.
  if (!api_) health.set("service", "millrace");
  send_json(response, 200, health);
}

}  // namespace millrace::api
