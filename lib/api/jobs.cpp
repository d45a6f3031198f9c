#include "api/jobs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "api/attachment_routes.hpp"
#include "os/event_loop.hpp"
#include "run/durable/run_place.hpp"

namespace millrace::api {
namespace {

using journal::RunState;

constexpr std::string_view run_prefix = "run_";
// Logs that are kept after their runs ended.
constexpr std::size_t most_ended_jobs = 64;
// They take as much memory at most as so many logs of jobs that work.
constexpr std::size_t most_ended_logs = 4;
constexpr std::array<RunState, 5> active_states{
    RunState::queued, RunState::running, RunState::waiting, RunState::sleeping, RunState::parked};

constexpr std::string_view thread_deleted = "thread_deleted";
constexpr std::string_view damaged =
    "store_damaged: Records of the job are damaged. A new message of its conversation, or a stop, "
    "ends it; `millrace storage check` names them.";
constexpr std::string_view damaged_and_over =
    "store_damaged: Records of the job are damaged. `millrace storage check` names them.";

chat::JobOptions options_of(const store::RunRow& row, const ApiOptions& api) {
  chat::JobOptions options;
  options.job_id = job_id(row.run.id);
  options.conversation_id = row.run.thread;
  const bool is_call = row.run.name == tool_agent;
  const bool is_chat = !is_call && row.run.name != command_agent;
  options.mode = is_chat ? chat::JobMode::chat : chat::JobMode::command;
  options.records_history = !is_call;
  options.virtual_user = json::Tree::integer(api.user_id);
  options.permission = api.permission;
  options.has_deltas = true;
  options.byte_limit = api.job_log_bytes;
  options.attachment = with_addresses;
  return options;
}

}  // namespace

std::string job_id(const store::RunId& run) {
  return run.text().substr(run_prefix.size());
}

std::optional<store::RunId> run_of_job(std::string_view id) {
  return store::RunId::parse(std::string(run_prefix) + std::string(id));
}

Result<std::vector<store::RunRow>> active_runs(store::StorageBackend& backend,
                                               const std::string& principal,
                                               const std::string& thread) {
  std::vector<store::RunRow> active;
  store::RunQuery query;
  query.principal = principal;
  query.states.assign(active_states.begin(), active_states.end());
  if (!thread.empty()) query.thread = thread;
  query.limit = 1000;
  do {
    auto page = backend.runs(query);
    if (!page) return page.error();
    for (store::RunRow& row : page.value().runs) {
      if (row.run.name != tool_agent) active.push_back(std::move(row));
    }
    query.before = page.value().next;
  } while (!query.before.empty());
  // The store gives the latest first, also of those that began in the same millisecond.
  std::reverse(active.begin(), active.end());
  return active;
}

Result<std::optional<store::RunRow>> newest_active(store::StorageBackend& backend,
                                                   const std::string& principal) {
  store::RunQuery query;
  query.principal = principal;
  query.states.assign(active_states.begin(), active_states.end());
  query.limit = 1;
  auto runs = run::runs_without(backend, query, std::string(tool_agent));
  if (!runs) return runs.error();
  if (runs.value().runs.empty()) return std::optional<store::RunRow>();
  return std::optional(std::move(runs.value().runs.front()));
}

Result<std::vector<store::RunRow>> busy_runs(store::StorageBackend& backend,
                                             const std::string& principal,
                                             const std::string& thread) {
  auto active = active_runs(backend, principal, thread);
  if (active) std::erase_if(active.value(), is_damaged);
  return active;
}

Job::Job(const store::RunRow& row, chat::JobOptions options, TakeMedia take_media)
    : run_(row.run.id),
      id_(options.job_id),
      conversation_(row.run.thread),
      principal_(row.run.principal),
      is_call_(row.run.name == tool_agent),
      media_(std::make_shared<std::vector<InlineMedium>>()),
      at_ms_(std::make_shared<std::int64_t>(row.created)),
      take_media_(std::move(take_media)),
      log_([&] {
        options.output = [media = media_, at_ms = at_ms_,
                          principal = principal_](std::string_view text) {
          return shape_output(text, {principal, *at_ms}, *media);
        };
        return std::move(options);
      }()) {}

void Job::read(const std::shared_ptr<run::RunHub>& hub, Listener ready) {
  hub_ = hub;
  wanted_ = hub->committed();
  ready_ = std::move(ready);
  if (const auto attached = hub->attach(shared_from_this(), last_, counts_); !attached) {
    on_end(&attached.error());
  }
}

// A run at work goes on, whatever its readers cannot read.
void Job::check(const store::RunRow& row) {
  const bool is_unread = is_unreadable_ && row.state != RunState::running;
  if (log_.is_over() || (!is_unread && !is_damaged(row))) return;
  has_failed_ = true;
  if (const auto hub = std::exchange(hub_, nullptr)) hub->detach(*this);
  const bool is_cancelled = row.state == RunState::cancelled;
  log_.end_unread({is_cancelled ? RunState::cancelled : RunState::failed,
                   journal::is_over(row.state) ? damaged_and_over : damaged, row.created,
                   row.ended.value_or(0)});
  notify();
}

void Job::remove() {
  log_.end_unread({RunState::cancelled, thread_deleted, 0, store::system_clock()()});
  notify();
}

void Job::count() {
  counts_ = true;
  if (hub_) hub_->count(*this, true);
}

void Job::listen(const void* who, Listener listener) {
  listeners_.insert_or_assign(who, std::move(listener));
}

void Job::leave() {
  listeners_.clear();
  ready_ = nullptr;
  if (const auto hub = std::exchange(hub_, nullptr)) hub->detach(*this);
}

bool Job::on_record(const journal::Record& record) {
  last_ = record.seq;
  *at_ms_ = record.at_ms;
  log_.take(record);
  if (!media_->empty()) take_media_(std::exchange(*media_, {}));
  settle(record.seq);
  notify();
  return true;
}

void Job::on_end(const Error* error) {
  const auto self = shared_from_this();
  if (error != nullptr && !log_.is_over()) {
    has_failed_ = true;
    cut_ = *error;
    is_unreadable_ = error->code == Errc::store_damaged;
  }
  hub_ = nullptr;
  settle(wanted_);
  notify();
}

void Job::settle(std::uint64_t seq) {
  if (seq < wanted_ || !ready_) return;
  const auto ready = std::exchange(ready_, nullptr);
  ready();
}

// A listener may end, and others with it.
void Job::notify() {
  const auto listeners = listeners_;
  for (const auto& [who, listener] : listeners) {
    if (listeners_.contains(who)) listener();
  }
}

void Jobs::close() {
  for (const auto& [run, job] : std::exchange(jobs_, {})) job->leave();
  order_.clear();
}

void Jobs::find(std::string_view id, const std::string& principal, Found found) {
  const auto run = run_of_job(id);
  if (!run) return found(nullptr);
  if (const auto known = jobs_.find(*run); known != jobs_.end()) {
    const JobPtr job = known->second;
    if (job->principal() != principal) return found(nullptr);
    if (!job->is_over()) {
      return refresh(job, [weak = weak_from_this(), job, found = std::move(found)] {
        const auto self = weak.lock();
        found(self && self->jobs_.contains(job->run()) ? job : nullptr);
      });
    }
  }
  // A run that ended may have been deleted since.
  using Row = Result<std::optional<store::RunRow>>;
  context_->read_store<Row>(
      [run = *run](store::StorageBackend& backend) { return backend.run(run); },
      [weak = weak_from_this(), run = *run, principal, found = std::move(found)](const Row& row) {
        const auto self = weak.lock();
        if (!self) return found(nullptr);
        if (row && !row.value()) self->forget(run);
        // It may be at work again: a full disk has room now, for instance.
        const auto known = self->jobs_.find(run);
        if (known != self->jobs_.end() && known->second->is_cut()) self->forget(run);
        const bool is_there =
            row && row.value() && !row.value()->run.root && row.value()->run.principal == principal;
        if (!is_there) return found(nullptr);
        self->open(*row.value(), found);
      });
}

void Jobs::forget(const store::RunId& run) {
  jobs_.erase(run);
  std::erase(order_, run);
}

void Jobs::refresh(const JobPtr& job, std::function<void()> ready) {
  if (!job->is_waiting()) return ready();
  context_->requests->find(
      job->run().text(), job->principal(), "",
      [weak = weak_from_this(), job, ready = std::move(ready)](const Result<run::FoundRun>& run) {
        // Others may have come first.
        if (!job->is_waiting()) return ready();
        if (!run) {
          const auto self = weak.lock();
          if (self && run.error().code == Errc::run_not_found) {
            job->remove();
            self->forget(job->run());
          }
          return ready();
        }
        job->read(run.value().hub, [job, row = run.value().row, ready] {
          job->check(row);
          ready();
        });
      });
}

void Jobs::open(const store::RunRow& row, const Found& found) {
  if (const auto known = jobs_.find(row.run.id); known != jobs_.end()) {
    return found(known->second);
  }
  context_->requests->find(
      row.run.id.text(), row.run.principal, "",
      [weak = weak_from_this(), row, found](const Result<run::FoundRun>& run) {
        const auto self = weak.lock();
        if (!self || !run) return found(nullptr);
        if (const auto known = self->jobs_.find(row.run.id); known != self->jobs_.end()) {
          return found(known->second);
        }
        const auto job =
            std::make_shared<Job>(row, options_of(row, self->context_->options),
                                  [weak, id = row.run.id](std::vector<InlineMedium> media) {
                                    if (const auto jobs = weak.lock())
                                      jobs->store_media(id, std::move(media));
                                  });
        job->read(run.value().hub, [weak, job, found, now = run.value().row] {
          job->check(now);
          if (const auto jobs = weak.lock()) jobs->keep(job);
          found(job);
        });
      });
}

// Readers that come by what is shown afterwards find them: the store does one thing after another.
void Jobs::store_media(const store::RunId& run, std::vector<InlineMedium> media) {
  const auto shared = std::make_shared<std::vector<InlineMedium>>(std::move(media));
  context_->with_store<Result<void>>(
      [shared](store::StorageBackend& backend) { return put_media(backend, *shared); },
      [context = context_, run](const Result<void>& stored) {
        if (stored) return;
        json::Tree problem = json::Tree::object();
        problem.set("run", run.text());
        problem.set("reason", stored.error().message);
        context->ask("media_lost", std::move(problem), [](const Result<json::Tree>&) {});
      });
}

// The log of a run that works is kept until its end, and that of one that waits for somebody while
// it has readers; of the others, the latest.
void Jobs::keep(const JobPtr& job) {
  jobs_.insert_or_assign(job->run(), job);
  std::erase(order_, job->run());
  order_.push_back(job->run());
  std::size_t count = 0;
  std::size_t bytes = 0;
  // The newest first.
  for (auto at = order_.end(); at != order_.begin();) {
    --at;
    const auto found = jobs_.find(*at);
    const bool is_unread = found != jobs_.end() && found->second->is_unread();
    if (found != jobs_.end() && !is_unread) continue;
    if (is_unread) bytes += found->second->log().bytes();
    const bool is_too_much =
        ++count > most_ended_jobs || bytes > most_ended_logs * context_->options.job_log_bytes;
    if (is_unread && (!is_too_much || found->second == job)) continue;
    if (is_unread) jobs_.erase(found);
    at = order_.erase(at);
  }
}

void Jobs::find_all(const std::vector<store::RunId>& runs, const std::string& principal,
                    std::function<void(std::vector<JobPtr>)> found) {
  struct Gathering {
    std::vector<JobPtr> jobs;
    std::size_t left;
    std::function<void(std::vector<JobPtr>)> found;
  };
  if (runs.empty()) return found({});
  auto gathering = std::make_shared<Gathering>();
  gathering->jobs.resize(runs.size());
  gathering->left = runs.size();
  gathering->found = std::move(found);
  for (std::size_t at = 0; at < runs.size(); ++at) {
    find(job_id(runs[at]), principal, [gathering, at](JobPtr job) {
      gathering->jobs[at] = std::move(job);
      if (--gathering->left > 0) return;
      std::erase(gathering->jobs, nullptr);
      gathering->found(std::move(gathering->jobs));
    });
  }
}

void Jobs::count_before(const JobPtr& job,
                        std::function<void(std::optional<std::int64_t>)> counted) {
  if (!job->log().is_queued() || job->conversation().empty()) return counted(std::nullopt);
  using Rows = Result<std::vector<store::RunRow>>;
  context_->read_store<Rows>(
      [job](store::StorageBackend& backend) {
        return active_runs(backend, job->principal(), job->conversation());
      },
      [job, counted = std::move(counted)](const Rows& rows) {
        if (!rows) return counted(std::nullopt);
        const auto own = std::find_if(rows.value().begin(), rows.value().end(),
                                      [&](const auto& row) { return row.run.id == job->run(); });
        // It has begun meanwhile, or is over.
        const bool waits = own != rows.value().end() && own->state == RunState::queued;
        if (!waits) return counted(std::nullopt);
        counted(std::distance(rows.value().begin(), own));
      });
}

void Jobs::active(const std::string& principal, const std::string& conversation,
                  std::function<void(std::vector<JobPtr>)> found) {
  using Rows = Result<std::vector<store::RunRow>>;
  context_->read_store<Rows>(
      [principal, conversation](store::StorageBackend& backend) {
        return active_runs(backend, principal, conversation);
      },
      [weak = weak_from_this(), principal, found = std::move(found)](const Rows& rows) {
        const auto self = weak.lock();
        if (!self || !rows) return found({});
        std::vector<store::RunId> runs;
        for (const store::RunRow& row : rows.value()) runs.push_back(row.run.id);
        self->find_all(runs, principal, [found](std::vector<JobPtr> jobs) {
          std::erase_if(jobs, [](const JobPtr& job) { return job->is_over() && !job->is_cut(); });
          found(std::move(jobs));
        });
      });
}

}  // namespace millrace::api
