#include "api/routes.hpp"

#include <chrono>
#include <ctime>
#include <string_view>
#include <utility>

#include "api/agent_reply.hpp"
#include "api/capabilities.hpp"
#include "api/chat_reply.hpp"
#include "api/model_reply.hpp"
#include "base/json.hpp"

namespace millrace::api {
namespace {

constexpr std::string_view chat_path = "/webapi/chat/";

std::string chat_refusal(const Error& error, std::string_view path) {
  return chat_error_json(error, path.substr(chat_path.size()));
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::string text(sizeof("2026-01-01T00:00:00Z") - 1, '\0');
  std::strftime(text.data(), text.size() + 1, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

void Routes::open(net::Client& client, Served served) {
  client_ = &client;
  served_ = std::move(served);
}

void Routes::set_plan(std::shared_ptr<const run::AgentPlan> plan, bool settled) {
  plan_ = std::move(plan);
  settled_ = settled;
  if (!settled_) return;
  if (runs_.is_open()) runs_.set_agent(plan_, served_.version);
  for (const auto& work : std::exchange(held_, {})) work();
}

void Routes::record_runs(const RecordingOptions& options) {
  runs_.open(services(), options);
}

void Routes::close() {
  held_.clear();
  runs_.close();
  bodies_.clear();
}

http::Router Routes::router() {
  std::vector<http::Route> routes{
      {"POST", std::string(chat_path) + "*",
       [this](http::Request&& request, Response response) {
         on_chat(std::move(request), std::move(response));
       },
       chat_refusal},
      {"POST", "/agent",
       [this](http::Request&& request, Response response) {
         // A function object must be copyable, and a body is not cheap to copy.
         auto shared = std::make_shared<http::Request>(std::move(request));
         when_settled(
             [this, shared, response = std::move(response)] { on_agent(shared, response); });
       }},
      {"GET", "/agent/capabilities",
       [this](http::Request&&, Response response) {
         when_settled([this, response = std::move(response)] { on_capabilities(response); });
       }},
      {"GET", "/health",
       [this](http::Request&&, const Response& response) { on_health(response); }},
  };
  for (http::Route& route : runs_.routes()) routes.push_back(std::move(route));
  return http::Router(std::move(routes));
}

model::DriverServices Routes::services() {
  return {loop_, *client_, {ids_, random_source_, tokens_, circuits_}, &pool_};
}

void Routes::on_agent(const std::shared_ptr<http::Request>& request, Response response) {
  bodies_.read(
      request->body.size(), std::move(response),
      [request, model = served_.model, offer = plan_->offer, is_recorded = runs_.is_open()] {
        return read_agent_request(*request, model, offer, is_recorded);
      },
      [this](Result<AgentRequest> requested, Response responder) {
        if (!requested) return (void)responder->send_error(requested.error());
        if (runs_.is_open()) {
          return runs_.answer(std::move(requested.value().input), std::move(responder));
        }
        answer(std::move(requested).value(), std::move(responder));
      });
}

void Routes::answer(AgentRequest requested, Response response) {
  if (!requested.payload) {
    // The tools may have changed since.
    if (requested.offer != plan_->offer) requested.request = nullptr;
    std::make_shared<AgentReply>(services(), plan_, requested.input, suspended_,
                                 std::move(response))
        ->start(requested.input, std::move(requested.request));
    return;
  }
  model::CallOptions call;
  call.chain = served_.chain;
  std::make_shared<ModelReply>(services(), std::move(call), *std::move(requested.payload),
                               requested.input, std::move(response))
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
  std::make_shared<ChatReply>(services(), std::move(call), std::move(requested.payload),
                              requested.whole ? ChatAnswer::completion : ChatAnswer::stream,
                              std::move(response))
      ->start();
}

void Routes::on_capabilities(const Response& response) const {
  (void)response->send(200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
                       agent_capabilities(*plan_, served_.version, served_.max_steps));
}

void Routes::on_health(const Response& response) const {
  std::string body = R"({"ok":true)";
  json::append_member(body, "service", "millrace");
  json::append_member(body, "version", served_.version);
  json::append_member(body, "timestamp", utc_now());
  body.push_back('}');
  (void)response->send(200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
                       body);
}

}  // namespace millrace::api
