// One reader of a durable run in JavaScript: begins the run or finds it, and gives what it records.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "event/event.hpp"
#include "host/host_task.hpp"
#include "host/input_reading.hpp"
#include "host/reader_room.hpp"
#include "host/run_items.hpp"
#include "host/throttle.hpp"
#include "run/durable/run_requests.hpp"
#include "run/input.hpp"

namespace millrace::host {

class RuntimeStream;

// What of a run is to be read.
struct RunSpec {
  std::string name;  // of the agent; "" attaches to a run that is there
  std::shared_ptr<const run::AgentPlan> plan;
  run::AgentInput input;
  std::string principal;
  std::string idem_key;
  std::string idem_hash;
  bool may_wait = false;  // as run::StartRequest
  store::Lane lane = store::Lane::normal;
  journal::OnDisconnect on_disconnect = journal::OnDisconnect::unset;
  std::string context_json;
  // Of the run that begins, that is attached to, or whose interrupts are answered.
  std::optional<store::RunId> run;
  // Of the job that the run works for, and what its ledger calls it.
  std::optional<store::RunId> parent;
  std::string parent_call;
  std::uint64_t after = 0;
  bool has_seqs = false;  // the number of each record, not of the last one of a batch alone
  bool wants_state = false;
  bool is_unread = false;   // it only begins the run, whose readers come later
  bool is_stopped = false;  // before it begins
  Throttle::Span throttle = Throttle::usual;
  ReadInput read_input = {};  // of a large one
};

// The member "onDisconnect", which the caller has checked.
journal::OnDisconnect on_disconnect_in(const json::Tree& options);

// How an agent's runs are dealt with, which the caller has checked.
// Shape: { "unknown"?: "report" | "retry" | "ask", "onDisconnect"?: "continue" | "stop",
// "approvalTimeoutMs"?: number }.
// Errors: invalid_json.
Result<run::DurableAgent> read_agent_settings(std::string_view json);

// Shape: `options` is { "name"?: string, "run"?: string, "principal"?, "idempotencyKey"?: string, "context"?: any,
// "inputHash"?: of what the request is known by, "after"?: number, "seqs"?: boolean, "checkpoint"?:
// boolean, "throttleMs"?: number, "parent"?: a run, "parentCall"?: string, "job"?: boolean,
// "stopped"?: boolean, "onDisconnect"?: "continue" | "stop", "threadId"?: of a job, "format"?,
// "fromClient"? as in read_agent_spec }; `plan` is null for runs of functions, and where a run is
// attached to, which has no input.
// Errors: invalid_argument; those of read_agent_input, with which the stream ends where the input
// is large.
Result<RunSpec> read_run_spec(std::shared_ptr<const run::AgentPlan> plan,
                              std::string_view input_json, std::string_view options_json,
                              IdSource& ids);

// Items: those of AgentStream for a reader of events, without requests to the host, and
// {"type":"@run","id","name","threadId","principal"} before the first event, {"type":"@seq","seq"}
// behind events. Reading ends where the run ends or waits for the user. Stopping stops the run,
// leaving does as RunRequests::left; one that is stopped before it began is not stored, and answers
// no question, nor is a run stopped that an earlier request with the same key began. The command
// "watch" has "1" as its text while somebody reads, else "".
// Thread: engine thread.
class RunStream final : public HostTask,
                        public run::RunReader,
                        public std::enable_shared_from_this<RunStream> {
 public:
  RunStream(DrainQueue::StreamId id, HostServices& services, std::shared_ptr<RuntimeStream> runtime,
            RunSpec spec);

  void start();
  void fail(const Error& error);

  void read_as(const PipeSpec& spec) override { static_cast<void>(spec); }
  void resume() override;
  void cancel() override;
  void silence() override;
  void stop() override;
  void command(const HostCommand& command) override;

  bool on_record(const journal::Record& record) override;
  void on_end(const Error* error) override;

 private:
  // What the records report of the end.
  struct End {
    std::optional<event::RunOutcome> outcome;
    std::string reason;
    std::string interrupts_json;
    std::string error_json;
    std::optional<journal::RunState> state;
    json::Tree value;  // that a function gave
  };
  static constexpr std::string_view stop_reason = "user_aborted";

  struct Rest;

  void take_input(Result<run::AgentInput> input);
  void open();
  void begin();
  void answer(const store::RunId& run);
  void began(const Result<run::FoundRun>& found);
  void end_unbegun();
  void find();
  void found(const store::NewRun& run);
  void read(const run::FoundRun& found, std::uint64_t after);
  void end_reading();
  void left();
  void note(const event::Event& event);
  void note(const journal::Fact& fact);
  void finish(const Rest& rest);
  [[nodiscard]] std::string_view status_of(const Rest& rest) const;
  void plan_delivery();
  void deliver(bool ended);
  void push_seq();
  void close();

  DrainQueue::StreamId id_;
  HostServices& services_;
  std::shared_ptr<RuntimeStream> runtime_;
  RunSpec spec_;
  std::string output_;
  Throttle throttle_;
  ReaderRoom room_;
  RunItems items_;
  std::shared_ptr<run::RunHub> hub_;
  store::RunId run_;
  End end_;
  std::uint64_t after_ = 0;  // what the reader has
  bool is_one_run_ = false;  // ends with the first AG-UI run
  std::uint64_t last_seq_ = 0;
  std::uint64_t given_seq_ = 0;
  bool is_planned_ = false;           // a delivery comes
  bool is_full_ = false;              // JavaScript lags behind
  bool lags_ = false;                 // the hub waits for room
  std::shared_ptr<bool> is_stopped_;  // its request on its way sees it too
  bool was_left_ = false;             // by its reader, perhaps before it began
  bool is_ending_ = false;            // the rest of the result is being read
  bool closed_ = false;
};

}  // namespace millrace::host
