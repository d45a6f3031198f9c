#include "host/runtime_stream.hpp"

#include <array>
#include <chrono>
#include <future>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "os/detached_thread.hpp"
#include "os/event_loop.hpp"

namespace millrace::host {
namespace {

using json::Tree;
using std::chrono::milliseconds;

// How often what other environments of the process gave back is looked for, and what others record.
constexpr milliseconds tick_every{1000};
constexpr milliseconds poll_every{200};
// Whatever the disk does, an environment ends.
constexpr std::chrono::seconds release_wait{5};

Error runtime_closed() {
  return make_error(Errc::engine_closed,
                    "The runtime is closed. A run goes on where its store is opened next.");
}

}  // namespace

class RuntimeStream::Host final : public run::RunHost {
 public:
  Host(RuntimeStream& owner, std::string agent) : owner_(owner), agent_(std::move(agent)) {}
  void request_host(const store::RunId& run, run::HostWork work, std::uint64_t id,
                    std::string json) override {
    owner_.request(agent_, run, work, id, json);
  }
  void withdraw(const store::RunId& run, std::uint64_t id) override { owner_.withdraw(run, id); }
  void notify(const store::RunId& run, std::uint64_t id, std::string json) override {
    owner_.notify(run, id, json);
  }

 private:
  RuntimeStream& owner_;
  std::string agent_;
};

RuntimeStream::RuntimeStream(DrainQueue::StreamId id, HostServices& services, RuntimeSpec spec)
    : id_(id), services_(services), spec_(std::move(spec)) {}

RuntimeStream::~RuntimeStream() {
  end();
}

void RuntimeStream::end() {
  tick_.reset();
  poll_.reset();
  drain_.reset();
  // A log that ends reports it.
  if (runs_) runs_->on_change(nullptr);
  upkeep_.reset();
  control_.reset();
  api_.reset();
  asks_.clear();
  requests_.reset();
  let_go_of_runs();
  release();
}

// A connection that still closes may hold the registry for longer than its host is here.
void RuntimeStream::let_go_of_runs() {
  if (runs_ && !spec_.owner.empty()) runs_->close();
  runs_.reset();
}

void RuntimeStream::start() {
  services_.queue.push_head(id_, "{}");
  const auto ticket = services_.pool.run([weak = weak_from_this(), open = spec_.open] {
    const auto opened = std::make_shared<Result<std::shared_ptr<store::Writer>>>(open());
    return [weak, opened] {
      if (const auto self = weak.lock()) self->opened(std::move(*opened));
    };
  });
  if (!ticket) opened(ticket.error());
}

void RuntimeStream::opened(Result<std::shared_ptr<store::Writer>> writer) {
  if (closed_) return;
  if (!writer) {
    failure_ = writer.error();
    settle_waiting(&*failure_);
    closed_ = true;
    services_.queue.end(id_, error_json(*failure_));
    return services_.forget(id_);
  }
  writer_ = std::move(writer).value();
  net::Sender& client = services_.client;
  const model::DriverServices driver{services_.loop, client, services_.call, &services_.pool};
  runs_ = std::make_shared<run::RunRegistry>(driver, writer_, spec_.owner);
  runs_->limit_left(spec_.left);
  runs_->limit_starts(spec_.starts);
  if (spec_.demands_versions) runs_->demand_versions();
  runs_->on_change([this] { count_work(); });
  requests_ = std::make_shared<run::RunRequests>(services_.loop, writer_, runs_);
  runs_->on_error([this](const std::optional<store::RunId>& run, const Error& error) {
    std::string item = R"({"type":"@problem")";
    if (run) json::append_member(item, "run", run->text());
    json::append_raw_member(item, "error", error_json(error));
    push(item + "}");
  });
  runs_->on_suspend([this] {
    if (upkeep_) upkeep_->look();
  });
  open_control();
  push(R"({"type":"@opened"})");
  settle_waiting(nullptr);
}

void RuntimeStream::report_loss(std::string_view what, const Error& error) {
  std::string item = R"({"type":"@problem")";
  json::append_member(item, "what", what);
  json::append_raw_member(item, "error", error_json(error));
  push(item + "}");
}

void RuntimeStream::open_control() {
  if (!spec_.control) return;
  auto opened = spec_.control([weak = weak_from_this()]() -> std::shared_ptr<run::RunRequests> {
    const auto self = weak.lock();
    return self ? self->requests_ : nullptr;
  });
  if (opened) {
    control_ = std::move(opened).value();
    return;
  }
  // Runs do without it; the command line does not.
  push(R"({"type":"@problem","error":)" + error_json(opened.error()) + "}");
}

void RuntimeStream::when_open(Ready ready) {
  if (runs_) return ready(nullptr);
  if (failure_) return ready(&*failure_);
  if (closed_) {
    const Error error = runtime_closed();
    return ready(&error);
  }
  waiting_.push_back(std::move(ready));
}

void RuntimeStream::settle_waiting(const Error* error) {
  const auto self = shared_from_this();
  for (const Ready& ready : std::exchange(waiting_, {})) ready(error);
}

void RuntimeStream::add(const std::string& name, run::DurableAgent agent) {
  when_open([this, name, agent = std::move(agent)](const Error* error) mutable {
    if (error != nullptr) return;
    // Runs at work keep the host that they began with.
    auto& host = hosts_[name];
    if (!host) host = std::make_unique<Host>(*this, name);
    agent.host = host.get();
    runs_->add(name, std::move(agent));
    if (!upkeep_) {
      run::UpkeepOptions options;
      options.retention = spec_.retention;
      upkeep_ = std::make_shared<run::RunUpkeep>(services_.loop, writer_, runs_, options);
      upkeep_->start();
    }
    // Behind the runs that were left, which are at work then.
    with_store<bool>([](store::StorageBackend&) { return true; },
                     [this](bool) { push(R"({"type":"@registered"})"); });
    if (tick_ || !spec_.is_shared) return;
    tick_ = std::make_unique<os::Timer>(services_.loop, [this] { tick(); });
    tick_->start_at(os::Timer::Clock::now() + tick_every);
  });
}

// Another environment of this process may have given runs back.
void RuntimeStream::tick() {
  if (!runs_) return;
  runs_->recover();
  tick_->start_at(os::Timer::Clock::now() + tick_every);
}

void RuntimeStream::push(const std::string& item) {
  if (closed_) return;
  services_.on_output(item.size());
  // Requests and answers are few and wait for nothing: their reader always reads.
  static_cast<void>(services_.queue.push(id_, "," + item));
}

// --- what runs ask of JavaScript

void RuntimeStream::request(const std::string& agent, const store::RunId& run, run::HostWork work,
                            std::uint64_t id, const std::string& json) {
  pending_[++last_request_] = {run, id};
  pending_of_runs_[{run, id}] = last_request_;
  std::string item = "{";
  static constexpr std::array<std::string_view, 3> types{"@tool", "@model", "@function"};
  json::append_member(item, "type", types.at(static_cast<std::size_t>(work)));
  json::append_member(item, "id", static_cast<std::int64_t>(last_request_));
  json::append_member(item, "run", run.text());
  json::append_member(item, "agent", agent);
  json::append_raw_member(item, "value", json);
  push(item + "}");
}

// What JavaScript knows the request by; 0 where it is over.
std::uint64_t RuntimeStream::pending_of(const store::RunId& run, std::uint64_t id) const {
  const auto found = pending_of_runs_.find({run, id});
  return found == pending_of_runs_.end() ? 0 : found->second;
}

void RuntimeStream::forget_pending(std::uint64_t known) {
  const auto found = pending_.find(known);
  const Request& request = found->second;
  const auto by_run = pending_of_runs_.find({request.run, request.id});
  // A run that was taken over has its requests anew.
  if (by_run != pending_of_runs_.end() && by_run->second == known) pending_of_runs_.erase(by_run);
  pending_.erase(found);
}

void RuntimeStream::withdraw(const store::RunId& run, std::uint64_t id) {
  const std::uint64_t known = pending_of(run, id);
  if (known == 0) return;
  std::string item = R"({"type":"@withdraw")";
  json::append_member(item, "id", static_cast<std::int64_t>(known));
  forget_pending(known);
  push(item + "}");
}

void RuntimeStream::notify(const store::RunId& run, std::uint64_t id, const std::string& json) {
  const std::uint64_t known = pending_of(run, id);
  if (known == 0) return;
  std::string item = R"({"type":"@notice")";
  json::append_member(item, "id", static_cast<std::int64_t>(known));
  json::append_raw_member(item, "value", json);
  push(item + "}");
}

void RuntimeStream::complete(std::uint64_t id, std::string_view json) {
  if (answer_ask(id, json)) return;
  const auto found = pending_.find(id);
  if (found == pending_.end() || !runs_) return;
  const Request request = found->second;
  const bool is_progress = json.starts_with(R"({"progress")");
  if (!is_progress) forget_pending(id);
  runs_->complete(request.run, request.id, json);
}

void RuntimeStream::count_work() {
  const std::size_t at_work = runs_ ? runs_->at_work() : 0;
  if (at_work == at_work_) return;
  at_work_ = at_work;
  std::string item = R"({"type":"@busy")";
  json::append_member(item, "runs", static_cast<std::int64_t>(at_work));
  push(item + "}");
  if (at_work > 0 || !drained_) return;
  // The run that ended is still being called.
  services_.loop.post(std::exchange(drained_, nullptr));
}

// --- what others record

void RuntimeStream::follow(const store::RunId& run, const std::shared_ptr<run::RunHub>& hub) {
  if (hub->is_over()) return;
  followed_[run] = hub;
  if (!poll_) poll_ = std::make_unique<os::Timer>(services_.loop, [this] { poll(); });
  if (!poll_->is_running()) poll_->start_at(os::Timer::Clock::now() + poll_every);
}

void RuntimeStream::poll() {
  std::erase_if(followed_, [](const auto& entry) {
    const auto hub = entry.second.lock();
    return !hub || hub->is_over() || hub->readers() == 0;
  });
  if (followed_.empty() || !runs_) return;
  poll_->start_at(os::Timer::Clock::now() + poll_every);
  std::vector<store::RunId> runs;
  for (const auto& [run, hub] : followed_) runs.push_back(run);
  runs_->refresh(runs);
}

// --- ends

void RuntimeStream::release() {
  control_.reset();
  auto open = std::exchange(writer_, nullptr);
  auto writer = open ? std::move(open) : std::exchange(closing_, nullptr);
  if (!writer) return;
  const auto wait_for = [&](void (store::Writer::*give)(store::Writer::Work),
                            const std::string& owner) {
    const auto done = std::make_shared<std::promise<void>>();
    auto released = done->get_future();
    (*writer.*give)([owner, done](store::StorageBackend& backend) {
      if (!owner.empty()) static_cast<void>(backend.release(owner, store::Release::clean));
      done->set_value();
    });
    return released.wait_for(release_wait) == std::future_status::ready;
  };
  // Behind all that was given before; and once more, so that what it held has ended.
  const bool is_done = wait_for(&store::Writer::run, spec_.owner) &&
                       wait_for(&store::Writer::run, {}) && wait_for(&store::Writer::read, {});
  if (!is_done) abandon(std::move(writer));
}

// A writer ends after all that was given to it: where that takes too long, on a thread that nothing
// waits for.
void RuntimeStream::abandon(std::shared_ptr<store::Writer> writer) {
  const auto held = std::make_shared<std::shared_ptr<store::Writer>>(std::move(writer));
  static_cast<void>(os::run_detached([held] { held->reset(); }));
}

void RuntimeStream::cancel() {
  closed_ = true;
}

void RuntimeStream::shut(const Reply& reply) {
  drain_.reset();
  drained_ = nullptr;
  if (!api_) return shut_store(reply);
  api_->stop_all([weak = weak_from_this(), reply] {
    if (const auto self = weak.lock()) self->shut_store(reply);
  });
}

void RuntimeStream::shut_store(const Reply& reply) {
  const auto self = shared_from_this();
  tick_.reset();
  poll_.reset();
  runs_->on_change(nullptr);
  const Error closed = runtime_closed();
  for (const auto& [reader, report] : std::exchange(readers_, {})) report(closed);
  upkeep_.reset();
  control_.reset();
  api_.reset();
  asks_.clear();
  requests_.reset();
  let_go_of_runs();
  failure_ = closed;
  closing_ = std::exchange(writer_, nullptr);
  // As release does, without waiting.
  on_closing(spec_.owner, [this, reply] { on_closing({}, [this, reply] { close_store(reply); }); });
}

void RuntimeStream::on_closing(const std::string& owner, std::function<void()> then) {
  const auto after = std::make_shared<std::function<void()>>(std::move(then));
  closing_->run([weak = weak_from_this(), loop = services_.loop.handle(), owner,
                 after](store::StorageBackend& backend) {
    if (!owner.empty()) static_cast<void>(backend.release(owner, store::Release::clean));
    loop.post([weak, after] {
      const auto call = std::exchange(*after, nullptr);
      if (weak.lock()) call();
    });
  });
}

// The last user of a store closes its file, which takes a moment.
void RuntimeStream::close_store(const Reply& reply) {
  const auto held = std::make_shared<std::shared_ptr<store::Writer>>(std::move(closing_));
  const auto end = [weak = weak_from_this(), reply] {
    const auto self = weak.lock();
    if (!self) return;
    reply(Tree());
    self->closed_ = true;
    self->services_.queue.end(self->id_, {});
    self->services_.forget(self->id_);
  };
  const auto ticket = services_.pool.run([held, end]() -> os::BlockingPool::Done {
    held->reset();
    return end;
  });
  if (ticket) return;
  held->reset();
  end();
}

}  // namespace millrace::host
