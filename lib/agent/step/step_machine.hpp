// One step of an agent run as a state machine: a state and a context in, actions out, answers in,
// until there is a new state. It waits for nothing and holds only values.
//
// An action `{id, kind, payload}` is answered by complete() or fail(), in any order:
// - runner `{context, state}`: the agent's instructions, or `{instructions, @rows?, @metadata?}`
// - executor `{instruction, state, context}`: a custom executor's `{events, newState,
// nextContext?}`
// - model `{payload, waitMs?, retry?}`: chunks through progress(), then anything. A chunk may name
//   the row of the answer by `messageId` and give it a member `turn`. Its `report` is added to that
//   of the state (agent/turn_reports.hpp). An error may have an `errorType`, and `retry: true`.
// - tool `{name, toolCall, args, effect?, waitMs?, retry?}`: the tool's result. An error may say
//   `retry: true`, and `details` beside its message; a result may have an `error` with `retryable:
//   true` or `kind: "retry"`. Of both the `retry`-th repetition begins `waitMs` later.
// - usage `{operation, result, previous}`: the new usage
// - cost `{context}`: the new cost
// - sub_agent `{task, parentMessageId, timeoutMs}`: `{success, threadId?, result?, error?}`
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/budget.hpp"
#include "agent/step_news.hpp"
#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/optional_box.hpp"
#include "base/result.hpp"

namespace millrace::agent {

class ProviderMessages;

// How often a call is tried again where its tool names no number, and at most.
inline constexpr int usual_retries = 2;
inline constexpr int most_retries = 5;
// The same of a model that is a function of the host.
inline constexpr int usual_model_retries = 5;
inline constexpr int most_model_retries = 100;

// What the host has. From JSON: `{custom: [types], tools: [names], retries: {tool: number}, model,
// modelRetries, usage, cost, subAgents, history, concurrency, approvalTimeoutMs, operationId,
// modelRuntimeConfig}`.
struct StepOptions {
  std::vector<std::string> custom;                        // instructions that custom executors take
  std::shared_ptr<const std::vector<std::string>> tools;  // their names; null is none
  bool model = false;
  bool usage = false;
  bool cost = false;
  bool sub_agents = false;
  // The engine keeps the conversation: assistant rows, ids and pending rows are written.
  bool history = false;
  std::size_t concurrency = 8;
  // How long a call may wait for a person's approval; 0 is no limit.
  // Units: milliseconds.
  std::int64_t approval_ms = 0;
  std::string operation_id;  // of contexts that name none
  // The agent's own `{model, provider, compressionModel?}`, before that of the state.
  json::Tree model_config = json::Tree();
  // There are reports instead of events: for a host that has the states, the payloads and the
  // pieces of answers that these would hold.
  bool lean = false;
  // How often the call of a `tool` action that failed in passing is tried again; null is never.
  std::function<int(const json::Tree& action)> retries = nullptr;
  // How often a model that failed in passing before it gave anything is asked again.
  int model_retries = 0;
  // Gives the instructions of a state and a context, instead of a runner action.
  std::function<json::Tree(json::Tree& state, const json::Tree& context)> decide = nullptr;
  // Arguments go to the tools as they are, also those that are no JSON.
  bool raw_arguments = false;
  std::int64_t answer_tokens = 0;  // that the model's answer may take at most; 0 is not known
  // Gives what the model reads of a call that failed; else it is a JSON object with the message.
  std::function<std::string(const json::Tree& error)> failure = nullptr;
  // The limit that a run which this one is a part of has reached: no call of the model starts then.
  std::function<std::optional<ReachedLimit>()> above = nullptr;
  std::uint64_t last_id = 0;  // of the actions of earlier steps; those of this one are above it
  // Keeps what was converted of the conversation for the steps of a long run; null converts anew.
  ProviderMessages* state_messages = nullptr;

  static StepOptions from(const json::Tree& options);
};

// Thread: any, one at a time.
class StepMachine {
 public:
  StepMachine(StepOptions options, IdSource& ids);

  // Starts a step; a null context is made from the state. Call once.
  // Units: milliseconds since 1970.
  void begin(json::Tree state, json::Tree context, std::int64_t now_ms);
  // Executes one instruction without asking the agent and without counting a step.
  void begin_instruction(json::Tree instruction, json::Tree state, json::Tree context,
                         std::int64_t now_ms);

  // Answers an action; an id that is not waiting any more is ignored.
  void complete(std::uint64_t id, json::Tree result, std::int64_t now_ms);
  void fail(std::uint64_t id, json::Tree error, std::int64_t now_ms);
  // A piece of a model's answer. `reset: true` takes back what came before it; `{retry}` is no
  // piece but tells readers of another attempt.
  void progress(std::uint64_t id, json::Tree chunk);
  // Ends the step without the answers that are still out.
  void abort(std::string_view reason, std::int64_t now_ms);
  // The run's limit of time passed: ends the run without the answers that are still out.
  void expire(std::int64_t now_ms);
  // When expire() is due, for runs with a limit of time.
  // Units: milliseconds since 1970.
  [[nodiscard]] std::optional<std::int64_t> deadline_ms() const;

  // What happened since the last call. Events are in the order they happened; those of the outcome
  // begin with the one that ended the step.
  StepNews take_news();
  // The same as JSON.
  json::Tree take() { return to_tree(take_news()); }
  [[nodiscard]] bool done() const { return done_; }
  // While the step goes on.
  [[nodiscard]] const json::Tree& state() const { return state_; }
  [[nodiscard]] std::uint64_t last_id() const { return last_id_; }

 private:
  using Tree = json::Tree;
  using Then = std::function<void(Tree result)>;
  using Else = std::function<void(Tree error)>;
  struct Waiting {
    ActionKind kind = ActionKind::runner;
    Then then;
    Else otherwise;
  };
  struct ToolRun {
    Tree call;
    Tree result;
    Tree error;    // null unless it failed
    Tree details;  // of a call that failed
    Tree action;   // what was asked for
    int retries = 0;
    bool reported = false;  // a lean host has heard of the result
    std::string lane;
    std::string state_message;  // of the conversation, when there is one to update
    std::int64_t started = 0;
    std::int64_t elapsed = 0;
    bool running = false;
    bool over = false;
    bool parked = false;
    bool rejected = false;  // answered without being run
  };
  struct ToolBatch {
    std::vector<ToolRun> runs;
    std::string parent;
    Tree base;                  // the state each custom executor starts from; null without one
    std::vector<Tree> results;  // of custom executors
    bool single = false;
    bool custom = false;
    std::size_t accounted = 0;
  };
  struct Builtin {
    std::string_view type;
    void (StepMachine::*run)(const Tree& instruction);
  };
  static std::span<const Builtin> builtins();

  // How a step begins (step_begin.cpp)
  bool is_still_waiting();
  bool pass_gate();
  void answer_messages(Tree& payload);
  Tree approved_call();

  // The frame of a step (step_machine.cpp)
  std::uint64_t request(ActionKind kind, Tree payload, Then then, Else otherwise = {});
  [[nodiscard]] Tree with_system_role(Tree messages) const;
  void report_retry(const Tree& data);
  void emit(Tree event, bool first = false);
  void report(StepReport made);
  void end_run_with(std::string_view reason, std::string_view detail, bool first = false);
  void emit_error(Tree error);
  void advance();
  void execute(const Tree& instruction);
  void run_custom(const Tree& instruction);
  bool has_state(const Tree& result);
  void take_answer(json::Tree answer);
  void take_instructions(Tree answer);
  void drop_what_was_read();
  void finish_instruction();
  [[nodiscard]] Tree context_of(std::string_view phase, Tree payload) const;
  [[nodiscard]] bool is_custom(std::string_view type) const;
  [[nodiscard]] std::string new_id() const { return ids_.next_id(); }
  // Of the row of a call's result, where nothing gives it one.
  [[nodiscard]] std::string new_result_id(const Tree& call) const;

  // How a step ends (step_end.cpp)
  void end_step();
  void fail_step(Tree error);
  void settle(Tree next_context);
  void drop_open_work(std::string_view why);

  // Limits and accounting (step_limits.cpp)
  bool over_limit_before(std::string_view operation);
  bool over_cost_limit();
  void stop_run(std::string_view reason, std::string_view detail);
  void account(std::string_view operation, Tree result, std::int64_t elapsed,
               std::function<void()> then);
  void count_llm(const Tree& result, std::int64_t elapsed);
  void count_tool(const Tree& result, std::int64_t elapsed);
  void account_cost(std::function<void()> then);
  bool guard_repeats(Tree& result);

  // Model turns (step_llm.cpp)
  void call_llm(const Tree& instruction);
  void request_model(Tree action, const Then& then, const Else& otherwise = nullptr);
  [[nodiscard]] const Tree& model_setting(std::string_view member) const;
  void fill_call(Tree& payload);
  Tree write_answer(const Tree& payload, const Tree& result);
  void mark_group(Tree& state_message) const;
  void keep_partial_answer();
  void repair_call(json::Tree& call);
  void repair_arguments(Tree& result);
  void finish_llm(const Tree& payload, std::int64_t started);

  // Compression (step_compression.cpp)
  void compress_context(const Tree& instruction);
  bool is_worth_a_summary(const Tree& messages);
  [[nodiscard]] std::int64_t room_in(std::int64_t window) const;
  // Units: tokens. A window that is known is one that texts may be cut for.
  struct Window {
    std::int64_t room = 0;  // of the rows
    bool known = false;
  };
  void report_uncompressed(std::int64_t tokens, Tree error);
  void report_compressed(const std::string& group);
  void finish_compression(const Tree& messages, std::size_t cut, Window window,
                          std::optional<std::string> summary, Tree error);

  // Tools (step_tools.cpp)
  void call_tool(const Tree& instruction);
  void call_tools_batch(const Tree& instruction);
  void start_tools(std::vector<Tree> calls, const Tree& payload, bool single);
  void pump_tools();
  void start_run(std::size_t index);
  void start_custom_run(std::size_t index);
  [[nodiscard]] std::string tool_of(const Tree& call) const;
  [[nodiscard]] Tree error_for_model(const Tree& error) const;
  void end_run(std::size_t index, Tree result, Tree error);
  void request_tool(std::size_t index, std::int64_t wait_ms);
  bool try_again(std::size_t index, const Tree& error);
  void account_tools();
  void report_result(ToolRun& run);
  Tree reported_result(ToolRun& run);
  void pass_results(Tree results);
  bool park_runs();
  void finish_tools();
  void end_by_tool();
  void merge_custom_tools();
  void write_tool_message(const ToolRun& run, const Tree& content);
  void write_vendor_message(const ToolRun& run, const Tree& content);
  Tree& tool_message(const ToolRun& run);
  void resolve_aborted_tools(const Tree& instruction);
  void resolve_blocked_tools(const Tree& instruction);
  Tree resolve_tools(const Tree& payload, std::string_view status, std::string_view reason,
                     std::string_view content);
  void exec_sub_agents(const Tree& instruction);
  void pump_sub_agents();
  void finish_sub_agents();
  void write_results();
  [[nodiscard]] std::string joined_results() const;

  // People (step_human.cpp)
  Result<Tree> batch_of(const Tree& calls);
  void bind_messages(const Tree& calls, const std::string& parent, const std::string& batch_id,
                     bool make);
  Result<void> check_messages(const Tree& calls);
  [[nodiscard]] std::string parent_of(const Tree& instruction);
  void retire_placeholder();
  void request_human_approve(const Tree& instruction);
  void request_human_prompt(const Tree& instruction);
  void request_human_select(const Tree& instruction);
  void wait_for_human(std::string_view counter);
  void finish(const Tree& instruction);

  StepOptions options_;
  IdSource& ids_;
  std::int64_t now_ms_ = 0;

  Tree state_;
  Tree checkpoint_;  // after the last whole instruction; null in a lean step
  Tree context_;
  Tree next_context_;
  std::vector<Tree> instructions_;
  std::size_t next_ = 0;
  std::int64_t step_count_ = 0;
  bool counts_ = true;
  bool finish_seen_ = false;
  bool executing_ = false;
  bool advancing_ = false;
  bool done_ = false;

  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Waiting> waiting_;
  StepNews news_;
  Tree events_ = Tree::array();

  Tree answer_;              // of the model, while it streams
  bool has_answer_ = false;  // something of it came
  Tree answering_;           // members of the call that it answers; null while there is none
  std::optional<ToolBatch> batch_;
  struct SubAgents {
    std::string type;
    std::string parent;
    std::vector<Tree> tasks;
    std::vector<Tree> results;
    std::size_t next = 0;
    std::size_t running = 0;
    std::size_t over = 0;
  };
  OptionalBox<SubAgents> sub_agents_;
};

}  // namespace millrace::agent
