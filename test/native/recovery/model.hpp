// A small model of durable runs: what happens to them, and what recovery is to do with one that its
// process left. It is written from docs/journal.md and shares no code with the engine, which
// test/native/recovery/store_side.hpp compares it with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::recovery {

enum class Op : std::uint8_t {
  accept,  // a run exists
  claim,   // a process takes over what it can run
  crash,   // a process is lost
  deploy,  // a process lets go of its runs in good order
  pass_time,
  set_clock_back,
  sweep,     // approvals expire
  decide,    // somebody answers an approval
  request,   // the model, in a new step or again in the same one
  open,      // the provider named its response
  progress,  // of a response in the background
  show,      // readers see a piece of the answer
  complete,  // the answer is whole; it may call tools
  save,      // a checkpoint
  start,     // a call begins
  finish,    // a call has its result
  ask,       // the user, about a call
  rest,      // the run waits for the user
  job_step,  // begins, or ends
  sleep,     // a job is to sleep
  doze,      // it leaves the memory
  call_agent,
  end_agent,
  park,
  stop,
  end,
};
constexpr int op_count = static_cast<int>(Op::end) + 1;

// One random step: what it is about follows from the numbers and from where the runs stand.
struct Step {
  Op op = Op::accept;
  unsigned run = 0;
  unsigned pick = 0;
  unsigned more = 0;
};

enum class Effect : std::uint8_t { once, keyed, idempotent, read };
enum class Kind : std::uint8_t { tool, step, sleep, child };
enum class CallState : std::uint8_t {
  intent,
  waiting,
  started,
  ok,
  error,
  denied,
  cancelled,
  unknown
};
enum class State : std::uint8_t {
  queued,
  running,
  waiting,
  sleeping,
  parked,
  completed,
  failed,
  cancelled,
  dead
};

struct Call {
  std::string id;
  Kind kind = Kind::tool;
  Effect effect = Effect::once;
  CallState state = CallState::intent;
  std::int64_t tries = 0;
  std::int64_t until = 0;  // of a sleep
  std::size_t child = 0;   // its branch
};
struct Question {
  std::string id;
  std::string call;
  std::int64_t expires = 0;  // by the clock, as the journal has it; 0: never
  std::int64_t ends = 0;     // the same by the store's time, which may be ahead of the clock
  bool is_decided = false;
  bool has_expired = false;
};
// The run itself, or an agent that it called.
struct Branch {
  enum class Model : std::uint8_t { none, requested, opened, completed };
  bool is_over = false;
  std::int64_t step = 0;
  std::int64_t saved = -1;  // number of the last checkpoint
  std::int64_t saved_step = -1;
  Model model = Model::none;
  std::int64_t cuts = 0;   // requests that count, with the one that is open
  bool is_let_go = false;  // the open one does not count: its process ended in good order
  bool is_background = false;
  bool is_shown = false;
  std::int64_t upstream = 0;
  std::vector<Call> calls;
};
struct Run {
  bool is_job = false;
  unsigned name = 0;
  State state = State::queued;
  int owner = -1;
  std::int64_t epoch = 0;
  std::int64_t due = 0;
  std::int64_t last_at = 0;     // when its last record was made
  std::int64_t recoveries = 0;  // in all
  std::int64_t useless = 0;     // recoveries since a step ended
  bool was_released = false;
  bool is_stopping = false;
  std::vector<Branch> branches;
  std::vector<Question> questions;
};

// A step, with all that it is about. `call` and `question` are places in the lists of the run.
struct Action {
  Op op = Op::accept;
  std::size_t run = 0;
  std::size_t branch = 0;
  std::size_t call = 0;
  std::size_t question = 0;
  int process = 0;
  unsigned names = 0;  // that the process has, a bit each
  std::int64_t epoch = 0;
  std::int64_t number = 0;
  CallState to = CallState::ok;
  State end = State::completed;
  bool flag = false;
  bool is_other_user = false;
  std::vector<Effect> calls;
  [[nodiscard]] std::string text() const;
};

class Model {
 public:
  static constexpr int processes = 2;
  static constexpr unsigned names = 2;
  static constexpr std::size_t most_runs = 3;

  // Nothing where the step cannot happen now.
  [[nodiscard]] std::optional<Action> resolve(const Step& step) const;
  // Gives what comes of it, as store_side.hpp writes what came of it in the store.
  std::string apply(const Action& action);
  [[nodiscard]] std::string row(std::size_t run) const;
  [[nodiscard]] std::optional<std::int64_t> next_due() const;
  // What is wrong with a run that nothing will wake; "" where there is none.
  [[nodiscard]] std::string stuck() const;

  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  [[nodiscard]] std::int64_t clock() const { return clock_; }
  [[nodiscard]] std::int64_t now() const { return now_; }

 private:
  [[nodiscard]] bool resolve_call(const Step& step, const Run& run, Action& action) const;
  [[nodiscard]] bool resolve_model(const Step& step, const Run& run, Action& action) const;
  [[nodiscard]] bool resolve_rest(const Step& step, const Run& run, Action& action) const;
  [[nodiscard]] bool resolve_store(const Step& step, Action& action) const;
  std::string claim(const Action& action);
  std::string take(std::size_t at, int process);
  std::string sweep();
  std::string decide(const Action& action);
  std::string append(const Action& action);
  void change_model(const Action& action, Run& run, Branch& branch);
  void change_calls(const Action& action, Run& run, Branch& branch);
  void change_run(const Action& action, Run& run, Branch& branch);
  void wake_answered(Run& run) const;

  std::vector<Run> runs_;
  std::int64_t clock_ = 1'000'000;
  std::int64_t now_ = 1'000'000;
};

// How a plan is written: its move, what belongs to it, and the move of each call.
std::string plan_of(const Run& run, std::size_t branch, std::int64_t now, std::int64_t downtime);

}  // namespace millrace::recovery
