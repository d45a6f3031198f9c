// What the server answers to which request.
#include <chrono>
#include <ctime>
#include <string_view>

#include "app/agent_capabilities.hpp"
#include "app/agent_reply.hpp"
#include "app/agent_run.hpp"
#include "app/agent_server_state.hpp"
#include "base/json.hpp"

namespace millrace::app {
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

http::Router AgentServer::State::router() {
  std::vector<http::Route> routes{
      {"POST", std::string(chat_path) + "*",
       [this](http::Request&& request, std::shared_ptr<http::ResponseStream> response) {
         on_chat(std::move(request), std::move(response));
       },
       chat_refusal},
      {"POST", "/agent",
       [this](http::Request&& request, std::shared_ptr<http::ResponseStream> response) {
         // A function object must be copyable, and a body is not cheap to copy.
         auto shared = std::make_shared<http::Request>(std::move(request));
         when_settled(
             [this, shared, response = std::move(response)] { on_agent(shared, response); });
       }},
      {"GET", "/agent/capabilities",
       [this](http::Request&&, std::shared_ptr<http::ResponseStream> response) {
         when_settled([this, response = std::move(response)] { on_capabilities(response); });
       }},
      {"GET", "/health",
       [this](http::Request&&, const std::shared_ptr<http::ResponseStream>& response) {
         on_health(response);
       }},
  };
  return http::Router(std::move(routes));
}

Asking AgentServer::State::asking() const {
  Asking asking{model, options.instructions, std::nullopt};
  if (provider.provider->dialect == model::Dialect::anthropic) {
    asking.max_tokens = options.max_output_tokens;
  }
  return asking;
}

void AgentServer::State::on_agent(const std::shared_ptr<http::Request>& request,
                                  std::shared_ptr<http::ResponseStream> response) {
  bodies.read(
      request->body.size(), std::move(response),
      [request, asked = asking(), known = plan->offer] {
        return read_question(*request, asked, known);
      },
      [this](Result<AgentQuestion> question, std::shared_ptr<http::ResponseStream> asker) {
        if (question) return answer(std::move(question).value(), std::move(asker));
        (void)asker->send_error(question.error());
      });
}

void AgentServer::State::answer(AgentQuestion question,
                                std::shared_ptr<http::ResponseStream> response) {
  const DriverServices services{loop, *client, {ids, chance, tokens, circuits}, &pool};
  if (!question.payload) {
    // The tools may have changed since.
    if (question.offer != plan->offer) question.request = nullptr;
    std::make_shared<AgentReply>(services, plan, question.input, kept, std::move(response))
        ->start(question.input, std::move(question.request));
    return;
  }
  model::CallOptions call;
  call.chain = chain;
  std::make_shared<AgentRun>(services, std::move(call), *std::move(question.payload),
                             question.input, std::move(response))
      ->start();
}

void AgentServer::State::on_chat(http::Request&& request,
                                 std::shared_ptr<http::ResponseStream> response) {
  const std::string_view name = std::string_view(request.path).substr(chat_path.size());
  const model::Provider* row = model::find_provider(name);
  const auto found = chats.find(row == nullptr ? name : row->id);
  if (found == chats.end()) {
    const std::string said(name.substr(0, 64));
    return send_chat_error(
        *response,
        make_error(
            Errc::unknown_provider,
            row == nullptr
                ? "There is no model provider \"" + said + "\": `millrace providers` lists them."
                : "The server was started without a key of the provider " + said +
                      ": set its environment variable (`millrace providers` names it)."),
        name);
  }
  auto body = std::make_shared<const std::string>(std::move(request.body));
  bodies.read(
      body->size(), std::move(response), [body] { return read_chat(*body); },
      [this, asked = found->second](Result<ChatQuestion> question,
                                    std::shared_ptr<http::ResponseStream> asker) {
        if (question) return answer(asked, std::move(question).value(), std::move(asker));
        send_chat_error(*asker, question.error(), asked.front().config.id);
      });
}

void AgentServer::State::answer(const model::CallChain& asked, ChatQuestion question,
                                std::shared_ptr<http::ResponseStream> response) {
  model::CallOptions call;
  call.chain = asked;
  std::make_shared<ChatRun>(DriverServices{loop, *client, {ids, chance, tokens, circuits}, &pool},
                            std::move(call), std::move(question.payload),
                            question.whole ? ChatAnswer::completion : ChatAnswer::stream,
                            std::move(response))
      ->start();
}

void AgentServer::State::on_capabilities(
    const std::shared_ptr<http::ResponseStream>& response) const {
  (void)response->send(200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
                       agent_capabilities(*plan, options.version, options.max_steps));
}

void AgentServer::State::on_health(const std::shared_ptr<http::ResponseStream>& response) const {
  std::string body = R"({"ok":true)";
  json::append_member(body, "service", "millrace");
  json::append_member(body, "version", options.version);
  json::append_member(body, "timestamp", utc_now());
  body.push_back('}');
  (void)response->send(200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
                       body);
}

}  // namespace millrace::app
