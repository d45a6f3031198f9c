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
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "os/timer.hpp"
#include "run/durable/claimed_run.hpp"
#include "run/durable/run_counts.hpp"
#include "run/durable/run_hub.hpp"
#include "run/durable/run_log.hpp"
#include "run/durable/run_owners.hpp"
#include "run/durable/start_times.hpp"
#include "run/durable/stored_run.hpp"
#include "run/input.hpp"
#include "run/plan.hpp"
#include "store/writer.hpp"

namespace millrace::os {
class LoopHandle;
}  // namespace millrace::os

namespace millrace::run {

// What does the work of a run.
enum class RunKind : std::uint8_t { agent, function, job };
// As rows of runs name it.
std::string_view name_of(RunKind kind);

// What runs of a name are made of in this process.
// Lifetime: the host outlives the registry.
struct DurableAgent {
  std::string version;
  std::shared_ptr<const AgentPlan> plan;  // of an agent
  RunHost* host = nullptr;
  UnknownPolicy unknown = UnknownPolicy::report;
  RunKind kind = RunKind::agent;
  bool reruns = false;         // a function whose process ended begins again, else its run fails
  std::string plan_hash = {};  // of what the model is given and its tools (run/plan_hash.hpp)
  bool stops_left = false;     // runs whose last reader leaves, where they do not have it otherwise
  std::int64_t approval_ms = usual_approval_ms;  // how long the user has for an answer

  // Whether the leaving of its last reader stops a run that is set so.
  [[nodiscard]] bool stops(journal::OnDisconnect wanted) const {
    if (wanted == journal::OnDisconnect::unset) return stops_left;
    return wanted == journal::OnDisconnect::stop;
  }
};

// Why no run of this name can be at work.
Error unknown_name(std::string_view name);

struct StartRequest {
  std::string name;
  AgentInput input;
  std::string principal;
  std::string idem_key;  // "": none
  std::string idem_hash;
  std::string context_json;                    // what its tools get; "" is none
  std::optional<store::RunId> id = {};         // where its reader has to know it at once
  std::optional<store::RunId> parent = {};     // the job that it works for
  std::string parent_call = {};                // as the job's ledger knows it
  bool may_wait = false;                       // behind the run that its thread is busy with
  std::optional<store::SeenThread> seen = {};  // as NewRun has it
  bool is_held = false;                        // it has no turn before begin_held
  store::Lane lane = store::Lane::normal;
  std::vector<store::OutboxRow> outbox = {};  // stored with the run
  journal::OnDisconnect on_disconnect = journal::OnDisconnect::unset;
  bool is_structured = false;  // as Accepted has it
  // True once the caller has withdrawn the request; null: it cannot be.
  std::shared_ptr<const bool> is_withdrawn = {};

  [[nodiscard]] bool may_begin() const { return !is_withdrawn || !*is_withdrawn; }
};

// What runs wait for before they begin.
struct StartRules {
  store::StartLimits limits;
  std::size_t each_provider_key = 0;  // runs at work of agents with the same keys; 0 is no limit
  StartRates rates;
  StartRate each_provider_key_rate;  // as each_provider_key

  [[nodiscard]] bool any() const {
    return limits.any() || each_provider_key > 0 || rates.any() ||
           each_provider_key_rate.starts > 0;
  }
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

  ~RunRegistry();
  RunRegistry(const RunRegistry&) = delete;
  RunRegistry& operator=(const RunRegistry&) = delete;
  // `owner` is the name of this process in the store.
  RunRegistry(const model::DriverServices& services, std::shared_ptr<store::Writer> writer,
              std::string owner);

  // Called with what keeps runs from being taken over: of one run, which is parked, or of all.
  using OnError = std::function<void(const std::optional<store::RunId>& run, const Error& error)>;
  void on_error(OnError on_error) { on_error_ = std::move(on_error); }

  void limit_left(LeftLimits limits);
  // Runs that a job begins, and those that go on with an answer or an event, wait for no limit.
  void limit_starts(StartRules rules);
  // Runs go on with the version of their agent that they began with; else they are parked.
  void demand_versions() { demands_versions_ = true; }
  // Takes over runs that are parked for the version that an agent has here.
  void claim_parked();
  // As the store counts them.
  [[nodiscard]] store::StartLimits start_limits() const;
  [[nodiscard]] StartRates start_rates() const;
  [[nodiscard]] std::shared_ptr<StartTimes> start_times() const { return start_times_; }
  // Called after `at_work` changed.
  void on_change(std::function<void()> on_change) { on_change_ = std::move(on_change); }

  // Makes runs of this name possible, and takes over those that wait for somebody who knows it.
  void add(const std::string& name, DurableAgent agent);

  // What runs of this name are; nothing where none is registered.
  [[nodiscard]] std::optional<RunKind> kind_of(std::string_view name) const {
    const auto found = agents_.find(name);
    return found == agents_.end() ? std::nullopt : std::optional(found->second.kind);
  }
  [[nodiscard]] std::set<std::string> names() const;
  // Of the agents; functions and jobs have none.
  [[nodiscard]] std::map<std::string, std::shared_ptr<const AgentPlan>> plans() const;
  // Starts a run, or has it wait for its turn; `done` is called after its first commit.
  // Errors: agent_not_registered; run_conflict where the thread is busy, or the key or the AG-UI
  // run is that of another request; those of task_for.
  void start(StartRequest request, Done<StartedRun> done);
  // Gives a held run its turn. False where it is not held, or not any more.
  void begin_held(const store::RunId& run, Done<bool> done);
  // Goes on with a run that waits for the user, whose answers are in the input: each counts once,
  // from whatever process.
  // Errors: run_not_found, also for the run of another principal; approval_answered when it does
  // not wait; those of saved_task.
  void answer(const store::RunId& run, std::string principal, AgentInput input,
              Done<StartedRun> done);
  // Answers a question of a function, by its id or its name in the run, once; `entry` is AG-UI's
  // resume entry.
  // Errors: approval_mismatch; approval_answered, also once it has expired.
  void answer_function(const store::RunId& run, std::string approval, std::string principal,
                       json::Tree entry, Done<bool> done);
  // Keeps something that happened until the job takes it, which goes on where it waits for it.
  // Errors: run_not_found; agent_not_registered; invalid_state for a run that is over, no job, or at
  // work in another environment.
  void send(const store::RunId& run, std::string event, json::Tree payload, Done<bool> done);
  // Called after a run came to wait for what may be due soon: a job that was suspended, or an
  // answer of the user that has little time.
  void on_suspend(std::function<void()> on_suspend) { on_suspend_ = std::move(on_suspend); }
  // The readers' side of a run, also of one that is over.
  // Errors: run_not_found.
  void find(const store::RunId& run, Done<std::shared_ptr<RunHub>> done);
  // Called when the record of something is safe, or with why it is not.
  using Stored = std::function<void(const Error* error)>;
  // False when the run is not at work here; `stored` is not called then.
  bool stop(
      const store::RunId& run, std::string_view by, std::string_view reason,
      const Stored& stored = [](const Error*) {});
  // The same where another environment of this process works on it. `stored` is called also where
  // none does.
  void stop_elsewhere(
      const store::RunId& run, std::string by, std::string reason,
      Stored stored = [](const Error*) {});
  // The last reader here has left a run that another environment of this process may work on, which
  // stops it where it is to be stopped then and has no other reader.
  void readers_left(const store::RunId& run);
  // Stops the runs that work for a job which is over, wherever they are at work.
  void stop_children(const store::RunId& job, std::string by, std::string reason);
  // Gives an agent's run a message of the user, as RunWork::send; `done` is called when that is
  // safe. One that is at work nowhere keeps it until it goes on, or ends.
  // Errors: invalid_state where it is over or takes none, or waits for the user and is to be
  // interrupted; store_damaged; why the records of a run at work here are not stored.
  void send_message(const store::RunId& run, const json::Tree& message, bool interrupts,
                    std::string_view by, const Done<bool>& done);
  // What a host answers to its request.
  void complete(const store::RunId& run, std::uint64_t id, std::string_view json);
  // Takes over what is due and has no owner.
  void recover();
  // Gives the readers of runs that are not at work here what the store has got since, by one look
  // at it. Those of a run that is gone end with run_not_found.
  void refresh(const std::vector<store::RunId>& runs);
  void refresh(const store::RunId& run) { refresh(std::vector{run}); }
  // Lets go of every run, so that other processes can go on with them at once.
  void close();
  [[nodiscard]] const std::string& owner() const { return owner_; }
  // For work on the store that claims runs.
  [[nodiscard]] OnStranded on_stranded();

  // Runs of this process whose records the store does not take, with the code of why.
  [[nodiscard]] std::map<store::RunId, std::string> lost_reasons() const;

  [[nodiscard]] const std::shared_ptr<RunCounts>& counts() const { return counts_; }
  [[nodiscard]] std::size_t at_work() const { return logs_.size(); }
  [[nodiscard]] bool works_on(const store::RunId& run) const { return logs_.contains(run); }

 private:
  // Runs that wait for their turn (run_queue.cpp)
  void enqueue(const StartRequest& request, store::NewRun made, journal::Accepted accepted,
               Done<StartedRun> done);
  void claim_queued();
  void claim(std::vector<std::string> names);
  void claimed(bool was_full, std::optional<os::Timer::Clock::time_point> next);
  [[nodiscard]] std::vector<std::vector<std::string>> names_by_key() const;
  static void load_claims(const std::weak_ptr<RunRegistry>& weak, const os::LoopHandle& loop,
                          store::StorageBackend& backend, std::span<store::Claim> claims);
  // Calls `done` once the first batch of a log is committed, or why it is not.
  static void report_start(RunLog& log, const store::RunId& run, const Done<StartedRun>& done);
  static Error start_error(const store::AppendOutcome& outcome);
  // Messages to runs (run_messages.cpp)
  struct Sending;
  bool send_here(const Sending& sending);
  void send_elsewhere(const Sending& sending, const std::string& owner);
  // Runs whose records could not be stored (run_lost.cpp)
  static OnStranded stranded_in(const std::weak_ptr<RunRegistry>& weak, const os::LoopHandle& loop);
  void lost(const store::RunId& run, std::int64_t epoch, const Error& error);
  std::optional<Error> stop_lost(const store::RunId& run, std::string_view by,
                                 std::string_view reason);
  void give_back_lost();
  struct GivenBack {
    store::RunId run;
    std::int64_t epoch = 0;
    bool is_stopped = false;  // and ended
  };
  void gave_back(const std::vector<GivenBack>& runs);
  void end_stopped(const store::RunId& run, std::string by, std::string why);
  // Takes over a run that waits, whatever for; `first` gets its log before it goes on. False where
  // it is over, or at work.
  using First = std::function<bool(RunLog& log)>;
  void wake(const store::RunId& run, First first, Done<bool> done);
  // Does something where the run is at work, if that is in this process.
  void at_owner(const store::RunId& run, run_owners::Work work);
  void suspended(const store::RunId& run, const std::shared_ptr<RunHub>& hub);
  void report(const std::optional<store::RunId>& run, const Error& error) const {
    if (on_error_) on_error_(run, error);
  }
  void go_on(const std::shared_ptr<StoredRun>& stored, const AgentInput* segment,
             const Done<StartedRun>& done, const First& first = nullptr);
  void claim_version(const store::NewRun& run);
  [[nodiscard]] bool has_its_version(const store::NewRun& run) const;
  void end_or_start(RunLog& log, const StoredRun& stored, const AgentInput* segment,
                    const journal::RecoveryPlan& plan);
  struct Answering {
    store::RunId run;
    std::string principal;
    AgentInput input;
    Done<StartedRun> done;
    std::vector<store::ApprovalRow> outcomes = {};  // open questions about calls
    // What tools_requested gives now of the calls that approvals are about, by their ids.
    std::map<std::string, std::string> tools = {};
    std::vector<store::ApprovalRow> open = {};
    std::optional<Error> over = {};  // why an answer comes too late
    int looks = 0;                   // for the moment in which the run waits again
    std::unique_ptr<os::Timer> next_look = nullptr;
  };
  static bool answers_open(const Answering& answering);
  void look(const std::shared_ptr<Answering>& answering);
  void look_again(const std::shared_ptr<Answering>& answering, const Error& error);
  void answer_elsewhere(const std::shared_ptr<Answering>& answering, const std::string& name);
  void check_answer(const std::shared_ptr<Answering>& answering,
                    const Result<std::optional<store::RunRow>>& row,
                    const Result<StoredState>& state);
  Result<void> check_entries(const Answering& answering, const AgentPlan& plan,
                             const StoredState& state) const;
  void decide(const std::shared_ptr<Answering>& answering);
  void readers_changed(const store::RunId& run, bool any);
  // Readers here of a run that another environment of this process works on (run_readers.cpp)
  void report_readers(const store::RunId& run, const std::shared_ptr<RunHub>& hub);
  void send_readers(const store::RunId& run, bool any);
  void ask_for_readers(const store::RunId& run);
  void left_elsewhere(const store::RunId& run, const std::string& environment,
                      std::uint64_t notice);
  void forget_readers(const std::string& environment);
  std::shared_ptr<RunHub> hub_for(const store::RunId& run, std::uint64_t committed);
  std::shared_ptr<RunHub> hub_of(const store::RunRow& row);
  void refresh_later(const store::RunId& run);
  std::shared_ptr<RunLog> make_log(const DurableAgent& agent, LogPlace place, LogOptions options,
                                   std::uint64_t committed);
  [[nodiscard]] std::shared_ptr<RunLog> log_of(const StoredRun& stored);
  Result<RunTask> new_task(const DurableAgent& agent, const store::RunId& run,
                           const AgentInput& input, std::string_view input_json);
  Result<RunTask> task_of(const StoredRun& stored, const AgentInput* segment,
                          const DurableAgent& agent);
  Result<AgentTask> agent_task_of(const StoredRun& stored, const AgentInput* segment,
                                  const AgentPlan& plan);

  model::DriverServices services_;
  std::shared_ptr<store::Writer> writer_;
  // Answers that wait until their runs wait again.
  std::set<std::shared_ptr<Answering>> looking_;
  const std::shared_ptr<PageBudget> held_ = std::make_shared<PageBudget>();  // for all readers
  std::string owner_;
  OnError on_error_;
  std::function<void()> on_change_;
  std::function<void()> on_suspend_;
  std::map<std::string, DurableAgent, std::less<>> agents_;
  std::map<store::RunId, std::shared_ptr<RunLog>> logs_;
  // Of runs that have readers here and no process that works on them yet.
  std::map<store::RunId, std::weak_ptr<RunHub>> waiting_hubs_;
  // Runs at work whose readers have all gone, the one that was left first in front.
  struct Left {
    store::RunId run;
    std::unique_ptr<os::Timer> deadline;
  };
  struct Lost {
    std::int64_t epoch = 0;
    Error error;
    std::string by;  // of a stop meanwhile
    std::string why;
    bool is_stopped = false;
  };
  std::map<store::RunId, Lost> lost_;
  std::unique_ptr<os::Timer> next_try_;
  StartRules rules_;
  bool queues_ = false;  // some run may wait for its turn
  bool is_claiming_ = false;
  bool demands_versions_ = false;
  std::set<std::string> wanted_;  // names whose runs are taken over next
  std::shared_ptr<StartTimes> start_times_;
  std::unique_ptr<os::Timer> next_start_;
  std::shared_ptr<RunCounts> counts_ = std::make_shared<RunCounts>();
  std::uint64_t notices_ = 0;  // of readers here, to other environments
  LeftLimits left_limits_;
  std::list<Left> left_;
};

}  // namespace millrace::run
