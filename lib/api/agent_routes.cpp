#include "api/agent_routes.hpp"

#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "api/api_answers.hpp"
#include "api/capabilities.hpp"
#include "api/jobs.hpp"
#include "api/large_bodies.hpp"
#include "api/request_body.hpp"
#include "api/run_reply.hpp"
#include "api/sse_response.hpp"
#include "base/json_tree.hpp"
#include "base/shown.hpp"
#include "http/response.hpp"
#include "os/random_ids.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::size_t id_place = 2;        // /agent/runs/<id>
constexpr std::size_t approval_place = 4;  // /agent/runs/<id>/approvals/<approval>
// Names of agents that the routes themselves start.
constexpr std::string_view own_prefix = "millrace:";

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

// What a request sets for its own run.
Result<journal::OnDisconnect> read_on_disconnect(const http::Request& request) {
  using journal::OnDisconnect;
  const auto wanted = request.query_value("onDisconnect");
  if (!wanted) return OnDisconnect::unset;
  if (*wanted == "stop") return OnDisconnect::stop;
  if (*wanted == "continue") return OnDisconnect::go_on;
  return make_error(Errc::invalid_argument, "`onDisconnect` must be 'continue' or 'stop', not " +
                                                shown_text(*wanted) + ".");
}

// Whether a run may wait for the one that is at work in its thread.
Result<bool> read_busy(const http::Request& request) {
  const std::string busy = request.query_value("busy").value_or("reject");
  if (busy == "queue" || busy == "reject") return busy == "queue";
  return make_error(Errc::invalid_argument,
                    "`busy` must be reject or queue, not " + shown_text(busy) + ".");
}

bool wants_json(const http::Request& request) {
  return accepts(request, "application/json") && !accepts(request, "text/event-stream");
}

}  // namespace

std::function<void(Result<std::string>)> send_run(const ResponsePtr& response, int status) {
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

std::string scope_text(std::string_view scope) {
  return "The key does not have the scope '" + std::string(scope) + "'";
}

Error unknown_agent(const ApiContext& context, std::string_view name) {
  std::string known;
  for (const std::string& one : context.runs->names()) {
    if (one.starts_with(own_prefix) || context.runs->kind_of(one) == run::RunKind::job) continue;
    known.append(known.empty() ? "" : ", ").append(shown_text(one));
  }
  return make_error(Errc::agent_not_registered,
                    "There is no agent " + shown_text(name) + "; there " +
                        (known.empty() ? "is none." : "are: " + known + "."));
}

Error scope_missing(std::string_view scope) {
  return make_error(Errc::not_authorized, scope_text(scope) + ".");
}

namespace {

// What the routes share.
struct AgentService : std::enable_shared_from_this<AgentService> {
  explicit AgentService(const ApiContextPtr& shared)
      : context(shared),
        requests(shared->requests->without(std::string(tool_agent))),
        bodies(shared->pool) {}

  ApiContextPtr context;
  std::shared_ptr<run::RunRequests> requests;
  mutable LargeBodies bodies;

  [[nodiscard]] std::string caller_of(const http::Request& request) const {
    return principal_of(request, *context);
  }
  void open(const std::shared_ptr<http::Request>& request, const ResponsePtr& response) const;
  void answer(const http::Request& request, run::AgentInput input,
              const ResponsePtr& response) const;
  void send_unknown_agent(const std::string& name, const ResponsePtr& response) const;
  void read(const run::FoundRun& found, const ResponsePtr& response,
            encoder::RecordedOptions options) const;
  void connect(const http::Request& request, const ResponsePtr& response) const;
  void list(const http::Request& request, const ResponsePtr& response) const;
  void show(const http::Request& request, const ResponsePtr& response) const;
  void stop(const http::Request& request, const ResponsePtr& response) const;
  void capabilities(const std::string& agent, const ResponsePtr& response) const;
  void message(const http::Request& request, const ResponsePtr& response) const;
  void fork(const http::Request& request, const ResponsePtr& response) const;
  void decide(const http::Request& request, const ResponsePtr& response) const;
};

void AgentService::open(const std::shared_ptr<http::Request>& request,
                        const ResponsePtr& response) const {
  bodies.read(
      request->body.size(), response, [request] { return read_recorded_input(*request); },
      [weak = weak_from_this(), request](Result<run::AgentInput> input,
                                         const ResponsePtr& responder) {
        const auto self = weak.lock();
        if (!self) return (void)responder->send_error(make_error(Errc::engine_closed));
        if (!input) return (void)responder->send_error(input.error());
        const bool may_approve = !request->caller || request->caller->may(approve_scope);
        if (!input.value().resume_json.empty() && !may_approve) {
          return (void)responder->send_error(scope_missing(approve_scope));
        }
        self->answer(*request, std::move(input).value(), responder);
      });
}

void AgentService::answer(const http::Request& request, run::AgentInput input,
                          const ResponsePtr& response) const {
  auto wanted = read_on_disconnect(request);
  if (!wanted) return (void)response->send_error(wanted.error());
  const auto may_wait = read_busy(request);
  if (!may_wait) return (void)response->send_error(may_wait.error());
  const bool is_binary = wants_binary(request, input.protocol_version);
  run::StartRequest start;
  start.name = request.query_value("agent").value_or(context->options.agent);
  if (start.name.starts_with(own_prefix)) return send_unknown_agent(start.name, response);
  start.principal = caller_of(request);
  start.input = std::move(input);
  start.on_disconnect = wanted.value();
  start.may_wait = may_wait.value();
  // The agent that is configured may be registered later; one that a client names is not there.
  const std::string named = request.query_value("agent").value_or("");
  requests->open(std::move(start), [self = shared_from_this(), is_binary, named,
                                    response](Result<run::FoundRun> found) {
    if (!found && !named.empty() && found.error().code == Errc::agent_not_registered) {
      return self->send_unknown_agent(named, response);
    }
    if (!found) return (void)response->send_error(found.error());
    encoder::RecordedOptions options;
    options.is_binary = is_binary;
    self->read(found.value(), response, std::move(options));
  });
}

// What is not there is not there later either: unlike a run whose agent comes back.
void AgentService::send_unknown_agent(const std::string& name, const ResponsePtr& response) const {
  (void)response->send(404, json_headers(), http::error_body(unknown_agent(*context, name)));
}

void AgentService::read(const run::FoundRun& found, const ResponsePtr& response,
                        encoder::RecordedOptions options) const {
  RunReading reading;
  reading.before = found.before;
  reading.records = std::move(options);
  reading.records.one_run = found.one_run;
  reading.records.thread_id = found.thread_id;
  reading.on_leave = [weak = std::weak_ptr(requests), hub = found.hub, run = found.run] {
    if (const auto shared = weak.lock()) shared->left(*hub, run);
  };
  const auto reply = std::make_shared<RunReply>(context->loop, response, std::move(reading));
  if (auto started = reply->start(found); !started) (void)response->send_error(started.error());
}

void AgentService::connect(const http::Request& request, const ResponsePtr& response) const {
  os::RandomIds ids;
  auto given = run::read_connection(request.body, ids);
  if (!given) return (void)response->send_error(given.error());
  requests->connect(
      caller_of(request), given.value().thread_id,
      [self = shared_from_this(), response,
       is_binary = wants_binary(request, given.value().protocol_version),
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
        self->read(*thread.run, response, std::move(options));
      });
}

void AgentService::list(const http::Request& request, const ResponsePtr& response) const {
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
  requests->list(query, caller_of(request), send_run(response, 200));
}

void AgentService::show(const http::Request& request, const ResponsePtr& response) const {
  const std::string id = request.path_segment(id_place);
  const std::string thread = request.query_value("threadId").value_or("");
  if (wants_json(request)) {
    return requests->describe(id, caller_of(request), thread, send_run(response, 200));
  }
  auto options = read_options(request);
  if (!options) return (void)response->send_error(options.error());
  requests->find(id, caller_of(request), thread,
                 [self = shared_from_this(), response,
                  options = std::move(options).value()](Result<run::FoundRun> found) {
                   if (!found) return (void)response->send_error(found.error());
                   self->read(found.value(), response, options);
                 });
}

void AgentService::stop(const http::Request& request, const ResponsePtr& response) const {
  requests->stop(request.path_segment(id_place), caller_of(request),
                 request.query_value("threadId").value_or(""), "user_aborted",
                 send_run(response, 202));
}

// Of a function, what it does is not known.
void AgentService::capabilities(const std::string& agent, const ResponsePtr& response) const {
  const auto plans = context->runs->plans();
  const auto plan = plans.find(agent);
  if (plan != plans.end() && plan->second) {
    return (void)response->send(
        200, json_headers(),
        agent_capabilities(*plan->second, context->options.version, plan->second->max_turns));
  }
  const bool is_function = context->runs->kind_of(agent) == run::RunKind::function;
  if (!is_function || agent.starts_with(own_prefix)) return send_unknown_agent(agent, response);
  (void)response->send(200, json_headers(), function_capabilities(context->options.version));
}

void AgentService::message(const http::Request& request, const ResponsePtr& response) const {
  auto body = Tree::parse(request.body);
  if (!body) return (void)response->send_error(body.error());
  requests->send_message(request.path_segment(id_place), caller_of(request), body.value(),
                         send_run(response, 202));
}

void AgentService::fork(const http::Request& request, const ResponsePtr& response) const {
  auto body = Tree::parse(request.body);
  if (!body) return (void)response->send_error(body.error());
  requests->fork(request.path_segment(id_place), caller_of(request), body.value(),
                 send_run(response, 201));
}

void AgentService::decide(const http::Request& request, const ResponsePtr& response) const {
  auto entry = read_decision(request.body);
  if (!entry) return (void)response->send_error(entry.error());
  requests->decide(request.path_segment(id_place), request.path_segment(approval_place),
                   caller_of(request), std::move(entry).value(), send_run(response, 200));
}

}  // namespace

std::vector<ApiRoute> agent_routes(const ApiContextPtr& context) {
  const auto service = std::make_shared<const AgentService>(context);
  using Work = void (AgentService::*)(const http::Request&, const ResponsePtr&) const;
  const auto handler = [service](Work work) {
    return [service, work](http::Request&& request, const ResponsePtr& response) {
      (*service.*work)(request, response);
    };
  };
  const auto open = [service](http::Request&& request, const ResponsePtr& response) {
    // A function object must be copyable, and a body is not cheap to copy.
    const auto shared = std::make_shared<http::Request>(std::move(request));
    const auto work = [service, shared, response] { service->open(shared, response); };
    if (service->context->when_ready) return service->context->when_ready(work);
    work();
  };
  const auto describe = [service](http::Request&& request, const ResponsePtr& response) {
    const auto& options = service->context->options;
    const std::string agent = request.query_value("agent").value_or(options.agent);
    const auto work = [service, agent, response] { service->capabilities(agent, response); };
    if (service->context->when_ready) return service->context->when_ready(work);
    work();
  };
  return {
      {"POST", "/agent", "chat", "Runs the agent and gives its AG-UI events.", open, "AgentInput",
       "Any", 200, 0, "agent:string busy:string onDisconnect:string"},
      {"GET", "/agent/capabilities", "read", "What the agent can do, as AG-UI has it.", describe,
       "", "Any", 200, 0, "agent:string"},
      {"POST", "/agent/connect", "read", "The messages of a thread and the run that goes on there.",
       handler(&AgentService::connect), "AgentInput", "Any"},
      {"GET", "/agent/runs", "read", "Runs, the newest first.", handler(&AgentService::list), "",
       "Any", 200, 0, "state:string threadId:string cursor:string limit:integer children:string"},
      {"GET", "/agent/runs/{run_id}", "read",
       "The AG-UI events of a run, or with Accept: application/json its state.",
       handler(&AgentService::show), "", "Any", 200, 0,
       "after:integer fresh:string threadId:string protocolVersion:string"},
      {"DELETE", "/agent/runs/{run_id}", "chat", "Stops a run.", handler(&AgentService::stop), "",
       "Any", 202, 0, "threadId:string"},
      {"POST", "/agent/runs/{run_id}/messages", "chat", "Gives a run at work a message.",
       handler(&AgentService::message), "Any", "Any", 202},
      {"POST", "/agent/runs/{run_id}/fork", "chat", "Begins a new run from a record.",
       handler(&AgentService::fork), "Any", "Any", 201},
      {"POST", "/agent/runs/{run_id}/approvals/{approval_id}", approve_scope,
       "Answers an approval, once.", handler(&AgentService::decide), "Any", "Any"},
  };
}

}  // namespace millrace::api
