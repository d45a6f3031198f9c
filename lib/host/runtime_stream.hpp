// A runtime of JavaScript: one store, the agents that this environment registered in it, and what
// their runs ask of JavaScript, whether anybody reads the runs or not.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_tree.hpp"
#include "host/host_task.hpp"
#include "host/opening_order.hpp"
#include "host/runtime_api.hpp"
#include "os/timer.hpp"
#include "run/durable/route_services.hpp"
#include "run/durable/run_registry.hpp"
#include "run/durable/run_requests.hpp"
#include "run/durable/run_upkeep.hpp"
#include "store/store_work.hpp"

namespace millrace::host {

struct RuntimeSpec {
  // Blocks; called on a thread of its own.
  std::function<Result<std::shared_ptr<store::Writer>>()> open;
  std::string owner;       // the name of this environment in the store
  bool is_shared = false;  // others of this process may have it open
  run::LeftLimits left = {};
  std::chrono::milliseconds reader_stall{60'000};  // that a reader may leave its bytes unread
  run::StartRules starts = {};
  bool demands_versions = false;  // as run::RunRegistry
  store::SweepPolicy retention = {};
  // Makes the store's owner reachable for other processes until what it gives ends, which is before
  // the loop does; may be empty. Called on the engine thread.
  using FindRequests = std::function<std::shared_ptr<run::RunRequests>()>;
  std::function<Result<std::shared_ptr<void>>(FindRequests find)> control = {};
  // Makes the routes of the runtime, once they are used.
  std::function<std::shared_ptr<RuntimeApi>(run::RouteServices services)> api = {};
};

// Items: {"type":"@opened"}; {"type":"@busy","runs": number at work here}, after each change;
// {"type":"@registered"} once what was left of an agent's runs is taken over; {"type":"@tool" |
// "@model" | "@function","id","run","agent","value": AgentOwner::request_host};
// {"type":"@ask","id","kind","value"}: of the routes, as js/runtime/api-calls.ts has them;
// {"type":"@withdraw","id"}; {"type":"@notice","id","value": AgentOwner::notify};
// {"type":"@answer","id": of the command,"value"};
// {"type":"@refused","id": of the command,"error": error_json}; {"type":"@problem","run"?,"error"}.
// The stream ends with an error where the store cannot be opened, else after "close".
//
// Commands, whose options are JSON: "open"; "get" {"run", "principal"?}; "list" as read_run_query,
// with "principal"?; "stop" {"run", "reason"?}; "delete" {"run"}; "approvals" {"run"?,
// "principal"?, "all"?: boolean}; "decide" {"approval", "entry": AG-UI's resume entry}; "send"
// {"run", "event", "payload"}; "message" {"run", "principal"?} as RunRequests::send_message;
// "listen" as RuntimeApi::listen; "unlisten" {"port", "drainMs"?}; "records" {"run", "after"} as
// read_records_json; "messages" {"run"} as read_given_messages; "fork" {"run", "principal"?}
// and as read_fork; "replay" {"run", "principal"?, "as", "version"?}, which gives the bytes of
// replay_run as a text, in base64 where they are none; "close" {"drainMs"?}; those of
// run/durable/chat_storage.hpp.
// Thread: engine thread, but for the destructor, which needs the loop stopped or runs there.
class RuntimeStream final : public HostTask, public std::enable_shared_from_this<RuntimeStream> {
 public:
  // Gets why the store is not open, or null.
  using Ready = std::function<void(const Error* error)>;

  RuntimeStream(DrainQueue::StreamId id, HostServices& services, RuntimeSpec spec);
  ~RuntimeStream() override;
  RuntimeStream(const RuntimeStream&) = delete;
  RuntimeStream& operator=(const RuntimeStream&) = delete;

  void start();
  // Reports what is gone for good, which stops nothing.
  void report_loss(std::string_view what, const Error& error);
  // Makes runs of the name possible, and goes on with those that were left.
  void add(const std::string& name, run::DurableAgent agent);

  // Calls `ready` once the store is open, at once where it is.
  void when_open(Ready ready);
  [[nodiscard]] const std::shared_ptr<OpeningOrder>& openings() const { return openings_; }
  [[nodiscard]] std::chrono::milliseconds reader_stall() const { return spec_.reader_stall; }
  // Only while the store is open.
  [[nodiscard]] run::RunRegistry& runs() { return *runs_; }
  [[nodiscard]] run::RunRequests& requests() { return *requests_; }
  [[nodiscard]] const http::Router& routes();
  // Called with what `work` gives, on the engine thread, unless the runtime is gone.
  template <class T>
  void with_store(std::function<T(store::StorageBackend&)> work, std::function<void(T)> done) {
    store::on_store<T>(*writer_, services_.loop, std::move(work),
                       [weak = weak_from_this(), done = std::move(done)](T given) {
                         if (weak.lock()) done(std::move(given));
                       });
  }
  // Reads what others record of a run, for as long as the hub has readers.
  void follow(const store::RunId& run, const std::shared_ptr<run::RunHub>& hub);
  // Calls `closed` when the runtime is closed, whose hubs give nothing more.
  void join(DrainQueue::StreamId reader, std::function<void(const Error& error)> closed) {
    readers_.insert_or_assign(reader, std::move(closed));
  }
  void leave(DrainQueue::StreamId reader) { readers_.erase(reader); }

  // Ends what is at work here and gives it back.
  // Thread: any, once the loop has stopped.
  void end();
  void let_go_of_runs();
  // Gives back what is at work here, so that others go on with it, and waits a while for that.
  // Nothing is given to the store afterwards.
  // Thread: any, once the loop has stopped.
  void release();

  void read_as(const PipeSpec& spec) override { static_cast<void>(spec); }
  void resume() override {}
  void cancel() override;
  void silence() override { closed_ = true; }
  void command(const HostCommand& command) override;
  void complete(std::uint64_t id, std::string_view json) override;

 private:
  // The requests of one agent's runs, which JavaScript answers by its name.
  class Host;
  struct Request {
    store::RunId run;
    std::uint64_t id = 0;
  };
  using Reply = std::function<void(Result<json::Tree>)>;
  using Handler = void (RuntimeStream::*)(const json::Tree& options, const Reply& reply);
  static const std::map<std::string_view, Handler>& handlers();

  void opened(Result<std::shared_ptr<store::Writer>> writer);
  void open_control();
  void settle_waiting(const Error* error);
  void push(const std::string& item);
  void request(const std::string& agent, const store::RunId& run, run::HostWork work,
               std::uint64_t id, const std::string& json);
  void withdraw(const store::RunId& run, std::uint64_t id);
  void notify(const store::RunId& run, std::uint64_t id, const std::string& json);
  [[nodiscard]] std::uint64_t pending_of(const store::RunId& run, std::uint64_t id) const;
  void forget_pending(std::uint64_t known);
  RuntimeApi& api();
  void ask(std::string_view kind, const json::Tree& value, run::RouteServices::Reply reply);
  // False when the routes asked nothing of this id.
  bool answer_ask(std::uint64_t id, std::string_view json);
  void count_work();
  void tick();
  void poll();

  void do_open(const json::Tree& options, const Reply& reply);
  void do_get(const json::Tree& options, const Reply& reply);
  void do_list(const json::Tree& options, const Reply& reply);
  void do_stop(const json::Tree& options, const Reply& reply);
  void do_delete(const json::Tree& options, const Reply& reply);
  void do_approvals(const json::Tree& options, const Reply& reply);
  void do_decide(const json::Tree& options, const Reply& reply);
  void do_listen(const json::Tree& options, const Reply& reply);
  void do_pipelines(const json::Tree& options, const Reply& reply);
  void do_unlisten(const json::Tree& options, const Reply& reply);
  void do_send(const json::Tree& options, const Reply& reply);
  void do_message(const json::Tree& options, const Reply& reply);
  void do_fork(const json::Tree& options, const Reply& reply);
  void do_replay(const json::Tree& options, const Reply& reply);
  void do_records(const json::Tree& options, const Reply& reply);
  void do_messages(const json::Tree& options, const Reply& reply);
  void do_close(const json::Tree& options, const Reply& reply);
  // storage_commands.cpp
  static bool has_storage_command(std::string_view name);
  void do_storage(std::string_view name, const json::Tree& options, const Reply& reply);
  void shut(const Reply& reply);
  void shut_store(const Reply& reply);
  void on_closing(const std::string& owner, std::function<void()> then);
  void close_store(const Reply& reply);
  void abandon(std::shared_ptr<store::Writer> writer);

  DrainQueue::StreamId id_;
  HostServices& services_;
  RuntimeSpec spec_;
  std::shared_ptr<store::Writer> writer_;
  std::shared_ptr<store::Writer> closing_;
  std::map<std::string, std::unique_ptr<Host>, std::less<>> hosts_;  // outlive the registry
  std::shared_ptr<run::RunRegistry> runs_;
  std::shared_ptr<run::RunRequests> requests_;
  std::shared_ptr<run::RunUpkeep> upkeep_;
  std::shared_ptr<void> control_;
  std::shared_ptr<RuntimeApi> api_;  // made with its first use
  std::map<std::uint64_t, run::RouteServices::Reply> asks_;
  std::shared_ptr<bool> has_pipelines_ = std::make_shared<bool>(false);
  std::optional<Error> failure_;  // why the store is not open
  std::vector<Ready> waiting_;    // for the store
  const std::shared_ptr<OpeningOrder> openings_ = std::make_shared<OpeningOrder>();
  std::map<std::uint64_t, Request> pending_;
  std::map<std::pair<store::RunId, std::uint64_t>, std::uint64_t>
      pending_of_runs_;  // its other way
  std::uint64_t last_request_ = 0;
  // Of runs that others work on.
  std::map<store::RunId, std::weak_ptr<run::RunHub>> followed_;
  std::map<DrainQueue::StreamId, std::function<void(const Error& error)>> readers_;
  std::unique_ptr<os::Timer> tick_;  // looks for runs that others gave back
  std::unique_ptr<os::Timer> poll_;  // looks for what others recorded
  std::unique_ptr<os::Timer> drain_;
  std::function<void()> drained_;
  std::size_t at_work_ = 0;
  bool closed_ = false;
};

}  // namespace millrace::host
