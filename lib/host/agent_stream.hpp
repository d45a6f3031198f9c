// An agent's run as a stream of the host: events and questions to the host out, answers in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/optional_box.hpp"
#include "event/batch.hpp"
#include "host/agent_bytes.hpp"
#include "host/host_sender.hpp"
#include "host/host_task.hpp"
#include "host/input_reading.hpp"
#include "host/throttle.hpp"
#include "model/call/redacting_sink.hpp"
#include "run/input.hpp"
#include "run/session.hpp"
#include "run/suspended_runs.hpp"

namespace millrace::host {

// A run as a host requests it.
struct AgentSpec {
  std::shared_ptr<const run::AgentPlan> plan;
  OptionalBox<run::AgentInput> input;  // until the run begins
  json::Tree state;                    // of a run that goes on; null for a new one
  json::Tree context;
  bool wants_checkpoints = false;  // the host is given the state after each step
  // The host sends the requests, with a fetch function of its own.
  bool host_fetch = false;
  bool stopped = false;                       // before it begins: questions stay open
  bool waits = false;                         // for the command "begin"
  Throttle::Span throttle = Throttle::usual;  // 0 is none
  // Reads the input, where that takes so long that a thread of the pool does it.
  ReadInput read_input = {};
};

// Shape: `input` is AG-UI's RunAgentInput, its messages as they are where the host is asked for the
// model's turns; `options` is { "format"?: string, "checkpoint"?: boolean, "fetch"?: boolean,
// "stopped"?: boolean, "waits"?: boolean, "state"?: object, "context"?: object, "throttleMs"?:
// number, "readsLater"?: boolean, "threadId"?: string, "runId"?: string: those of an input that is
// read later }.
// Errors: those of Tree::parse, and of read_agent_input where the input is not read later; else an
// item "@failed" before the head has them.
Result<AgentSpec> read_agent_spec(std::shared_ptr<const run::AgentPlan> plan,
                                  std::string_view input_json, std::string_view options_json,
                                  IdSource& ids);

// Items besides AG-UI's events and the diagnostics of the codec:
// {"type":"@tool" | "@model","id","value": AgentOwner::ask}, {"type":"@withdraw","id"},
// {"type":"@checkpoint","state","context"}, {"type":"@failed","error": error_json},
// {"type":"@result","status","reason","text","usage","cost","steps","interrupts"?,
// "messages"?: the run's own rows, of a plan with rounds}. Such a plan's runs tell no events but
// those of steps and further attempts. Where the host sends the requests, HostSender's items and
// answers come too.
//
// The commands "send" and "interrupt" give it a message of the user, whose content is their text as
// JSON (RunWork::send); {"type":"@sent","id","taken": boolean,"error"?: error_json} answers them.
//
// The head comes when the input is read. A run that waits begins with the command "begin", so that
// its host can ask for its bytes before the first event (AgentBytesTask). With the text "bytes" the
// items hold no events. With "response" the result has no text either: the response has it.
// Thread: engine thread.
class AgentStream final : public HostTask,
                          public run::AgentOwner,
                          public std::enable_shared_from_this<AgentStream> {
 public:
  AgentStream(DrainQueue::StreamId id, HostServices& services, run::SuspendedRuns& suspended,
              AgentSpec spec);

  void start();
  void read_as(const PipeSpec& spec) override { static_cast<void>(spec); }
  void resume() override;
  void cancel() override;
  void silence() override;
  void stop() override;
  void command(const HostCommand& command) override;
  void complete(std::uint64_t id, std::string_view json) override;
  // A reader of the run's bytes, before the run begins.
  void add(std::shared_ptr<AgentBytes> reader);
  void leave(const AgentBytes& reader);
  // A reader of the bytes has room again.
  void resume_for_all();

  void on_event(const event::Event& event) override;
  void moved() override;
  void request_host(run::HostWork work, std::uint64_t id, std::string json) override;
  void withdraw(std::uint64_t id) override;
  void rest(const json::Tree& state, const json::Tree& context) override;

 private:
  class Items;
  // What is read besides the bytes: everything, no events, or no text of the result either.
  enum class Reads : std::uint8_t { items, bytes, response };
  static Reads reads_of(std::string_view name);
  void take_input(Result<run::AgentInput> input);
  void open();
  void begin(Reads reads);
  Result<run::AgentTask> take_task();
  void finish();
  void fail(const Error& error);
  void deliver(bool ended);
  void hand_over_items();
  void pause_if_needed(bool ended);
  [[nodiscard]] bool any_lags() const;
  void close();

  DrainQueue::StreamId id_;
  HostServices& services_;
  run::SuspendedRuns& suspended_;
  AgentSpec spec_;
  std::string thread_id_;
  std::string run_id_;
  std::string output_;
  Throttle throttle_;
  std::shared_ptr<Items> items_;
  model::RedactingSink sink_;
  std::shared_ptr<HostSender> sender_;
  std::shared_ptr<run::AgentSession> session_;
  std::vector<std::shared_ptr<AgentBytes>> readers_;  // of the run's bytes
  std::optional<Reads> wanted_begin_;                 // before the input was read
  OptionalBox<Error> input_error_;
  bool is_read_ = false;
  bool begun_ = false;
  Reads reads_ = Reads::items;
  bool stop_requested_ = false;  // before it began
  bool full_ = false;            // a reader lags behind, and the model waits
  bool items_full_ = false;
  bool closed_ = false;
};

}  // namespace millrace::host
