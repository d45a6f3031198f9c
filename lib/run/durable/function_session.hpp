// A run whose body is a function of the host: JavaScript shows what it likes and gives a result.
// The function of a job is entered again after a crash, and its steps answer from the ledger.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/optional_box.hpp"
#include "model/call/call_driver.hpp"
#include "run/input.hpp"
#include "run/session.hpp"
#include "store/types.hpp"

namespace millrace::run {

// When a job is due that waits for something to happen.
constexpr std::int64_t never_ms = std::int64_t{1} << 52U;

// How long a function may go on that is to stop: long enough to show what it has at hand. Who stops
// it waits for that.
constexpr std::chrono::milliseconds function_stop_grace{100};
// The same of a job, whose step under way is to be recorded.
constexpr std::chrono::seconds job_stop_grace{5};

// What a function is called with.
// Shape: `turn_json` is {"threadId", "messages", "state"?, "forwardedProps"?}, of a job {"input"}.
struct FunctionTask {
  std::string turn_json;
  json::Tree messages;  // the rows of `messages` (agent/state_messages.hpp)
  bool is_job = false;
  std::int64_t answer_ms = 0;  // how long the user has for an answer, where a question has no limit
  std::string run_id;          // of which questions to the user have their ids
  // {"usage"?, "cost"?, "report"?: {"notes"}} of the runs that worked for the job so far.
  json::Tree spent = json::Tree::object();
  // Questions that an earlier process asked, by their names.
  std::map<std::string, store::ApprovalRow, std::less<>> approvals;
};

// The host is requested once, as HostWork::function, and answers to that id
//   any number of times {"progress": {"event": "text", "text"} | {"event": "custom", "name",
//   "value"?} | {"event": "action", "name", "kind"?, "prompt"?, "schema"?, "timeoutMs"?},
//   of a job {"event": "step", "name", "n", "state", "effect", "result"?} | {"event": "child",
//   "name", "n", "state", "effect", "run", "result"?: with its "usage", "cost" and "notes"} |
//   {"event": "sleep", "name", "n", "until"} | {"event": "idle", "until"?, "seen": how many answers
//   and events it had} | {"event": "warning", "code", "message"},
//   "ack"?: number, "op"?: number},
//   then once {"result": text, JSON or null} or {"error": {"code", "message"}}.
// It is notified of {"ack": number}, once there is room for more; of {"answer": AG-UI's resume
// entry, "action": number from 1}, "expired" instead of "answer" where no answer came in time; of
// {"stop": true}: it has the grace to end then; of {"done": its "op"} once a step or sleep is
// stored; of {"event": {"name", "payload"}}; and of {"suspended": true}: the run goes on when it is
// entered again.
// Thread: engine thread.
// Lifetime: the owner outlives the session, or its end by leave().
class FunctionSession final : public RunWork, public std::enable_shared_from_this<FunctionSession> {
 public:
  FunctionSession(const model::DriverServices& services, FunctionTask task, AgentOwner& owner);
  ~FunctionSession() override;
  FunctionSession(const FunctionSession&) = delete;
  FunctionSession& operator=(const FunctionSession&) = delete;

  void start() override;
  void pause() override { is_paused_ = true; }
  void resume() override;
  void stop() override;
  void leave() override;
  void complete(std::uint64_t id, std::string_view json) override;
  void answered(std::string_view name, const json::Tree& entry) override;
  [[nodiscard]] bool takes_events() const override { return is_job_; }
  void take_event(std::string_view name, const json::Tree& payload) override;
  [[nodiscard]] bool ended() const override { return outcome_.has_value(); }
  [[nodiscard]] const AgentOutcome& outcome() const override { return *outcome_; }
  [[nodiscard]] const json::Tree& state() const override { return state_; }

 private:
  using Tree = json::Tree;

  void take_progress(const Tree& progress, std::int64_t op);
  void show_text(std::string_view text);
  void show_custom(const Tree& progress);
  void show_warning(const Tree& progress);
  void ask(const Tree& action);
  void record(const Tree& progress, journal::CallKind kind, std::int64_t op);
  void suspend(const Tree& progress);
  void expire(const std::string& name);
  void settle(std::int64_t action, std::string_view member, std::string_view json);
  void acknowledge();
  void take_result(const Tree& result);
  void take_error(const Tree& error);
  void end(AgentOutcome outcome);

  model::DriverServices services_;
  std::string turn_json_;
  AgentOwner* owner_;
  Tree state_;
  std::unique_ptr<model::TimeSource::Wait> grace_;  // since it was to stop
  // Questions by their names, which are those that the function gave, and their number from the
  // second on.
  struct Action {
    std::int64_t number = 0;
    std::unique_ptr<model::TimeSource::Wait> limit;
  };
  std::map<std::string, Action, std::less<>> open_;
  std::map<std::string, std::int64_t, std::less<>> times_;  // how often
  std::int64_t last_action_ = 0;
  std::int64_t reported_ = 0;  // answers and events that the function was notified of
  bool is_job_;
  std::int64_t answer_ms_;
  std::string run_id_;
  std::map<std::string, store::ApprovalRow, std::less<>> approvals_;
  std::int64_t to_acknowledge_ = 0;
  std::int64_t acknowledged_ = 0;
  bool is_paused_ = false;
  bool is_stopping_ = false;
  OptionalBox<AgentOutcome> outcome_;
};

// What is stored of the input of a function's run, and what its task is read from.
std::string function_input(const AgentInput& input);
// Errors: those of Tree::parse.
Result<FunctionTask> function_task(const store::RunId& run, std::string_view thread_id,
                                   std::string_view input_json);

}  // namespace millrace::run
