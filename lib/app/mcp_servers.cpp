#include "app/mcp_servers.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "os/event_loop.hpp"
#include "os/timer.hpp"

namespace millrace::app {
namespace {

using json::Tree;
using Clock = os::Timer::Clock;

// A server that announces changes without end is asked no more often than this.
constexpr std::chrono::seconds between_lists{1};
constexpr std::chrono::seconds first_pause{5};
constexpr std::chrono::seconds longest_pause{60};
// What servers have to tell their tools while requests wait for them.
constexpr std::chrono::seconds grace_period{10};

enum class Phase : std::uint8_t { starting, unauthorized, ready, failed };

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::starting: return "starting";
    case Phase::unauthorized: return "unauthorized";
    case Phase::ready: return "ready";
    case Phase::failed: break;
  }
  return "failed";
}

}  // namespace

// One server. Calls of the client's host come while the client is at work: what would end it is
// posted.
class McpServers::Connection final : public mcp::ClientHost,
                                     public std::enable_shared_from_this<Connection> {
 public:
  Connection(os::EventLoop& loop, net::Client& http, McpServerOptions options, McpServers& owner)
      : loop_(loop),
        http_(http),
        options_(std::move(options)),
        owner_(owner),
        list_timer_(loop, [this] { list(); }),
        listen_timer_(loop, [this] { listen(); }),
        retry_timer_(loop, [this] { connect(); }) {}

  ~Connection() override {
    if (client_) client_->end();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void connect() {
    if (client_) client_->end();
    drop_refusal();
    listing_ = listening_ = 0;
    client_ = std::make_shared<mcp::Client>(loop_, http_, options_.client,
                                            static_cast<mcp::ClientHost&>(*this));
    calls_ = std::make_shared<mcp::RemoteCalls>(client_);
    const auto held = client_;
    held->start();
  }

  void close(std::function<void()> done) {
    for (os::Timer* timer : {&list_timer_, &listen_timer_, &retry_timer_}) timer->cancel();
    is_closing_ = true;
    done_ = std::move(done);
    if (!client_ || phase() == Phase::failed) return finish();
    const auto held = client_;
    held->close();
  }

  void authorize(std::vector<mcp::HttpField> headers) {
    if (!drop_refusal()) return;
    options_.client.http.authorization = headers;
    const auto held = client_;
    held->authorize(std::move(headers));
  }

  void reject_authorization(std::string message) {
    if (!drop_refusal()) return;
    const auto held = client_;
    held->reject_authorization(make_error(Errc::mcp_unauthorized, std::move(message)));
  }

  [[nodiscard]] const std::string& name() const { return options_.rules.server; }
  [[nodiscard]] Phase phase() const {
    const std::lock_guard lock(mutex_);
    return phase_;
  }
  [[nodiscard]] const std::vector<std::shared_ptr<tool::Tool>>& tools() const { return tools_; }

  [[nodiscard]] Tree status() const {
    const std::lock_guard lock(mutex_);
    Tree entry = Tree::object();
    entry.set("name", options_.rules.server);
    entry.set("state", name_of(phase_));
    entry.set("tools", Tree::integer(static_cast<std::int64_t>(count_)));
    if (refusal_) {
      entry.at("refusal").set("number", Tree::integer(refusal_->number));
      entry.at("refusal").set("status", Tree::integer(refusal_->status));
      entry.at("refusal").set("challenge", refusal_->challenge);
    }
    for (const std::string& note : notes_) entry.at("notes").push(Tree::text(note));
    if (!error_) return entry;
    entry.at("error").set("code", error_->code_name());
    entry.at("error").set("message", error_->message);
    return entry;
  }

 private:
  void opened(std::string_view info_json) override {
    const auto info = Tree::parse(info_json);
    const Tree known = info ? info.value() : Tree();
    pause_ = first_pause;
    if (!known["capabilities"]["tools"].is_object()) return settle({});
    is_per_request_ = known["protocolVersion"].string() == mcp::per_request_version;
    list();
    listen();
  }

  void settled(mcp::CallId call, mcp::Outcome outcome) override {
    if (calls_->settled(call, outcome)) return;
    if (call == listening_) return listened(outcome);
    if (call != listing_) return;
    listing_ = 0;
    next_list_at_ = Clock::now() + between_lists;
    if (std::exchange(lists_again_, false)) list_timer_.start_at(*next_list_at_);
    if (outcome.error) return list_failed(*outcome.error);
    auto listed = Tree::parse(outcome.result_json);
    if (!listed) return list_failed(listed.error());
    auto described = mcp::remote_tools(listed.value(), options_.rules);
    if (!described) return list_failed(described.error());
    {
      const std::lock_guard lock(mutex_);
      notes_ = mcp::left_out_tools(listed.value(), options_.rules);
    }
    std::vector<mcp::RemoteTool> tools = std::move(described).value();
    // The first description is the one that is trusted or not; another one is asked for.
    for (const mcp::RemoteTool& remote : tools) {
      options_.rules.known.emplace(remote.spec.name, remote.fingerprint);
    }
    settle(std::move(tools));
  }

  void notified(std::string_view method, std::string_view) override {
    if (method != "notifications/tools/list_changed") return;
    if (listing_ != 0) {
      lists_again_ = true;
    } else if (!list_timer_.is_running()) {
      const auto now = Clock::now();
      list_timer_.start_at(std::max(now, next_list_at_.value_or(now)));
    }
  }

  void progressed(mcp::CallId call, std::string_view params_json) override {
    calls_->progressed(call, params_json);
  }

  // Nobody is here to be asked.
  void server_requested(mcp::ServerRequestId server_request, mcp::CallId, std::string_view method,
                        std::string_view) override {
    loop_.post(
        [client = client_, server_request, text = "No handler for " + std::string(method) + "."] {
          client->reject(server_request, mcp::rpc_code::method_not_found, text);
        });
  }
  void withdrawn(mcp::ServerRequestId) override {}

  void unauthorized(int status, std::string_view challenge) override {
    if (options_.host_authorizes) {
      {
        const std::lock_guard lock(mutex_);
        if (refusal_) return;
        refusal_ = Refusal{++refusals_, status, std::string(challenge)};
      }
      // Its tools stay, and their calls wait; one that was never open holds up nobody.
      if (phase() != Phase::ready) note(Phase::unauthorized, 0, std::nullopt);
      return;
    }
    loop_.post([client = client_, status] {
      client->reject_authorization(make_error(
          Errc::mcp_unauthorized, "The MCP server requires authorization (HTTP status " +
                                      std::to_string(status) + "): give it in `headers`."));
    });
  }

  void failed(Error error) override {
    calls_->end(error);
    if (is_closing_) return finish();
    retry_timer_.start_at(Clock::now() + pause_);
    pause_ = std::min(pause_ * 2, longest_pause);
    tools_.clear();
    note(Phase::failed, 0, std::move(error));
  }

  void closed() override { finish(); }

  void list() {
    if (is_closing_ || listing_ != 0) return;
    mcp::CallSpec call_spec;
    call_spec.method = "tools/list";
    call_spec.list_key = "tools";
    listing_ = ++last_call_;
    const auto held = client_;
    held->call(listing_, std::move(call_spec));
  }

  // From 2026-07-28 on changes are told on a stream that is asked for.
  void listen() {
    if (is_closing_ || !is_per_request_ || listening_ != 0) return;
    mcp::CallSpec call_spec;
    call_spec.method = "subscriptions/listen";
    call_spec.params_json = R"({"notifications":{"toolsListChanged":true}})";
    call_spec.timeout = std::chrono::milliseconds(0);
    listening_ = ++last_call_;
    const auto held = client_;
    held->call(listening_, std::move(call_spec));
  }

  void listened(const mcp::Outcome& outcome) {
    listening_ = 0;
    // A server that knows no such stream says so, and is not asked again.
    if (outcome.error && outcome.error->code == Errc::mcp_error) return;
    if (!is_closing_) listen_timer_.start_at(Clock::now() + first_pause);
  }

  void list_failed(const Error& error) {
    if (phase() == Phase::ready) return;  // the tools that are known stay
    list_timer_.start_at(Clock::now() + pause_);
    pause_ = std::min(pause_ * 2, longest_pause);
    note(Phase::failed, 0, error);
  }

  void settle(std::vector<mcp::RemoteTool> remotes) {
    tools_.clear();
    for (mcp::RemoteTool& remote : remotes) {
      tools_.push_back(mcp::make_tool(std::move(remote), [calls = calls_] { return calls; }));
    }
    note(Phase::ready, tools_.size(), std::nullopt);
  }

  void note(Phase phase, std::size_t count, std::optional<Error> error) {
    {
      const std::lock_guard lock(mutex_);
      phase_ = phase;
      count_ = count;
      error_ = std::move(error);
    }
    owner_.changed_();
  }

  // True when there was one.
  bool drop_refusal() {
    const std::lock_guard lock(mutex_);
    return std::exchange(refusal_, std::nullopt).has_value();
  }

  void finish() {
    calls_->end(make_error(Errc::mcp_connection_failed, "The MCP client is closed."));
    if (done_) std::exchange(done_, nullptr)();
  }

  os::EventLoop& loop_;
  net::Client& http_;
  McpServerOptions options_;
  McpServers& owner_;
  os::Timer list_timer_;
  os::Timer listen_timer_;
  os::Timer retry_timer_;
  std::chrono::seconds pause_ = first_pause;
  std::shared_ptr<mcp::Client> client_;
  std::shared_ptr<mcp::RemoteCalls> calls_ = std::make_shared<mcp::RemoteCalls>(client_);
  std::vector<std::shared_ptr<tool::Tool>> tools_;
  mcp::CallId last_call_ = 0;
  mcp::CallId listing_ = 0;  // the call that runs, or 0
  mcp::CallId listening_ = 0;
  std::optional<Clock::time_point> next_list_at_;  // at the earliest, once there was a list
  bool lists_again_ = false;
  bool is_per_request_ = false;
  bool is_closing_ = false;
  std::function<void()> done_;

  struct Refusal {
    std::int64_t number;
    std::int64_t status;
    std::string challenge;
  };

  mutable std::mutex mutex_;  // of what status() tells
  std::optional<Refusal> refusal_;
  std::int64_t refusals_ = 0;
  Phase phase_ = Phase::starting;
  std::size_t count_ = 0;
  std::vector<std::string> notes_;  // of the tools that are left out
  std::optional<Error> error_;
};

McpServers::McpServers(os::EventLoop& loop, net::Client& http,
                       std::vector<McpServerOptions> servers, std::function<void()> changed)
    : loop_(loop),
      grace_timer_(loop,
                   [this] {
                     is_patient_ = false;
                     changed_();
                   }),
      changed_(std::move(changed)) {
  for (McpServerOptions& server : servers) {
    connections_.push_back(std::make_shared<Connection>(loop, http, std::move(server), *this));
  }
}

McpServers::~McpServers() = default;

void McpServers::start() {
  grace_timer_.start_at(Clock::now() + grace_period);
  for (const auto& connection : connections_) connection->connect();
}

bool McpServers::settled() const {
  return !is_patient_ ||
         std::none_of(connections_.begin(), connections_.end(), [](const auto& connection) {
           return connection->phase() == Phase::starting;
         });
}

std::vector<std::shared_ptr<tool::Tool>> McpServers::tools() const {
  std::vector<std::shared_ptr<tool::Tool>> all;
  for (const auto& connection : connections_) {
    all.insert(all.end(), connection->tools().begin(), connection->tools().end());
  }
  return all;
}

void McpServers::close(const std::function<void()>& done) {
  grace_timer_.cancel();
  const auto open = std::make_shared<std::size_t>(connections_.size());
  if (*open == 0) return done();
  for (const auto& connection : connections_) {
    connection->close([open, done] {
      if (--*open == 0) done();
    });
  }
}

std::shared_ptr<McpServers::Connection> McpServers::find(std::string_view server) const {
  const auto at =
      std::find_if(connections_.begin(), connections_.end(),
                   [&](const auto& connection) { return connection->name() == server; });
  return at == connections_.end() ? nullptr : *at;
}

void McpServers::authorize(std::string_view server, std::vector<mcp::HttpField> headers) {
  loop_.post([known = std::weak_ptr(find(server)), headers = std::move(headers)]() mutable {
    if (const auto connection = known.lock()) connection->authorize(std::move(headers));
  });
}

void McpServers::reject_authorization(std::string_view server, std::string message) {
  loop_.post([known = std::weak_ptr(find(server)), message = std::move(message)]() mutable {
    if (const auto connection = known.lock()) connection->reject_authorization(std::move(message));
  });
}

std::string McpServers::status_json() const {
  Tree list = Tree::array();
  for (const auto& connection : connections_) list.push(connection->status());
  return list.to_json(json::Surrogates::replace);
}

}  // namespace millrace::app
