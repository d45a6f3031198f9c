// Writes down what a run does and shows, and lets it go on once that is safe.
//
// Everything that a run does between two commits is one batch: events, facts, checkpoint, ledger.
// What it does to the outside (a request to a model, a call of a tool) begins after the commit of
// the batch that says so; readers see a record after its commit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "journal/recovery.hpp"
#include "model/call/redacting_sink.hpp"
#include "run/durable/branch_log.hpp"
#include "run/durable/run_hub.hpp"
#include "run/durable/stored_run.hpp"
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
};

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
  // Called once with what became of the first batch.
  void on_first_commit(std::function<void(const store::AppendOutcome&)> committed) {
    first_commit_ = std::move(committed);
  }
  // Called once when nothing more comes of the run here.
  void on_over(std::function<void()> over) { over_callback_ = std::move(over); }

  // Closes what the readers have half of, before a run goes on in another process.
  // `segment` is what a request of a reader begins, or null.
  void go_on(const StoredRun& stored, const journal::RecoveryPlan& plan, const AgentInput* segment);
  void start(AgentTask task);
  // Ends a run that does not go on: as failed, dead or cancelled.
  void end_as(journal::RunState state, std::string_view reason, const Error* error);
  void stop(std::string_view by, std::string_view reason);
  void complete(std::uint64_t id, std::string_view json);
  [[nodiscard]] const std::shared_ptr<RunHub>& hub() const { return hub_; }

  void on_event(const event::Event& event) override;
  void moved() override;
  void request_host(HostWork work, std::uint64_t id, std::string json) override;
  void withdraw(std::uint64_t id) override;
  void rest(const json::Tree& state, const json::Tree& context) override {
    root_.rest(state, context);
  }

 private:
  class Events;
  struct Commit;

  [[nodiscard]] std::int64_t now() const { return services_.now_ms(); }
  void finish();
  void request_approvals(const AgentOutcome& outcome);
  void change_state(journal::RunState state);
  void flush();
  void committed(const store::AppendOutcome& outcome, const Commit& commit);
  void lose(const store::AppendOutcome& outcome);
  void watch_backlog();
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
  std::int64_t epoch_ = 1;
  std::unique_ptr<Events> events_;
  model::RedactingSink sink_;
  std::shared_ptr<AgentSession> session_;

  std::size_t in_flight_ = 0;
  bool is_resumed_ = false;  // its reader's run began in another process
  bool is_settled_ = false;
  bool is_paused_ = false;  // the store is slower than the model
};

}  // namespace millrace::run
