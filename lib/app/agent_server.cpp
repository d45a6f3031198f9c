#include "app/agent_server.hpp"

#include <arpa/inet.h>

#include <chrono>
#include <future>
#include <utility>
#include <vector>

#include "app/agent_server_state.hpp"
#include "app/demo_provider.hpp"
#include "app/demo_tools.hpp"
#include "app/open_stores.hpp"
#include "base/json.hpp"
#include "model/payload/request.hpp"
#include "run/plan.hpp"

namespace millrace::app {
namespace {

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24U) == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

model::CallChain chain_of(model::ProviderConfig config) {
  std::vector<model::CallLink> links;
  links.push_back({std::move(config), {}});
  return links;
}

}  // namespace

Result<void> AgentServer::State::open_demo() {
  demo = std::make_unique<http::Server>(loop);
  http::ServerOptions demo_options;
  demo_options.port = 0;
  auto demo_port = demo->listen(std::move(demo_options), demo_provider(loop));
  if (!demo_port) return std::move(demo_port).error();
  options.base_url = "http://127.0.0.1:" + std::to_string(demo_port.value());
  return {};
}

Result<void> AgentServer::State::open_provider() {
  auto name = model::read_model_name(options.model);
  if (!name) return std::move(name).error();
  model = name.value().model;
  std::string settings = "{";
  json::append_member(settings, "provider", name.value().provider);
  json::append_member(settings, "baseURL", options.base_url);
  json::append_member(settings, "apiKey", options.api_key);
  auto config = model::read_config(settings + "}");
  if (!config) return std::move(config).error();
  provider = std::move(config).value();
  // What is missing is told now and not with the first question.
  auto way = model::check_config(provider, model);
  if (!way) return std::move(way).error();
  return {};
}

// The chat route has every provider of the table; one without a key reports that with its answer.
Result<api::Served> AgentServer::State::read_served() const {
  api::Served served;
  served.model = {model, options.instructions, std::nullopt};
  if (provider.provider->dialect == model::Dialect::anthropic) {
    served.model.max_tokens = options.max_output_tokens;
  }
  served.version = options.version;
  served.max_steps = options.max_steps;
  for (const model::Provider& row : model::providers()) {
    auto config = model::config_of(row.id);
    if (config) {
      served.chats.insert_or_assign(std::string(row.id), chain_of(std::move(config).value()));
    }
  }
  for (const std::string& settings : options.providers) {
    auto config = model::read_config(settings);
    if (!config) return std::move(config).error();
    std::string id = config.value().id;
    served.chats.insert_or_assign(std::move(id), chain_of(std::move(config).value()));
  }
  served.chain = chain_of(provider);
  served.chats.insert_or_assign(provider.id, served.chain);
  return served;
}

// Without keys, any client that can reach the server may read and stop every run.
Result<void> AgentServer::State::open_storage() {
  if (options.storage.empty()) return {};
  if (!is_loopback(options.host)) {
    return make_error(Errc::invalid_option,
                      "A server that records runs listens on a loopback address alone, and '" +
                          options.host +
                          "' is none: any client that reaches it could read every run.");
  }
  json::Tree store = json::Tree::object();
  store.set("storage", options.storage);
  store.set("openTimeoutMs", json::Tree::integer(options.open_timeout_ms));
  auto store_options = read_store_options(store);
  if (!store_options) return std::move(store_options).error();
  auto writer = open_store(store_options.value());
  if (!writer) return std::move(writer).error();
  api::RecordingOptions recording;
  recording.writer = std::move(writer).value();
  recording.owner = owner_name();
  recording.on_disconnect =
      options.on_disconnect == "stop" ? api::OnDisconnect::stop : api::OnDisconnect::go_on;
  recording.left.most_time = std::chrono::milliseconds(options.left_timeout_ms);
  recording.left.most_runs = static_cast<std::size_t>(options.left_runs);
  routes.record_runs(recording);
  auto opened = StoreControl::open(loop, options.storage, [this] { return routes.run_requests(); });
  if (!opened) return std::move(opened).error();
  control = std::move(opened).value();
  return {};
}

Result<void> AgentServer::State::open_agent() {
  if (!options.tools.empty()) {
    auto made = run::agent_tools({loop, *client, pool});
    if (!made) return std::move(made).error();
    // Unknown names are told by the plan.
    own_tools = std::move(made).value();
  }
  if (demo) {
    for (const std::shared_ptr<tool::Tool>& each : demo_tools()) {
      MILLRACE_TRY(own_tools.add(each));
      options.tools.push_back(each->spec().name);
    }
  }
  auto made = make_plan();
  if (!made) return std::move(made).error();
  plan = std::move(made).value();
  routes.set_plan(plan, options.mcp.empty());
  if (options.mcp.empty()) return {};
  mcp = std::make_unique<McpServers>(loop, *client, std::move(options.mcp), [this] { on_mcp(); });
  loop.post([this] { mcp->start(); });
  return {};
}

// The agent with the tools that there are at the moment.
Result<std::shared_ptr<const run::AgentPlan>> AgentServer::State::make_plan() const {
  tool::Registry all = own_tools;
  std::vector<std::string> wanted = options.tools;
  if (mcp) {
    for (const std::shared_ptr<tool::Tool>& remote : mcp->tools()) {
      // Names of other servers cannot be taken; a server's own two of the same name were one.
      if (all.add(remote)) wanted.push_back(remote->spec().name);
    }
  }
  json::Tree given = json::Tree::object();
  json::Tree link = json::Tree::object();
  link.set("provider", provider.id);
  link.set("baseURL", options.base_url);
  link.set("apiKey", options.api_key);
  link.set("model", model);
  given.set("chain", json::Tree::array()).push(std::move(link));
  if (provider.provider->dialect == model::Dialect::anthropic) {
    given.at("payload").set("max_tokens", json::Tree::integer(options.max_output_tokens));
  }
  given.set("instructions", options.instructions);
  given.set("approval", options.approval);
  given.at("limits").set("maxSteps", json::Tree::integer(options.max_steps));
  given.set("builtin", json::Tree::array());
  for (const std::string& name : wanted) given.at("builtin").push(json::Tree::text(name));
  return run::read_agent_plan(given.to_json(), {all});
}

// Runs that are on their way keep the tools that they began with.
void AgentServer::State::on_mcp() {
  auto made = make_plan();
  if (made) plan = std::move(made).value();
  routes.set_plan(plan, mcp->settled());
}

Result<void> AgentServer::State::open() {
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
  if (options.model.starts_with("demo:") && options.base_url.empty()) MILLRACE_TRY(open_demo());
  MILLRACE_TRY(open_provider());
  auto served = read_served();
  if (!served) return std::move(served).error();
  routes.open(*client, std::move(served).value());
  MILLRACE_TRY(open_storage());
  MILLRACE_TRY(open_agent());

  http::ServerOptions server_options;
  server_options.host = options.host;
  server_options.port = options.port;
  server_options.allowed_hosts = options.allowed_hosts;
  server_options.allowed_origins = options.allowed_origins;
  server = std::make_unique<http::Server>(loop);
  auto listening = server->listen(std::move(server_options), routes.router());
  if (!listening) return std::move(listening).error();
  port = listening.value();
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

AgentServer::~AgentServer() {
  // Another thread may be waiting for answers.
  expedite();
  stop_within(0);
}

std::uint16_t AgentServer::port() const {
  return state_->port;
}

std::string AgentServer::mcp_status() const {
  const std::lock_guard lock(state_->mcp_ending);
  return state_->mcp ? state_->mcp->status_json() : "[]";
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
