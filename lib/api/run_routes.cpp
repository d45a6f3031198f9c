#include "api/run_routes.hpp"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "api/jobs.hpp"
#include "api/run_reply.hpp"
#include "api/sse_response.hpp"
#include "base/json_tree.hpp"
#include "base/shown.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"

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
  // Only a client of AG-UI 1.0 names the type.
  const std::string version = options.client_version.value_or("1.0");
  options.is_binary = wants_binary(request, version);
  if (options.is_binary) options.client_version = version;
  return options;
}

// What a request wants of its own run.
Result<journal::OnDisconnect> read_on_disconnect(const http::Request& request) {
  using journal::OnDisconnect;
  const auto wanted = request.query_value("onDisconnect");
  if (!wanted) return OnDisconnect::unset;
  if (*wanted == "stop") return OnDisconnect::stop;
  if (*wanted == "continue") return OnDisconnect::go_on;
  return make_error(Errc::invalid_argument, "`onDisconnect` must be 'continue' or 'stop', not " +
                                                shown_text(*wanted) + ".");
}

bool wants_json(const http::Request& request) {
  return accepts(request, "application/json") && !accepts(request, "text/event-stream");
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
  registry_->on_error(options.on_error);
  all_requests_ = std::make_shared<run::RunRequests>(loop_, options.writer, registry_);
  requests_ = all_requests_->without(std::string(tool_agent));
  run::UpkeepOptions upkeep;
  upkeep.retention = options.retention;
  upkeep_ = std::make_shared<run::RunUpkeep>(loop_, options.writer, registry_, upkeep);
  registry_->on_suspend([this] {
    if (upkeep_) upkeep_->look();
  });
  stops_left_ = options.stops_left;
  approval_ms_ = options.approval_ms;
  loop_.post([upkeep = upkeep_] { upkeep->start(); });
}

void RunRoutes::set_agent(std::shared_ptr<const run::AgentPlan> plan, std::string version) {
  run::DurableAgent agent{std::move(version), std::move(plan), host_.get()};
  agent.stops_left = stops_left_;
  agent.approval_ms = approval_ms_;
  loop_.post([registry = registry_, agent = std::move(agent)] {
    registry->add(std::string(agent_name), agent);
  });
}

void RunRoutes::close() {
  if (registry_) registry_->close();
  upkeep_ = nullptr;
  requests_ = nullptr;
  all_requests_ = nullptr;
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
  return {route("POST", "/agent/connect", &RunRoutes::on_connect),
          route("GET", "/agent/runs", &RunRoutes::on_list),
          route("GET", "/agent/runs/*", &RunRoutes::on_read),
          route("DELETE", "/agent/runs/*", &RunRoutes::on_stop),
          route("POST", "/agent/runs/*/messages", &RunRoutes::on_message),
          route("POST", "/agent/runs/*/fork", &RunRoutes::on_fork),
          route("POST", "/agent/runs/*/approvals/*", &RunRoutes::on_decision)};
}

std::string RunRoutes::principal_of(const http::Request& request) const {
  return request.caller ? request.caller->principal : principal_;
}

void RunRoutes::answer(const http::Request& request, run::AgentInput input,
                       const Response& response) {
  auto wanted = read_on_disconnect(request);
  if (!wanted) return (void)response->send_error(wanted.error());
  const bool is_binary = wants_binary(request, input.protocol_version);
  run::StartRequest start;
  start.name = agent_name;
  start.principal = principal_of(request);
  start.input = std::move(input);
  start.on_disconnect = wanted.value();
  requests_->open(std::move(start), [this, is_binary, response](Result<run::FoundRun> found) {
    if (!found) return (void)response->send_error(found.error());
    encoder::RecordedOptions options;
    options.is_binary = is_binary;
    read(found.value(), response, std::move(options));
  });
}

void RunRoutes::read(const run::FoundRun& found, const Response& response,
                     encoder::RecordedOptions options) {
  RunReading reading;
  reading.before = found.before;
  reading.records = std::move(options);
  reading.records.one_run = found.one_run;
  reading.records.thread_id = found.thread_id;
  reading.on_leave = [weak = std::weak_ptr(requests_), hub = found.hub, run = found.run] {
    if (const auto requests = weak.lock()) requests->left(*hub, run);
  };
  const auto reply = std::make_shared<RunReply>(loop_, response, std::move(reading));
  if (auto started = reply->start(found); !started) (void)response->send_error(started.error());
}

void RunRoutes::on_connect(const http::Request& request, const Response& response) {
  os::RandomIds ids;
  auto given = run::read_connection(request.body, ids);
  if (!given) return (void)response->send_error(given.error());
  requests_->connect(
      principal_of(request), given.value().thread_id,
      [this, response, is_binary = wants_binary(request, given.value().protocol_version),
       client = given.value()](Result<run::FoundThread> found) {
        if (!found) return (void)response->send_error(found.error());
        run::FoundThread& thread = found.value();
        if (!thread.run) {
          (void)response->send(
              200, ag_ui_headers(is_binary),
              encoder::messages_run(
                  {client.thread_id, client.run_id, {}, client.protocol_version, is_binary},
                  thread.messages_json));
          return;
        }
        encoder::RecordedOptions options;
        options.messages_json = std::move(thread.messages_json);
        options.client_version = client.protocol_version;
        options.is_binary = is_binary;
        read(*thread.run, response, std::move(options));
      });
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
  requests_->list(query, principal_of(request), send_run(response, 200));
}

void RunRoutes::on_read(const http::Request& request, const Response& response) {
  const std::string id = request.path_segment(id_place);
  const std::string thread = request.query_value("threadId").value_or("");
  if (wants_json(request)) {
    return requests_->describe(id, principal_of(request), thread, send_run(response, 200));
  }
  auto options = read_options(request);
  if (!options) return (void)response->send_error(options.error());
  requests_->find(
      id, principal_of(request), thread,
      [this, response, options = std::move(options).value()](Result<run::FoundRun> found) {
        if (!found) return (void)response->send_error(found.error());
        read(found.value(), response, options);
      });
}

void RunRoutes::on_stop(const http::Request& request, const Response& response) {
  requests_->stop(request.path_segment(id_place), principal_of(request),
                  request.query_value("threadId").value_or(""), "user_aborted",
                  send_run(response, 202));
}

void RunRoutes::on_message(const http::Request& request, const Response& response) {
  auto body = Tree::parse(request.body);
  if (!body) return (void)response->send_error(body.error());
  requests_->send_message(request.path_segment(id_place), principal_of(request), body.value(),
                          send_run(response, 202));
}

void RunRoutes::on_fork(const http::Request& request, const Response& response) {
  auto body = Tree::parse(request.body);
  if (!body) return (void)response->send_error(body.error());
  requests_->fork(request.path_segment(id_place), principal_of(request), body.value(),
                  send_run(response, 201));
}

void RunRoutes::on_decision(const http::Request& request, const Response& response) {
  auto entry = read_decision(request.body);
  if (!entry) return (void)response->send_error(entry.error());
  requests_->decide(request.path_segment(id_place), request.path_segment(approval_place),
                    principal_of(request), std::move(entry).value(), send_run(response, 200));
}

}  // namespace millrace::api
