#include "app/agent_server.hpp"

#include <chrono>
#include <future>
#include <utility>

#include "app/agent_server_state.hpp"
#include "app/demo_provider.hpp"
#include "app/open_stores.hpp"
#include "base/error_json.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "os/protected_files.hpp"

namespace millrace::app {
namespace {

api::ApiOptions api_options_of(const AgentServerOptions& options) {
  api::ApiOptions api;
  for (const std::string& key : options.api_keys) {
    api.keys.push_back({"server", sha256_hex(key), api.principal, {}});
  }
  api.keys.insert(api.keys.end(), options.keys.begin(), options.keys.end());
  api.keys_file = options.keys_file;
  api.files = path_of(options.storage);
  api.origins = options.allowed_origins;
  api.page = options.page;
  api.shows_page = options.shows_page;
  api.has_openapi = options.has_openapi;
  api.tools = options.exposed;
  api.webhook_secrets = options.webhook_secrets;
  api.makes_titles = options.makes_titles && !is_demo(options);
  api.makes_objects = true;
  api.upload_folder = folder_of(options.storage);
  return api;
}

// Without keys, any client that can reach the server may read and stop every run.
Result<void> check_reach(const AgentServerOptions& options) {
  if (options.storage.empty() || http::is_loopback_name(options.host)) return {};
  if (api::ApiKeys(api_options_of(options)).are_needed()) return {};
  return make_error(Errc::invalid_option,
                    "A server that records runs and has no key listens on a loopback address "
                    "alone, and '" +
                        options.host +
                        "' is none: any client that reaches it could read every run.");
}

// What stays as it is while a server runs.
void keep_fixed(AgentServerOptions& next, const AgentServerOptions& now) {
  next.host = now.host;
  next.port = now.port;
  next.ca_file = now.ca_file;
  next.extra_ca_files = now.extra_ca_files;
  next.version = now.version;
  next.mcp.clear();
  next.skills = now.skills;
  next.storage = now.storage;
  next.retention = now.retention;
  next.open_timeout_ms = now.open_timeout_ms;
  next.on_disconnect = now.on_disconnect;
  next.approval_timeout_ms = now.approval_timeout_ms;
  next.left_timeout_ms = now.left_timeout_ms;
  next.left_runs = now.left_runs;
  next.page = now.page;
  next.drain_ms = now.drain_ms;
}

}  // namespace

Result<void> AgentServer::State::open_demo(const AgentServerOptions& wanted) {
  if (demo || !is_demo(wanted)) return {};
  demo = std::make_unique<http::Server>(loop);
  http::ServerOptions demo_options;
  demo_options.port = 0;
  auto demo_port = demo->listen(std::move(demo_options), demo_provider(loop));
  if (!demo_port) return std::move(demo_port).error();
  demo_url = "http://127.0.0.1:" + std::to_string(demo_port.value());
  return {};
}

Result<StoreOptions> AgentServer::State::store_options() const {
  json::Tree store = json::Tree::object();
  store.set("storage", options.storage);
  store.set("openTimeoutMs", json::Tree::integer(options.open_timeout_ms));
  if (!options.retention.empty()) {
    auto retention = json::Tree::parse(options.retention);
    if (!retention) return std::move(retention).error();
    store.set("retention", std::move(retention).value());
  }
  return read_store_options(store);
}

Result<void> AgentServer::State::open_storage() {
  if (options.storage.empty()) return {};
  MILLRACE_TRY(check_reach(options));
  auto store = store_options();
  if (!store) return std::move(store).error();
  store.value().on_lost_commits = [this](const Error& error) {
    note_loss("Commits are missing", error.message);
  };
  auto writer = open_store(store.value());
  if (!writer) return std::move(writer).error();
  api::RecordingOptions recording;
  recording.writer = std::move(writer).value();
  recording.owner = owner_name();
  recording.stops_left = options.on_disconnect == "stop";
  recording.approval_ms = options.approval_timeout_ms;
  recording.left.most_time = std::chrono::milliseconds(options.left_timeout_ms);
  recording.left.most_runs = static_cast<std::size_t>(options.left_runs);
  recording.retention = store.value().retention;
  recording.on_error = [this](const std::optional<store::RunId>& run, const Error& error) {
    note_problem(run, error);
  };
  recording.on_loss = [this](const std::string& what, std::string_view why) {
    note_loss(what, why);
  };
  routes.record_runs(recording, api_options_of(options));
  auto opened = StoreControl::open(loop, options.storage, [this] { return routes.run_requests(); });
  if (!opened) return std::move(opened).error();
  control = std::move(opened).value();
  return {};
}

void AgentServer::State::note_problem(const std::optional<store::RunId>& run, const Error& error) {
  std::string problem = error_json(error);
  if (run) {
    problem.pop_back();
    json::append_member(problem, "run", run->text());
    problem.push_back('}');
  }
  note(std::move(problem));
}

void AgentServer::State::note_loss(std::string_view what, std::string_view why) {
  std::string problem = "{";
  json::append_member(problem, "what", what);
  json::append_member(problem, "message", why);
  note(problem + "}");
}

void AgentServer::State::note(std::string problem) {
  const std::lock_guard lock(noting);
  if (noted.insert(problem).second) problems.push_back(std::move(problem));
}

// What may fail comes first; then everything changes before the next request is read.
Result<void> AgentServer::State::change(AgentServerOptions next) {
  keep_fixed(next, options);
  MILLRACE_TRY(check_reach(next));
  auto made = read_agent(next);
  if (!made) return std::move(made).error();
  auto served = read_served(next, made.value());
  if (!served) return std::move(served).error();
  auto planned = make_plan(next, made.value());
  if (!planned) return std::move(planned).error();
  auto access = server->prepare_access(next.allowed_hosts, next.allowed_origins);
  if (!access) return std::move(access).error();
  auto logged = log->prepare({next.access_log, next.trusted_proxies});
  if (!logged) return std::move(logged).error();
  for (const std::string& file : next.protected_files) os::protect_file(file);
  options = std::move(next);
  agent = std::move(made).value();
  plan = std::move(planned).value();
  access.value()();
  logged.value()();
  routes.change(std::move(served).value(), api_options_of(options));
  routes.set_plan(plan, !mcp || mcp->settled());
  return {};
}

void AgentServer::State::begin() {
  net::ClientOptions client_options;
  client_options.ca_file = options.ca_file;
  client_options.extra_ca_files = options.extra_ca_files;
  // Deltas are small, and an idle stream should be cheap.
  client_options.receive_buffer_bytes = 4096;
  client_options.user_agent = "millrace/" + options.version;
  // Nothing waits, but chats that are still to begin are read ahead of those that have.
  client = std::make_unique<net::Client>(loop, client_options,
                                         [] { return std::chrono::microseconds{0}; });
  loop.start();
  is_running = true;
}

Result<api::Served> AgentServer::State::read_options() {
  auto made = read_agent(options);
  if (!made) return std::move(made).error();
  agent = std::move(made).value();
  return read_served(options, agent);
}

http::ServerOptions AgentServer::State::http_options() const {
  http::ServerOptions server_options;
  server_options.host = options.host;
  server_options.port = options.port;
  server_options.allowed_hosts = options.allowed_hosts;
  server_options.allowed_origins = options.allowed_origins;
  return server_options;
}

Result<void> AgentServer::State::open() {
  for (const std::string& file : options.protected_files) os::protect_file(file);
  begin();
  MILLRACE_TRY(open_demo(options));
  auto served = read_options();
  if (!served) return std::move(served).error();
  routes.open(*client, std::move(served).value());
  auto opened = api::AccessLog::open(pool, {options.access_log, options.trusted_proxies});
  if (!opened) return std::move(opened).error();
  log = std::move(opened).value();
  routes.observe(log);
  MILLRACE_TRY(open_storage());
  MILLRACE_TRY(open_agent());

  server = std::make_unique<http::Server>(loop);
  auto listening = server->listen(http_options(), routes.router());
  if (!listening) return std::move(listening).error();
  port = listening.value();
  loop.post([this, host = options.host] { routes.show_address(host, port); });
  return {};
}

// In the order of open(), so that both report the same first error.
Result<void> AgentServer::State::check() {
  begin();
  if (is_demo(options)) demo_url = "http://127.0.0.1:1";  // nothing is sent to it
  auto served = read_options();
  if (!served) return std::move(served).error();
  MILLRACE_TRY(api::AccessLog::check({options.access_log, options.trusted_proxies}));
  if (!options.storage.empty()) {
    auto store = store_options();
    if (!store) return std::move(store).error();
  }
  auto planned = make_plan(options, agent);
  if (!planned) return std::move(planned).error();
  auto access = http::AccessList::make(http_options(), options.port);
  if (!access) return std::move(access).error();
  return {};
}

// Sessions and programs end in good order, or not at all within the time that they may take.
void AgentServer::State::close_mcp() {
  constexpr std::chrono::milliseconds look{100};
  constexpr int looks = 50;
  const auto closed = std::make_shared<std::promise<void>>();
  loop.post([this, closed] { mcp->close([closed] { closed->set_value(); }); });
  const auto future = closed->get_future();
  for (int count = 0; count < looks && !hurried; ++count) {
    if (future.wait_for(look) == std::future_status::ready) return;
  }
}

AgentServer::AgentServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<AgentServer>> AgentServer::start(AgentServerOptions options) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  std::unique_ptr<AgentServer> server(new AgentServer(std::move(state)));
  if (auto opened = server->state_->open(); !opened) return std::move(opened).error();
  return server;
}

Result<void> AgentServer::check(AgentServerOptions options) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  const AgentServer server(std::move(state));
  return server.state_->check();
}

AgentServer::~AgentServer() {
  // Another thread may be waiting for answers.
  expedite();
  stop_within(0);
}

std::uint16_t AgentServer::port() const {
  return state_->port;
}

Result<void> AgentServer::change(AgentServerOptions options) {
  const std::unique_lock lock(state_->stopping, std::try_to_lock);
  if (!lock.owns_lock() || !state_->is_running) {
    return make_error(Errc::invalid_state, "The server stops.");
  }
  MILLRACE_TRY(state_->open_demo(options));
  std::promise<Result<void>> changed;
  state_->loop.post([state = state_.get(), &changed, &options] {
    changed.set_value(state->change(std::move(options)));
  });
  return changed.get_future().get();
}

std::string AgentServer::mcp_status() const {
  const std::lock_guard lock(state_->mcp_ending);
  return state_->mcp ? state_->mcp->status_json() : "[]";
}

std::string AgentServer::take_problems() {
  const std::lock_guard lock(state_->noting);
  std::string list = "[";
  for (const std::string& problem : std::exchange(state_->problems, {})) {
    if (list.size() > 1) list.push_back(',');
    list += problem;
  }
  return list + "]";
}

void AgentServer::set_skills(std::string json) {
  state_->loop.post([state = state_.get(), json = std::move(json)] {
    state->options.skills = json;
    state->routes.set_skills(json);
    state->renew_plan();
  });
}

void AgentServer::authorize_mcp(std::string_view server, std::vector<mcp::HttpField> headers) {
  const std::lock_guard lock(state_->mcp_ending);
  if (state_->mcp) state_->mcp->authorize(server, std::move(headers));
}

void AgentServer::reject_mcp(std::string_view server, std::string message) {
  const std::lock_guard lock(state_->mcp_ending);
  if (state_->mcp) state_->mcp->reject_authorization(server, std::move(message));
}

void AgentServer::expedite() {
  state_->hurried = true;
  state_->loop.post([state = state_.get()] {
    if (state->server) state->server->stop(std::chrono::milliseconds(0), {});
  });
}

void AgentServer::stop() {
  stop_within(state_->options.drain_ms);
}

// The engine thread lets go of recorded runs before what they use ends: they go on at the next
// start, and record no failure.
void AgentServer::State::close_routes() {
  if (!std::exchange(is_running, false)) return;
  std::promise<void> closed;
  loop.post([this, &closed] {
    routes.close();
    closed.set_value();
  });
  closed.get_future().wait();
}

void AgentServer::stop_within(std::int64_t drain_ms) {
  const std::lock_guard lock(state_->stopping);
  const auto stop = [drain_ms](http::Server* server) {
    if (server == nullptr) return;
    std::promise<void> stopped;
    server->stop(std::chrono::milliseconds(drain_ms), [&stopped] { stopped.set_value(); });
    stopped.get_future().wait();
  };
  stop(state_->server.get());
  state_->control.reset();
  state_->close_routes();
  stop(state_->demo.get());
  if (state_->mcp && drain_ms > 0) state_->close_mcp();
  state_->loop.stop();
  state_->server.reset();
  state_->demo.reset();
  {
    const std::lock_guard ending(state_->mcp_ending);
    state_->mcp.reset();
  }
  state_->client.reset();
}

}  // namespace millrace::app
