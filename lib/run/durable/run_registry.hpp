// The durable runs of one process: starts them, takes over those that another process left, and
// finds them for readers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "os/timer.hpp"
#include "run/durable/run_hub.hpp"
#include "run/durable/run_log.hpp"
#include "run/durable/stored_run.hpp"
#include "run/input.hpp"
#include "run/plan.hpp"
#include "store/writer.hpp"

namespace millrace::run {

// What runs of a name are made of in this process.
// Lifetime: the host outlives the registry.
struct DurableAgent {
  std::string version;
  std::shared_ptr<const AgentPlan> plan;
  RunHost* host = nullptr;
  UnknownPolicy unknown = UnknownPolicy::report;
};

struct StartRequest {
  std::string name;
  AgentInput input;
  std::string principal;
  std::string idem_key;  // "": none
  std::string idem_hash;
  std::string context_json;             // what its tools get; "" is none
  std::optional<store::RunId> id = {};  // where its reader has to know it at once
};

struct StartedRun {
  store::RunId run;
  std::shared_ptr<RunHub> hub;  // null: the same request was accepted before, as `run`
  std::uint64_t first = 1;      // the first record of the AG-UI run
};

// How long a run may work whose readers have all gone; one that never had a reader has no limit.
struct LeftLimits {
  std::chrono::milliseconds most_time{std::chrono::minutes{30}};
  std::size_t most_runs = 1024;  // beyond it, the run that was left first is stopped
};

// Thread: engine thread.
class RunRegistry final : public std::enable_shared_from_this<RunRegistry> {
 public:
  template <class T>
  using Done = std::function<void(Result<T>)>;

  // `owner` is the name of this process in the store.
  RunRegistry(const model::DriverServices& services, std::shared_ptr<store::Writer> writer,
              std::string owner);

  // Called with what keeps runs from being taken over: of one run, which is parked, or of all.
  using OnError = std::function<void(const std::optional<store::RunId>& run, const Error& error)>;
  void on_error(OnError on_error) { on_error_ = std::move(on_error); }

  void limit_left(LeftLimits limits) { left_limits_ = limits; }
  // Called after `at_work` changed.
  void on_change(std::function<void()> on_change) { on_change_ = std::move(on_change); }

  // Makes runs of this name possible, and takes over those that wait for somebody who knows it.
  void add(const std::string& name, DurableAgent agent);

  // Starts a run; `done` is called after its first commit.
  // Errors: agent_not_registered; run_conflict where the thread is busy, or the key or the AG-UI
  // run is that of another request; those of task_for.
  void start(StartRequest request, Done<StartedRun> done);
  // Goes on with a run that waits for the user, whose answers are in the input: each counts once,
  // from whatever process.
  // Errors: run_not_found, also for the run of another principal; approval_answered when it does
  // not wait; those of saved_task.
  void answer(const store::RunId& run, std::string principal, AgentInput input,
              Done<StartedRun> done);
  // The readers' side of a run, also of one that is over.
  // Errors: run_not_found.
  void find(const store::RunId& run, Done<std::shared_ptr<RunHub>> done);
  // False when the run is not at work here.
  bool stop(const store::RunId& run, std::string_view by, std::string_view reason);
  // What a host answers to its request.
  void complete(const store::RunId& run, std::uint64_t id, std::string_view json);
  // Takes over what is due and has no owner.
  void recover();
  // Gives the readers of a run that is not at work here what the store has got since.
  void refresh(const store::RunId& run);
  // Lets go of every run, so that other processes can go on with them at once.
  void close();
  [[nodiscard]] const std::string& owner() const { return owner_; }

  [[nodiscard]] std::size_t at_work() const { return logs_.size(); }
  [[nodiscard]] bool works_on(const store::RunId& run) const { return logs_.contains(run); }

 private:
  void claim(std::vector<std::string> names);
  void report(const std::optional<store::RunId>& run, const Error& error) const {
    if (on_error_) on_error_(run, error);
  }
  void go_on(const std::shared_ptr<StoredRun>& stored, const AgentInput* segment,
             const Done<StartedRun>& done);
  void end_or_start(RunLog& log, const StoredRun& stored, const AgentInput* segment,
                    const journal::RecoveryPlan& plan);
  struct Answering {
    store::RunId run;
    std::string principal;
    AgentInput input;
    Done<StartedRun> done;
  };
  void check_answer(const std::shared_ptr<Answering>& answering,
                    const Result<std::optional<store::RunRow>>& row,
                    const Result<StoredState>& state);
  void decide(const std::shared_ptr<Answering>& answering);
  void readers_changed(const store::RunId& run, bool any);
  std::shared_ptr<RunHub> hub_for(const store::RunId& run, std::uint64_t committed);
  std::shared_ptr<RunHub> hub_of(const store::RunRow& row);
  std::shared_ptr<RunLog> make_log(const DurableAgent& agent, LogPlace place, LogOptions options,
                                   std::uint64_t committed);
  [[nodiscard]] std::shared_ptr<RunLog> log_of(const StoredRun& stored);
  Result<AgentTask> task_of(const StoredRun& stored, const AgentInput* segment,
                            const AgentPlan& plan);

  model::DriverServices services_;
  std::shared_ptr<store::Writer> writer_;
  std::string owner_;
  OnError on_error_;
  std::function<void()> on_change_;
  std::map<std::string, DurableAgent, std::less<>> agents_;
  std::map<store::RunId, std::shared_ptr<RunLog>> logs_;
  // Of runs that have readers here and nobody who works on them yet.
  std::map<store::RunId, std::weak_ptr<RunHub>> waiting_hubs_;
  // Runs at work whose readers have all gone, the one that was left first in front.
  struct Left {
    store::RunId run;
    std::unique_ptr<os::Timer> deadline;
  };
  LeftLimits left_limits_;
  std::list<Left> left_;
};

}  // namespace millrace::run
