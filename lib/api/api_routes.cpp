#include "api/api_routes.hpp"

#include <string>
#include <utility>

#include "api/absent_routes.hpp"
#include "api/action_routes.hpp"
#include "api/agent_routes.hpp"
#include "api/api_answers.hpp"
#include "api/attachment_routes.hpp"
#include "api/command_routes.hpp"
#include "api/console_routes.hpp"
#include "api/conversation_routes.hpp"
#include "api/history_routes.hpp"
#include "api/job_routes.hpp"
#include "api/lobe_chat.hpp"
#include "api/lobe_routes.hpp"
#include "api/lobe_trpc.hpp"
#include "api/memory_routes.hpp"
#include "api/message_routes.hpp"
#include "api/openapi.hpp"
#include "api/probe_routes.hpp"
#include "api/search_routes.hpp"
#include "api/session_routes.hpp"
#include "api/storage_routes.hpp"
#include "api/system_routes.hpp"
#include "api/tool_routes.hpp"
#include "api/trpc_answer.hpp"
#include "base/utf8.hpp"

namespace millrace::api {
namespace {

using Table = std::vector<ApiRoute>;

// "*" in place of each parameter.
std::string pattern_of(std::string_view path) {
  std::string pattern;
  bool in_name = false;
  for (const char c : path) {
    if (c == '{') pattern.push_back('*');
    in_name = in_name ? c != '}' : c == '{';
    if (!in_name && c != '}') pattern.push_back(c);
  }
  return pattern;
}

// A reader of JSON would put U+FFFD in place of bytes that are no UTF-8.
const Error& not_utf8() {
  static const Error error =
      make_error(Errc::invalid_json, "Invalid JSON: the body is not valid UTF-8.");
  return error;
}

http::Handler guarded(const ApiRoute& route) {
  const bool is_of_api = !route.path.starts_with(trpc_prefix) && !is_agent_path(route.path);
  return [scope = std::string(route.scope), handler = route.handler, is_of_api](
             http::Request&& request, const ResponsePtr& response) {
    if (scope.empty() || !request.caller || request.caller->may(scope)) {
      if (!utf8::is_valid(request.body)) return (void)response->send_error(not_utf8());
      return handler(std::move(request), response);
    }
    if (is_of_api) return send_refusal(response, 403, scope_text(scope));
    (void)response->send_error(scope_missing(scope));
  };
}

// The page may be turned off while it is served.
http::Handler while_shown(const ApiContextPtr& context, http::Handler handler) {
  return [context, handler = std::move(handler)](http::Request&& request,
                                                 const ResponsePtr& response) {
    if (context->options.shows_page) return handler(std::move(request), response);
    (void)response->send(404, {{"Content-Type", "text/plain; charset=utf-8"}}, "404: Not Found");
  };
}

void add(Table& table, std::vector<ApiRoute> routes) {
  for (ApiRoute& route : routes) table.push_back(std::move(route));
}

ApiRoute openapi_route(const ApiContextPtr& context, const std::shared_ptr<Table>& table) {
  const auto answer = [context, weak = std::weak_ptr(table)](const http::Request& request,
                                                             const ResponsePtr& response) {
    const auto rows = weak.lock();
    if (!context->options.has_openapi || !rows) {
      return send_refusal(response, 404, "OpenAPI disabled");
    }
    // Behind a proxy with TLS, clients that follow the document must use it, too.
    const bool is_tls = request.headers.find("X-Forwarded-Proto").value_or("").starts_with("https");
    const std::string server = (is_tls ? "https://" : "http://") +
                               std::string(request.headers.find("Host").value_or("localhost"));
    send_json(response, 200, openapi_document(*rows, context->options.version, server));
  };
  return {"GET", "/openapi.json", "", "This document.", answer, "", "Document"};
}

}  // namespace

ApiRoutes::ApiRoutes(ApiContext context)
    : context_(std::make_shared<ApiContext>(std::move(context))),
      keys_(std::make_shared<ApiKeys>(context_->options)),
      zone_(std::make_shared<ApiZone>(context_->options, keys_)),
      listeners_(std::make_shared<Listeners>()) {
  keys_->uses().share(context_->loop, [weak = std::weak_ptr(context_)](
                                          std::vector<store::KeySpending> spent,
                                          std::function<void(KeyUses::Total)> done) {
    const auto shared = weak.lock();
    if (!shared) return;
    shared->with_store<KeyUses::Total>(
        [spent = std::move(spent)](store::StorageBackend& backend) { return backend.spend(spent); },
        std::move(done));
  });
  const auto table = std::make_shared<Table>();
  add(*table, system_routes(context_, zone_));
  add(*table, session_routes(context_, zone_));
  table->push_back(openapi_route(context_, table));
  jobs_ = std::make_shared<Jobs>(context_);
  const auto commands = std::make_shared<Commands>(context_);
  const auto turns = std::make_shared<Turns>(context_, jobs_, commands);
  add(*table, job_routes(context_, jobs_, turns));
  add(*table, action_routes(context_, jobs_));
  const auto silent = std::make_shared<SilentRuns>(jobs_);
  add(*table, conversation_routes(context_, jobs_, silent));
  add(*table, message_routes(context_, jobs_, turns));
  add(*table, history_routes(context_, jobs_, silent));
  add(*table, search_routes(context_));
  add(*table, attachment_routes(context_));
  invocations_ = std::make_shared<ToolInvocations>(context_, jobs_);
  add(*table, tool_routes(context_, invocations_));
  add(*table, command_routes(context_, commands));
  add(*table, probe_routes(context_, commands, listeners_));
  add(*table, memory_routes(context_));
  add(*table, agent_routes(context_));
  add(*table, storage_routes(context_));
  Table lobe = lobe_routes(context_, invocations_->webhooks());
  add(lobe, lobe_chat_routes(context_));
  add(*table, lobe_trpc_routes(lobe));
  add(*table, std::move(lobe));
  add(*table, absent_routes());
  table_ = table;
}

void ApiRoutes::add_listener(std::uint16_t port, std::string host) {
  listeners_->insert_or_assign(port, std::move(host));
}

void ApiRoutes::close() {
  keys_->uses().flush();
  invocations_->close();
  jobs_->close();
}

std::vector<http::Route> ApiRoutes::routes() const {
  std::vector<http::Route> routes = console_routes(context_->options.page);
  for (http::Route& route : routes) route.handler = while_shown(context_, std::move(route.handler));
  for (const ApiRoute& row : *table_) {
    http::ErrorBody error_body = row.error_body;
    if (!error_body && !is_agent_path(row.path)) error_body = api_error_body;
    routes.push_back({std::string(row.method), pattern_of(row.path), guarded(row),
                      std::move(error_body), row.body_bytes, std::string(row.scope), row.sink});
  }
  return routes;
}

void ApiRoutes::change(const ApiOptions& options) {
  ApiOptions& own = context_->options;
  own.keys = options.keys;
  own.keys_file = options.keys_file;
  own.origins = options.origins;
  own.has_openapi = options.has_openapi;
  own.shows_page = options.shows_page;
  own.tools = options.tools;
  own.webhook_secrets = options.webhook_secrets;
  own.makes_titles = options.makes_titles;
  keys_->set(own);
  zone_->set_origins(own.origins);
}

}  // namespace millrace::api
