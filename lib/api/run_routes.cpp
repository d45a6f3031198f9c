#include "api/run_routes.hpp"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "api/run_reply.hpp"
#include "base/json_tree.hpp"
#include "base/shown.hpp"
#include "os/event_loop.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::string_view agent_name = "agent";
constexpr std::size_t id_place = 2;        // /agent/runs/<id>
constexpr std::size_t approval_place = 4;  // /agent/runs/<id>/approvals/<approval>

Error no_runs() {
  return make_error(Errc::run_not_found,
                    "This server records no runs; start it with `--storage file:PATH`.");
}

http::Headers json_headers() {
  return {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
}

Result<std::uint64_t> read_cursor(std::string_view name, std::string_view text) {
  std::uint64_t cursor = 0;
  const char* const last = text.data() + text.size();
  const auto [end, failed] = std::from_chars(text.data(), last, cursor);
  if (failed == std::errc() && end == last) return cursor;
  return make_error(
      Errc::invalid_argument,
      "`" + std::string(name) + "` must be the number of a record, not " + shown_text(text) + ".");
}

// The cursor of a reader: the header of one that comes again counts more than the address, which
// stays the same.
Result<encoder::RecordedOptions> read_options(const http::Request& request) {
  encoder::RecordedOptions options;
  const auto header = request.headers.find("last-event-id");
  if (header && !header->empty()) {
    auto cursor = read_cursor("Last-Event-ID", *header);
    if (!cursor) return cursor.error();
    options.after = cursor.value();
  } else if (const auto after = request.query_value("after")) {
    auto cursor = read_cursor("after", *after);
    if (!cursor) return cursor.error();
    options.after = cursor.value();
  }
  options.fresh = request.query_value("fresh").value_or("") == "1";
  if (auto version = request.query_value("protocolVersion")) {
    options.client_version = std::move(*version);
  }
  return options;
}

bool wants_json(const http::Request& request) {
  const auto accept = request.headers.find("accept");
  return accept && accept->find("application/json") != std::string_view::npos &&
         accept->find("text/event-stream") == std::string_view::npos;
}

}  // namespace

std::function<void(Result<std::string>)> send_run(
    const std::shared_ptr<http::ResponseStream>& response, int status) {
  return [response, status](const Result<std::string>& text) {
    if (!text) return (void)response->send_error(text.error());
    (void)response->send(status, json_headers(), text.value());
  };
}

Result<Tree> read_decision(std::string_view body) {
  auto entry = Tree::parse(body);
  if (!entry || entry.value().is_object()) return entry;
  return make_error(Errc::invalid_body, "The body must be an object such as {\"approved\":true}.");
}

// A server runs no tools of a host: none is among those of its plan.
class RunRoutes::NoHost final : public run::RunHost {
 public:
  explicit NoHost(RunRoutes& routes) : routes_(routes) {}

  void request_host(const store::RunId& run, run::HostWork work, std::uint64_t id,
                    std::string json) override {
    static_cast<void>(work);
    static_cast<void>(json);
    routes_.loop_.post([weak = std::weak_ptr(routes_.registry_), run, id] {
      if (const auto registry = weak.lock()) {
        registry->complete(run, id, R"({"content":"No host runs this tool.","isError":true})");
      }
    });
  }
  void withdraw(const store::RunId& run, std::uint64_t id) override {
    static_cast<void>(run);
    static_cast<void>(id);
  }

 private:
  RunRoutes& routes_;
};

RunRoutes::RunRoutes(os::EventLoop& loop) : loop_(loop) {}

RunRoutes::~RunRoutes() = default;

void RunRoutes::open(const model::DriverServices& services, const RecordingOptions& options) {
  host_ = std::make_unique<NoHost>(*this);
  registry_ = std::make_shared<run::RunRegistry>(services, options.writer, options.owner);
  registry_->limit_left(options.left);
  requests_ = std::make_shared<run::RunRequests>(loop_, options.writer, registry_);
  upkeep_ = std::make_shared<run::RunUpkeep>(loop_, options.writer, registry_);
  on_disconnect_ = options.on_disconnect;
  loop_.post([upkeep = upkeep_] { upkeep->start(); });
}

void RunRoutes::set_agent(std::shared_ptr<const run::AgentPlan> plan, std::string version) {
  run::DurableAgent agent{std::move(version), std::move(plan), host_.get()};
  loop_.post([registry = registry_, agent = std::move(agent)] {
    registry->add(std::string(agent_name), agent);
  });
}

void RunRoutes::close() {
  if (registry_) registry_->close();
  upkeep_ = nullptr;
  requests_ = nullptr;
  registry_ = nullptr;
}

std::vector<http::Route> RunRoutes::routes() {
  const auto route = [this](std::string method, std::string path,
                            void (RunRoutes::*handler)(const http::Request&, const Response&)) {
    return http::Route{std::move(method), std::move(path),
                       [this, handler](http::Request&& request, const Response& response) {
                         if (!requests_) return (void)response->send_error(no_runs());
                         (this->*handler)(request, response);
                       }};
  };
  return {route("GET", "/agent/runs", &RunRoutes::on_list),
          route("GET", "/agent/runs/*", &RunRoutes::on_read),
          route("DELETE", "/agent/runs/*", &RunRoutes::on_stop),
          route("POST", "/agent/runs/*/approvals/*", &RunRoutes::on_decision)};
}

void RunRoutes::answer(run::AgentInput input, Response response) {
  run::StartRequest request;
  request.name = agent_name;
  request.principal = principal_;
  request.input = std::move(input);
  requests_->open(std::move(request),
                  [this, response = std::move(response)](Result<run::FoundRun> found) {
                    if (!found) return (void)response->send_error(found.error());
                    read(found.value(), response, {});
                  });
}

void RunRoutes::read(const run::FoundRun& found, const Response& response,
                     encoder::RecordedOptions options) {
  RunReading reading;
  reading.before = found.before;
  reading.records = std::move(options);
  reading.records.one_run = found.one_run;
  reading.records.thread_id = found.thread_id;
  if (on_disconnect_ == OnDisconnect::stop) {
    reading.on_leave = [weak = std::weak_ptr(requests_), hub = found.hub, id = found.run.text(),
                        principal = principal_] {
      const auto requests = weak.lock();
      if (!requests || hub->readers() > 0) return;
      requests->stop(id, principal, {}, "reader_left", [](const Result<std::string>&) {});
    };
  }
  const auto reply = std::make_shared<RunReply>(loop_, response, std::move(reading));
  if (auto started = reply->start(found); !started) (void)response->send_error(started.error());
}

void RunRoutes::on_list(const http::Request& request, const Response& response) {
  Tree query = Tree::object();
  for (const std::string_view name : {"state", "threadId", "cursor"}) {
    if (auto value = request.query_value(name)) query.set(name, *value);
  }
  if (const auto limit = request.query_value("limit")) {
    auto number = read_cursor("limit", *limit);
    if (!number) return (void)response->send_error(number.error());
    query.set("limit", Tree::integer(static_cast<std::int64_t>(number.value())));
  }
  if (request.query_value("children").value_or("") == "1") query.set("children", Tree::flag(true));
  requests_->list(query, principal_, send_run(response, 200));
}

void RunRoutes::on_read(const http::Request& request, const Response& response) {
  const std::string id = request.path_segment(id_place);
  const std::string thread = request.query_value("threadId").value_or("");
  if (wants_json(request)) {
    return requests_->describe(id, principal_, thread, send_run(response, 200));
  }
  auto options = read_options(request);
  if (!options) return (void)response->send_error(options.error());
  requests_->find(
      id, principal_, thread,
      [this, response, options = std::move(options).value()](Result<run::FoundRun> found) {
        if (!found) return (void)response->send_error(found.error());
        read(found.value(), response, options);
      });
}

void RunRoutes::on_stop(const http::Request& request, const Response& response) {
  requests_->stop(request.path_segment(id_place), principal_,
                  request.query_value("threadId").value_or(""), "user_aborted",
                  send_run(response, 202));
}

void RunRoutes::on_decision(const http::Request& request, const Response& response) {
  auto entry = read_decision(request.body);
  if (!entry) return (void)response->send_error(entry.error());
  requests_->decide(request.path_segment(id_place), request.path_segment(approval_place),
                    principal_, std::move(entry).value(), send_run(response, 200));
}

}  // namespace millrace::api
