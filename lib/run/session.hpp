// An agent's run on the engine thread: the step machine, the model it asks, the tools and the other
// agents that it calls, until the run ends or waits for somebody.
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
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/interrupts.hpp"
#include "agent/provider_rows.hpp"
#include "agent/state_messages.hpp"
#include "agent/step/step_machine.hpp"
#include "agent/tokens.hpp"
#include "base/json_tree.hpp"
#include "base/optional_box.hpp"
#include "event/event.hpp"
#include "journal/facts.hpp"
#include "message/client_items.hpp"
#include "model/call/call_driver.hpp"
#include "run/model_turn.hpp"
#include "run/plan.hpp"
#include "run/recorder.hpp"
#include "run/tool_job.hpp"

namespace millrace::run {

// What a run is given.
struct AgentTask {
  std::string thread_id;
  std::string run_id;
  std::string trace;          // `traceparent` of the requests to models; "" is none
  json::Tree state_messages;  // of a new run (state_messages.hpp)
  json::Tree client_tools;    // AG-UI tools that the client runs
  // What the model is offered with them, where it is known already.
  std::shared_ptr<const Result<model::ChatPayload>> request = nullptr;
  // Of a run that goes on; null for a new one. Without a context it waits as before.
  json::Tree state;
  json::Tree context;
  // Answers to other agents of the run that wait, by the id of their call: { "state", "context" }.
  json::Tree children;
  // Results that were decided on and that the reader does not know: the id of the call, the text.
  std::vector<std::pair<std::string, std::string>> results;
  // Answers that are part of the conversation and that the reader does not know.
  std::vector<agent::Answered::State> states;
  // Of a run that this one is a part of.
  std::shared_ptr<UsedIds> used;
  // The limit that it has reached.
  std::function<std::optional<agent::ReachedLimit>()> above = nullptr;
  // Questions that are answered and are not open.
  std::vector<std::string> unmatched;
  json::Tree::Items sent;  // messages of the user that its state may not have (AgentSession::send)
  std::vector<std::string> interruptions;  // the ids of those that cut what it goes on with
  message::Withheld withheld;              // of the input
  std::size_t unfit_records = 0;
  // How long questions to the user may be answered.
  std::chrono::milliseconds interrupt_lifetime = agent::interrupt_lifetime;
  // Lifetime: as the owner.
  Recorder* recorder = nullptr;
  OptionalBox<Error> failure = std::nullopt;  // why it cannot go on from its state
};

// What a run reads of its task until it ends.
struct RunSettings {
  std::string thread_id;
  std::string trace;
  std::shared_ptr<UsedIds> used;
  std::function<std::optional<agent::ReachedLimit>()> above;
  std::chrono::milliseconds interrupt_lifetime;
  Recorder* recorder;
};

// How a run ended.
struct AgentOutcome {
  enum class Kind : std::uint8_t {
    finished,   // `reason` is a finish reason of the agent room
    delegated,  // the client runs the calls that have no result
    waiting,    // for approval or an answer: `interrupts`
    cancelled,
    failed,
  };
  Kind kind = Kind::finished;
  std::string reason;
  std::optional<Error> error;
  json::Tree interrupts;  // of AG-UI's shape
  bool decided = false;   // cancelled by a person's answer, not in the middle of something
  OptionalBox<TurnFailure> failure = std::nullopt;  // of the turn that the error is of
  std::string value_json = {};                      // that a function gave; "" is none
};

// What a host is asked to do.
enum class HostWork : std::uint8_t { tool, model, function };

// What a job records of a step, a sleep, a wait or a run that works for it; its name and occurrence
// say which.
struct StepRecord {
  std::string name;
  std::int64_t occurrence = 1;
  journal::CallKind kind = journal::CallKind::step;
  journal::CallState state = journal::CallState::ok;
  journal::Effect effect = journal::Effect::once;
  std::string result_json = {};  // of one that is over: what it gave, or its error
  std::int64_t until_ms = 0;     // of a sleep
  std::string run = {};          // of a child: the run that works for the job
};

// Who runs a session. Events come as of a legal AG-UI run, without its frame.
// Thread: engine thread. None of these may destroy the session.
class AgentOwner : public event::EventSink {
 public:
  // Events came, or the end.
  virtual void moved() = 0;
  // Has the host do something; the answer goes to AgentSession::complete.
  // Shape: of a tool {"name", "toolCallId", "arguments": JSON text, "idempotencyKey"}, of a model
  // host_request(), of a function FunctionTask's.
  virtual void request_host(HostWork work, std::uint64_t id, std::string json) = 0;
  // The answer is not wanted any more.
  virtual void withdraw(std::uint64_t id) = 0;
  // News of a function that the host runs (FunctionSession).
  virtual void notify(std::uint64_t /*id*/, std::string /*json*/) {}
  // A question to the user that a function waits for while it is at work, shown as AG-UI's
  // interrupt; the answer goes to RunWork::answered under this name.
  virtual void request_answer(std::string_view name, const json::Tree& interrupt,
                              std::int64_t expires_ms) {
    static_cast<void>(name);
    static_cast<void>(interrupt);
    static_cast<void>(expires_ms);
  }
  // Records what a job did, or is about to do; `recorded` is called when that is safe.
  virtual void record_step(const StepRecord& /*step*/, std::function<void()> /*recorded*/) {}
  // A job does nothing but wait, until a time or, without one, for the user: it may leave the
  // memory. False where it has to go on.
  virtual bool suspend(std::optional<std::int64_t> until_ms) {
    static_cast<void>(until_ms);
    return false;
  }
  // A message that was sent is in the conversation from here on. Shape: of RunWork::send.
  virtual void message_taken(const json::Tree& message) { static_cast<void>(message); }
  // A step ended; a run may go on from here elsewhere.
  virtual void rest(const json::Tree& state, const json::Tree& context) {
    static_cast<void>(state);
    static_cast<void>(context);
  }
};

// The member of an agent's state with the ids of the messages that it has taken.
inline constexpr std::string_view taken_messages = "takenMessages";

// What a run does, as its owner drives it.
// Thread: engine thread.
class RunWork {
 public:
  virtual ~RunWork() = default;
  virtual void start() = 0;
  // The reader lags behind, or has room again.
  virtual void pause() = 0;
  virtual void resume() = 0;
  // Ends the run as cancelled.
  virtual void stop() = 0;
  // The same, and the owner gets nothing more.
  virtual void leave() = 0;
  // An answer of the host. An unknown id is ignored.
  virtual void complete(std::uint64_t id, std::string_view json) = 0;
  // The user's answer to a question of request_answer: AG-UI's resume entry.
  virtual void answered(std::string_view name, const json::Tree& entry) {
    static_cast<void>(name);
    static_cast<void>(entry);
  }
  // Takes a message of the user: before the next request to the model, or at once where it
  // interrupts, which cuts the answer and the calls at work. An answer that was the last is
  // followed by another one. Only where takes_messages().
  // Shape: {"id", "role": "user", "content"}.
  virtual void send(const json::Tree& message, bool interrupts) {
    static_cast<void>(message);
    static_cast<void>(interrupts);
  }
  [[nodiscard]] virtual bool takes_messages() const { return false; }
  [[nodiscard]] virtual bool takes_events() const { return false; }
  // Something that happened outside, which a job may wait for.
  virtual void take_event(std::string_view name, const json::Tree& payload) {
    static_cast<void>(name);
    static_cast<void>(payload);
  }
  [[nodiscard]] virtual bool ended() const = 0;
  [[nodiscard]] virtual const AgentOutcome& outcome() const = 0;
  [[nodiscard]] virtual const json::Tree& state() const = 0;
};

// What a run keeps of its conversation from turn to turn, once it is long: what was converted of it
// and counted. Short ones are converted anew in no time, and a run that waits holds them once.
struct LongConversation {
  static constexpr std::size_t least_rows = 24;

  agent::ProviderMessages state_messages;
  agent::RowMessages messages;
  agent::ContextTokens tokens;
};

// Thread: engine thread.
// Lifetime: the owner outlives the session, or its end by leave().
class AgentSession final : public RunWork, public std::enable_shared_from_this<AgentSession> {
 public:
  AgentSession(const model::DriverServices& services, std::shared_ptr<const AgentPlan> plan,
               AgentTask task, AgentOwner& owner);
  ~AgentSession() override;
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;

  void start() override;
  // Ends, cancelled, with what it was given: nothing is asked and nothing runs.
  void end_at_once();
  void pause() override;
  void resume() override;
  // Ends the model's socket, every tool and every other agent.
  void stop() override;
  void leave() override;
  // The host's answer: host_chunk() of a model; of a tool {"content": string, "isError"?, "code"?,
  // "extra"?: object}, or {"progress": value} on the way.
  void complete(std::uint64_t id, std::string_view json) override;
  void send(const json::Tree& message, bool interrupts) override;
  [[nodiscard]] bool takes_messages() const override { return !outcome_ && !stopping_; }
  // For an owner that is another session.
  void record_rest(const json::Tree& state, const json::Tree& context);
  void stop_recording();

  [[nodiscard]] bool ended() const override { return outcome_.has_value(); }
  [[nodiscard]] const AgentOutcome& outcome() const override { return *outcome_; }
  // After the last step.
  [[nodiscard]] const json::Tree& state() const override { return state_; }
  // Rows that the run was given; those behind them are its own.
  [[nodiscard]] std::size_t given_messages() const { return given_messages_; }

 private:
  using Tree = json::Tree;
  class Child;

  void begin();
  void prepare_state();
  void leave_to_client(const std::string& name);
  // The loop (agent_session.cpp)
  bool goes_on();
  void next_step();
  void keep_time(std::optional<std::int64_t> until_ms);
  void wait_for_deadline();
  json::Tree take_interrupts();
  void defer_question();
  void report_checkpoint();
  void pump();
  void perform(const agent::StepAction& action);
  void take_report(const agent::StepReport& report);
  void warn_of(const agent::CompressionFailure& failure);
  void take_outcome(agent::StepOutcome outcome);
  void finish();
  void end_waiting();
  Tree decide(Tree& state, const Tree& context);
  Tree decide_turn(Tree& state, const Tree& context);
  [[nodiscard]] bool asks_user(const Tree& call) const;
  [[nodiscard]] Tree pending_input(const Tree& state) const;

  // Turns of the model and calls (agent_session_calls.cpp)
  void begin_model(std::uint64_t action, const Tree& payload);
  void begin_call(std::uint64_t action, CallIntent intent,
                  std::function<void(AgentSession&)> begin);
  void begin_agent(std::uint64_t action, const SubAgent& agent, const Tree& call);
  void start_job(std::uint64_t action, const tool::Spec& spec, tool::ToolCall wanted);
  void call_model(std::uint64_t action, const Tree& payload, const model::KnownAnswer& known);
  void request_model(std::uint64_t action, const Tree& payload, const Tree& state_messages,
                     const model::KnownAnswer& known);
  Result<message::SharedMessages> messages_for(const Tree& state_messages, bool silent);
  void on_turn();
  void take_turn(std::uint64_t action, Tree chunk);
  void request_from_host(std::uint64_t action, const Tree& state_messages);
  void on_host_turn(std::string_view json);
  void leave_host_turn();
  void call_tool(std::uint64_t action, const Tree& payload);
  void run_tool(std::uint64_t action, const tool::Spec& spec, const Tree& call);
  void start_tool(std::uint64_t action, const Tree& payload);
  void end_tool(std::uint64_t action, const tool::ToolOutcome& outcome);
  void reject(std::uint64_t action, const Error& error);
  bool report_result(const std::string& call_id, const tool::ToolOutcome& outcome);
  void report_acknowledged(const agent::CallEnd& end);
  void report_details(const std::string& call_id, const tool::Details& given);
  void report_progress(const std::string& call_id, std::string_view json);
  void open_step();
  void report_step();
  void close_step();
  void emit(const event::Body& body);

  // How it ends (agent_session_end.cpp)
  void expire();
  void take_partial_turn();
  void take_cut_turn(ModelTurn& turn);
  void end_between(AgentOutcome outcome);
  void end(AgentOutcome outcome);
  void cancel_action(std::uint64_t action);
  void cancel_all();
  void drop_child(Child& child);
  void record_child_end(const Child& child);

  // Messages of the user (session_sent.cpp)
  void interrupt_step();
  [[nodiscard]] bool waits_any(const std::vector<std::string>& ids) const;
  void load_sent();
  void take_sent();
  [[nodiscard]] bool may_add_sent() const;
  void add_sent();
  void leave_questions();
  void close_cut_calls();
  void keep_sent();

  // Other agents (agent_children.cpp)
  void call_agent(std::uint64_t action, const SubAgent& agent, const Tree& call);
  void start_child(std::uint64_t action, const SubAgent& agent, std::string call_id,
                   AgentTask task);
  void start_queued();
  void on_child(std::uint64_t action);
  Tree totals_of(const Child& child) const;
  Tree totals() const;
  [[nodiscard]] std::optional<agent::ReachedLimit> reached_limit() const;
  void take_spent();
  void report_child_end(const Child& child, const tool::ToolOutcome& outcome);
  void keep_child(std::uint64_t action, const Child& child);

  // Agents of a run that goes on (session_resume.cpp)
  void take_recorded();
  void resume_children();
  void end_child(std::uint64_t action, const Child& child, const tool::ToolOutcome& outcome);
  void settle_resumed();

  model::DriverServices services_;
  std::shared_ptr<const AgentPlan> plan_;
  RunSettings settings_;
  std::unique_ptr<AgentTask> task_;  // until the run has begun
  AgentOwner* owner_;
  std::set<std::string, std::less<>> client_names_;
  // Of the plan, with the tools of the client.
  std::shared_ptr<const Result<model::ChatPayload>> request_;
  std::size_t given_messages_ = 0;

  Tree state_;
  std::string operation_id_;  // of the run and of those that go on from it
  Tree context_;
  std::unique_ptr<agent::StepMachine> machine_;
  // No two actions of a run have one id: the host may answer late.
  std::uint64_t last_action_ = 0;
  std::unique_ptr<model::TimeSource::Wait> deadline_;  // of runs with a limit of time
  std::int64_t time_left_ms_ = 0;                      // behind what it waits for
  bool pumping_ = false;
  bool paused_ = false;
  bool stopping_ = false;
  Tree::Items sent_;  // messages of the user that the conversation does not have yet
  std::set<std::string, std::less<>> sent_ids_;  // of all that it was given
  bool interrupting_ = false;                    // one of them cuts the step
  bool needs_step_ = false;                      // they are to be answered
  std::string reason_;                           // of the step machine's end
  OptionalBox<Error> turn_error_;                // that ends the run
  OptionalBox<TurnFailure> turn_failure_;
  OptionalBox<AgentOutcome> outcome_;

  // Calls of the last turn of the model whose result the reader does not have.
  std::vector<std::string> open_calls_;
  std::int64_t step_ = 0;
  bool step_open_ = false;
  bool is_in_step_ = false;  // readers have the beginning of the next one

  std::shared_ptr<ModelTurn> turn_;
  std::uint64_t turn_action_ = 0;
  bool host_turn_ = false;  // the turn is the host's
  // Actions that begin once they are recorded.
  std::set<std::uint64_t> unrecorded_;
  std::map<std::uint64_t, std::shared_ptr<ToolJob>> jobs_;
  // Calls that begin later.
  std::map<std::uint64_t, std::unique_ptr<model::TimeSource::Wait>> waits_;
  std::map<std::uint64_t, std::unique_ptr<Child>> children_;
  // Children that wait for their turn.
  struct Queued {
    std::uint64_t action;
    const SubAgent* agent;
    std::string call_id;
    AgentTask task;
  };
  std::list<Queued> queued_;
  // What children ask the host, under ids of this run's.
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> requested_;
  std::uint64_t last_request_ = std::uint64_t{1} << 32U;
  std::vector<Tree> spent_;  // by children that ended, and by a turn that failed
  Tree waiting_children_;    // by call id: {"agent", "state", "interrupts", "counted"}
  Tree inherited_;           // rows for children that inherit them
  std::unique_ptr<LongConversation> long_;  // null while the conversation is short
};

}  // namespace millrace::run
