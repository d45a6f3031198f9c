// Writes down what a run does and shows, and lets it go on once that is safe.
//
// Everything that a run does between two commits is one batch: events, facts, checkpoint, ledger.
// What it does to the outside (a request to a model, a call of a tool) begins after the commit of
// the batch that records it; readers see a record after its commit.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json_tree.hpp"
#include "journal/recovery.hpp"
#include "model/call/redacting_sink.hpp"
#include "run/durable/branch_log.hpp"
#include "run/durable/function_session.hpp"
#include "run/durable/open_answers.hpp"
#include "run/durable/run_hub.hpp"
#include "run/durable/stored_run.hpp"
#include "run/durable/thread_messages.hpp"
#include "run/durable/unknown_outcomes.hpp"
#include "run/input.hpp"
#include "run/session.hpp"
#include "store/types.hpp"
#include "store/writer.hpp"

namespace millrace::run {

// Who does what a run asks of its host: one for each environment, whether anybody reads or not.
// Thread: engine thread.
class RunHost {
 public:
  virtual ~RunHost() = default;
  // As AgentOwner::request_host and withdraw.
  virtual void request_host(const store::RunId& run, HostWork work, std::uint64_t id,
                            std::string json) = 0;
  virtual void withdraw(const store::RunId& run, std::uint64_t id) = 0;
  // As AgentOwner::notify.
  virtual void notify(const store::RunId& /*run*/, std::uint64_t /*id*/, std::string /*json*/) {}
};

// What a run does: an agent's work, or a function of the host.
using RunTask = std::variant<AgentTask, FunctionTask>;

// Thread: engine thread.
// Lifetime: shared; the host outlives it.
class RunLog final : public AgentOwner, public std::enable_shared_from_this<RunLog> {
 public:
  RunLog(const model::DriverServices& services, std::shared_ptr<store::Writer> writer,
         std::shared_ptr<const AgentPlan> plan, LogPlace place, LogOptions options, RunHost& host,
         std::shared_ptr<RunHub> hub);
  ~RunLog() override;
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // The first batch of a run, or of a process that goes on with one; before start.
  [[nodiscard]] store::AppendBatch& batch() { return line_.batch; }
  void note(const journal::Fact& fact) { root_.note(fact); }
  // An AG-UI run begins with the batch, with these answers to what the run waited for.
  void note_segment(const AgentInput& input, std::string_view answers_json);
  // What a run that waited for its turn brings to its thread.
  void note_given(const AgentInput& input);
  // Called once with what became of the first batch.
  void on_first_commit(std::function<void(const store::AppendOutcome&)> committed) {
    first_commit_ = std::move(committed);
  }
  // Called once when nothing more comes of the run here.
  void on_over(std::function<void()> over) { over_callback_ = std::move(over); }

  // Closes what the readers have half of, before a run goes on in another process.
  // `segment` is what a request of a reader begins, or null.
  void go_on(const StoredRun& stored, const journal::RecoveryPlan& plan, const AgentInput* segment);
  void start(RunTask task);
  // Waits for the user, who decides whether these calls were made.
  void ask(const std::vector<UnknownCall>& calls);
  [[nodiscard]] bool may_ask() const { return line_.options.unknown == UnknownPolicy::ask; }
  // Ends a run that does not go on: as failed, dead or cancelled.
  void end_as(journal::RunState state, std::string_view reason, const Error* error);
  // Lets go of a run that cannot go on here, instead of `go_on`: its readers stay. No claim finds
  // it.
  void park(std::string_view reason);
  void complete(std::uint64_t id, std::string_view json);
  // Called when the record of something is safe, or with why it is not.
  using Stored = std::function<void(const Error* error)>;
  void stop(std::string_view by, std::string_view reason, Stored stored);
  // Gives the run a message of the user, as RunWork::send. False where it takes none.
  bool send(const json::Tree& message, bool interrupts, std::string_view by, Stored stored);
  // The user answered a question of a function; `decided` has the record of it. False where it is
  // not at work any more.
  bool answered(std::string_view name, const json::Tree& entry,
                const store::DecisionOutcome& decided);
  // Keeps something that happened outside until a job takes it; `stored` is called when that is
  // safe. False where the job is not at work any more.
  bool take_event(std::string_view name, const json::Tree& payload, std::function<void()> stored);
  // A job that waits where it takes no memory, or a run that is parked: its readers stay.
  [[nodiscard]] bool is_suspended() const { return is_suspended_; }
  // Its last batch is on its way: it is over, or waits for the user.
  [[nodiscard]] bool has_come_to_rest() const { return line_.is_over && !line_.is_lost; }
  // It waits for the user, who has so little time that the next look of the upkeep comes too late.
  [[nodiscard]] bool waits_shortly() const {
    return is_waiting_ && !line_.is_lost && line_.options.approval_ms < usual_look_ms;
  }
  // It is over, and runs that worked for it may not be.
  [[nodiscard]] bool leaves_child_runs() const {
    return line_.is_over && !line_.is_lost && !is_suspended_ && root_.has_child_runs();
  }
  // Why the store did not take the records of the run, where no other process has it.
  [[nodiscard]] const std::optional<Error>& lost_error() const { return lost_error_; }
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  [[nodiscard]] const std::shared_ptr<RunHub>& hub() const { return hub_; }

  void on_event(const event::Event& event) override;
  void moved() override;
  void request_host(HostWork work, std::uint64_t id, std::string json) override;
  void withdraw(std::uint64_t id) override;
  void notify(std::uint64_t id, std::string json) override;
  void request_answer(std::string_view name, const json::Tree& interrupt,
                      std::int64_t expires_ms) override;
  void record_step(const StepRecord& step, std::function<void()> recorded) override;
  bool suspend(std::optional<std::int64_t> until_ms) override;
  void message_taken(const json::Tree& message) override;
  void rest(const json::Tree& state, const json::Tree& context) override {
    root_.rest(state, context);
  }

 private:
  class Events;
  struct Commit;

  [[nodiscard]] std::int64_t now() const { return services_.now_ms(); }
  [[nodiscard]] std::string with_run(std::string json, HostWork work) const;
  void add_gate(Stored stored, void (*then)(RunLog& self));
  void open_segment();
  BranchLog::TakeBack hold_answer(const StoredRun& stored, const journal::RecoveryPlan& plan,
                                  std::uint32_t branch);
  void finish();
  void request_approvals(const AgentOutcome& outcome);
  void add_approval(const json::Tree& interrupt, std::string_view call, journal::ApprovalKind kind,
                    std::int64_t expires_ms, std::string tools_hash = {});
  void change_state(journal::RunState state);
  void put_messages(journal::RunState state);
  void flush();
  void open_gates();
  void committed(const store::AppendOutcome& outcome, const Commit& commit);
  void count(const Commit& commit);
  void lose(const store::AppendOutcome& outcome);
  void watch_backlog();
  void wait_for_room();
  void settle();

  model::DriverServices services_;
  std::shared_ptr<store::Writer> writer_;
  std::shared_ptr<const AgentPlan> plan_;
  RunHost& host_;
  std::shared_ptr<RunHub> hub_;
  std::function<void(const store::AppendOutcome&)> first_commit_;
  std::function<void()> over_callback_;

  RunLine line_;
  BranchLog root_;
  std::shared_ptr<ThreadMessages> messages_ = std::make_shared<ThreadMessages>();
  std::string thread_shown_;  // a job needs no thread, but readers get one
  std::int64_t epoch_ = 1;
  std::unique_ptr<Events> events_;
  OpenAnswers open_;  // that go on here
  model::RedactingSink sink_;
  std::shared_ptr<RunWork> session_;

  json::Tree::Items sent_before_;  // to a run that does not go on here
  std::list<Stored> unstored_;     // of messages and stops whose record is not safe yet
  std::optional<Error> lost_error_;
  std::size_t in_flight_ = 0;
  bool is_text_in_flight_ = false;
  bool is_resumed_ = false;  // its reader's run began in another process
  bool is_settled_ = false;
  bool is_suspended_ = false;
  bool is_waiting_ = false;      // for the user
  std::size_t undelivered_ = 0;  // events that the job does not have yet
  bool is_paused_ = false;       // the store is slower than the model
};

}  // namespace millrace::run
