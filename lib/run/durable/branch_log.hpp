// What one run of a line records: the root run, or an agent that works for it (docs/journal.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "event/event.hpp"
#include "journal/facts.hpp"
#include "journal/merger.hpp"
#include "journal/recovery.hpp"
#include "model/call/call_driver.hpp"
#include "run/durable/run_counts.hpp"
#include "run/recorder.hpp"
#include "run/session.hpp"
#include "store/types.hpp"
#include "store/writer.hpp"

namespace millrace::run {

struct StoredRun;

// What may be done with a call that had started when its process ended and must not run twice.
enum class UnknownPolicy : std::uint8_t {
  report,  // the model gets an error about it
  retry,   // it is made again
  ask,     // the user decides whether it was made
};

// The user's answer about a call: what it came to, or nothing where it is to be made again.
using UserOutcomes = std::map<std::string, std::optional<tool::ToolOutcome>, std::less<>>;

// How far a run is when its log begins.
struct LogPlace {
  store::RunId run;
  std::uint32_t branch = 0;
  std::int64_t epoch = 1;  // of the root run
  std::int64_t step = 0;
  std::int64_t model_attempt = 1;  // of the next request
  model::KnownAnswer known;        // of the next request: what an earlier process asked for
  bool is_in_step = false;         // that goes on in the step that readers know
  std::int64_t next_checkpoint = 0;
  json::Tree checkpoint;  // the last one, as it is stored; null: none
  std::map<std::string, store::CallRow, std::less<>> ledger;
  std::map<std::string, std::string, std::less<>> keys;  // of calls, as their intents have them
  UserOutcomes user_outcomes;  // of calls whose outcome was unknown, by their ids
};

// How often the store is looked at for what is due.
inline constexpr std::int64_t usual_look_ms = 60'000;
// How long the user has for an answer.
inline constexpr std::int64_t usual_approval_ms = std::int64_t{7} * 24 * 3600 * 1000;

struct LogOptions {
  std::string thread_id;
  std::string ag_ui_run;
  std::string parent_run_id;
  std::string principal;
  std::string context_json;  // what tools of the host get of the run; "" is none
  std::string trace;         // the same: its place in a trace, or ""
  UnknownPolicy unknown = UnknownPolicy::report;
  std::int64_t approval_ms = usual_approval_ms;
  journal::OnDisconnect on_disconnect = journal::OnDisconnect::unset;
  std::shared_ptr<RunCounts> counts = {};  // of the process; null: nothing counts
};

class BranchLog;

// What the root run and its children fill together until the next commit.
struct RunLine {
  using Go = std::function<void()>;

  explicit RunLine(const model::DriverServices& with) : services(with) {}
  [[nodiscard]] std::int64_t now() const { return services.now_ms(); }
  // Whose record the event is; null: the root run's.
  [[nodiscard]] BranchLog* branch_of(const event::Event& event) const;

  model::DriverServices services;
  std::shared_ptr<store::Writer> writer;
  store::RunId root;
  LogOptions options;
  journal::DeltaMerger merger;
  store::AppendBatch batch;
  std::vector<Go> gates;  // what the next batch lets begin
  std::uint32_t last_branch = 0;
  // Agents by the ids that readers have of them.
  std::map<std::string, BranchLog*, std::less<>> subagents;
  bool is_over = false;  // nothing more is recorded
  bool is_lost = false;  // another owner has the run, or the store failed
};

// Thread: engine thread.
// Lifetime: the line outlives it.
class BranchLog final : public Recorder {
 public:
  BranchLog(RunLine& line, LogPlace place) : line_(line), place_(std::move(place)) {}

  void note(const journal::Fact& fact);
  [[nodiscard]] std::int64_t step() const { return place_.step; }
  [[nodiscard]] std::uint32_t number() const { return place_.branch; }
  // Takes what an earlier process recorded: how far the model was requested, and the children.
  // `hold` is called for each run of the line that goes on within an answer; what it gives takes
  // back what readers have of that.
  using TakeBack = std::function<void()>;
  using Hold = std::function<TakeBack(const journal::RecoveryPlan& plan, std::uint32_t branch)>;
  void go_on(const StoredRun& stored, const journal::RecoveryPlan& plan, const Hold& hold);
  void note_terminal(const AgentOutcome& outcome, const json::Tree& state);
  // Ends the children that are not over, as cancelled; readers get that where `sink` is given.
  void end_children(event::EventSink* sink);

  // `keeps`: its result is wanted by steps_json.
  void note_step(const StepRecord& step, bool keeps = false);
  // What a job has recorded, each name in the order of its occurrences.
  // Shape: [{"call", "kind", "state", "effect", "result"?, "until"?, "run"?}].
  [[nodiscard]] std::string steps_json() const;
  // Runs work for it, or did.
  [[nodiscard]] bool has_child_runs() const;
  // How many rows of the ledger have this name.
  [[nodiscard]] std::int64_t rows_of(std::string_view name) const;

  // Notes how far answers in the background were read, its agents' as well: with the events of it.
  void note_read();

  void before_model(std::int64_t step, const FirstModel& model, Request request) override;
  void answer_read(const model::AnswerProgress& progress) override;
  [[nodiscard]] bool is_in_step() const override { return place_.is_in_step; }
  [[nodiscard]] bool goes_on_with_answer() const override { return !place_.known.id.empty(); }
  [[nodiscard]] std::int64_t last_step() const override { return place_.step; }
  bool attach(const json::Tree& messages, Attached attached) override;
  void before_call(const CallIntent& call, Begin begin) override;
  bool call_ended(std::string_view id, const tool::ToolOutcome& outcome) override;
  [[nodiscard]] std::string key_of(std::string_view call) const override;
  [[nodiscard]] std::vector<std::string> call_ids() const override;
  void rest(const json::Tree& state, const json::Tree& context) override;
  const RecordedChild* child_of(std::string_view call) override;
  BranchLog& begin_child(std::string_view call, std::string_view agent,
                         std::string_view run_id) override;
  BranchLog& answer_child(std::string_view call, const json::Tree& state,
                          const json::Tree& context) override;
  void end_child(std::string_view call, const AgentOutcome& outcome,
                 const json::Tree& state) override;

 private:
  struct Child {
    std::string agent;
    journal::RunState state = journal::RunState::running;
    std::unique_ptr<BranchLog> log;
    std::optional<RecordedChild> recorded;  // until it goes on here
  };

  void know_answer(const StoredRun& stored, const journal::RecoveryPlan& plan, const Hold& hold);
  store::CallRow& ledger_row(std::string_view id);
  [[nodiscard]] std::optional<tool::ToolOutcome> known_outcome(const CallIntent& call);
  void keep_spent(json::Tree& state) const;
  Child& child_at(std::string_view call, std::string_view agent, std::string_view run_id);
  void set_state(Child& child, journal::RunState state);

  RunLine& line_;
  LogPlace place_;
  // Of the answer at work, since the last commit.
  std::int64_t read_to_ = 0;
  std::string read_;
  std::map<std::string, Child, std::less<>> children_;  // by the ids of their calls
};

// What a run that ended like this has become.
journal::RunState state_of(const AgentOutcome& outcome);

}  // namespace millrace::run
