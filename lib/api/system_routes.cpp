#include "api/system_routes.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_answers.hpp"
#include "api/metrics.hpp"
#include "api/readiness.hpp"

namespace millrace::api {
namespace {

using json::Tree;

void health(const ApiContext& context, const ResponsePtr& response) {
  send_json(response, 200, health_json(context.options.version));
}

// Ready is a server whose store works, and that has lost no run.
void readiness(const ApiContext& context, Readiness& store, const ResponsePtr& response) {
  store.look([response, runs = context.runs](bool is_working) {
    const bool is_ready = is_working && runs->lost_reasons().empty();
    Tree body = Tree::object();
    body.set("ok", Tree::flag(is_ready));
    send_json(response, is_ready ? 200 : 503, body);
  });
}

void liveness(const ResponsePtr& response) {
  Tree body = Tree::object();
  body.set("ok", Tree::flag(true));
  send_json(response, 200, body);
}

// Source: the text format of Prometheus, version 0.0.4.
void metrics(const ApiContext& context, const AdmissionCounts& admissions,
             const ResponsePtr& response) {
  const auto uptime = std::chrono::steady_clock::now() - context.begun;
  std::string text;
  append_metric(text, "millrace_runs_at_work", "gauge", "Runs that this process works on.",
                static_cast<double>(context.runs->at_work()));
  append_metric(text, "millrace_store_backlog_bytes", "gauge",
                "Bytes that wait to be written to the store.",
                static_cast<double>(context.writer->backlog()));
  append_metric(text, "millrace_uptime_seconds", "gauge", "Seconds since the routes were opened.",
                std::chrono::duration<double>(uptime).count());
  context.metrics->append(text);
  append_admissions(text, admissions);
  append_runs(text, *context.runs->counts());
  (void)response->send(200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, text);
}

}  // namespace

// Source: contract B.2.
Tree health_json(std::string_view version) {
  Tree body = Tree::object();
  body.set("ok", Tree::flag(true));
  body.set("service", "undefined-runtime-api");
  body.set("version", version);
  body.set("timestamp", local_time(store::system_clock()()));
  return body;
}

std::vector<ApiRoute> system_routes(const ApiContextPtr& context,
                                    const std::shared_ptr<ApiZone>& zone) {
  const auto store = std::make_shared<Readiness>(context->writer, context->loop);
  return {
      {"GET", "/health", "", "Whether the server answers.",
       [context](http::Request&&, const ResponsePtr& response) { health(*context, response); }, "",
       "Health"},
      {"GET", "/livez", "", "Whether the process answers.",
       [](http::Request&&, const ResponsePtr& response) { liveness(response); }, "", "Ok"},
      {"GET", "/readyz", "", "Whether the store of the server answers.",
       [context, store](http::Request&&, const ResponsePtr& response) {
         readiness(*context, *store, response);
       },
       "", "Ok"},
      {"GET", "/metrics", "read", "Numbers for Prometheus.",
       [context, zone](http::Request&&, const ResponsePtr& response) {
         metrics(*context, zone->counts(), response);
       },
       "", "Text"},
  };
}

}  // namespace millrace::api
