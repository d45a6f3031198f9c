// Where a run writes down what it is about to do. A run without a recorder does it at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/json_tree.hpp"
#include "model/call/known_answer.hpp"
#include "tool/spec.hpp"
#include "tool/tool.hpp"

namespace millrace::run {

// A call of a tool, before it begins.
struct CallIntent {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text
  std::string idempotency_key;
  tool::Effect effect = tool::Effect::once;
  bool is_agent = false;  // another agent works for it
};

// An agent that worked for a call in an earlier process.
struct RecordedChild {
  std::string run_id;  // as readers know it; "" where they have seen its end
  json::Tree state;    // of its last checkpoint
  json::Tree context;
  std::int64_t started_ms = 0;  // later by the time in which no process worked on it
  bool is_waiting = false;      // for the user
  bool is_over = false;         // the ledger has what its call came to
  std::optional<Error> failure = std::nullopt;  // why it cannot go on
};

struct AgentOutcome;

// The first of a chain; "" where the host chooses it.
struct FirstModel {
  std::string_view provider;
  std::string_view model;
  bool is_silent = false;  // readers get nothing of it
};

// Of one run: each agent that works for it has a recorder of its own.
// Thread: engine thread.
// Lifetime: as the owner of the run.
class Recorder {
 public:
  // Gets the answer in the background that an earlier process requested.
  using Request = std::function<void(const model::KnownAnswer& known)>;
  // Gets what the call came to in an earlier process, or null where the call has to be made.
  using Begin = std::function<void(const tool::ToolOutcome* known)>;

  virtual ~Recorder() = default;

  // The model is about to be requested; `request` does it, once all that happened before is safe.
  virtual void before_model(std::int64_t step, const FirstModel& model, Request request) = 0;
  // How far the answer was read that the provider makes in the background; its events were given.
  virtual void answer_read(const model::AnswerProgress& progress) = 0;
  // An answer goes on within a step whose beginning readers have: the next one.
  [[nodiscard]] virtual bool is_in_step() const = 0;
  // The provider makes an answer in the background that the next request to it gives.
  [[nodiscard]] virtual bool goes_on_with_answer() const = 0;
  // The last step whose request is recorded; 0 before the first one.
  [[nodiscard]] virtual std::int64_t last_step() const = 0;
  // Reads the attachments that messages of the state refer to, and gives the messages with them,
  // later. False where they refer to none.
  using Attached = std::function<void(json::Tree messages)>;
  virtual bool attach(const json::Tree& messages, Attached attached) = 0;
  // A call is about to begin; `begin` does it, once that cannot be forgotten any more.
  virtual void before_call(const CallIntent& call, Begin begin) = 0;
  // The end of a call, before readers see it. False where they have seen it in an earlier process.
  virtual bool call_ended(std::string_view id, const tool::ToolOutcome& outcome) = 0;
  // The key under which a call began that may be made again; "" for others.
  [[nodiscard]] virtual std::string key_of(std::string_view call) const = 0;
  // The ids of all calls that have begun, also of those that the state has no longer.
  [[nodiscard]] virtual std::vector<std::string> call_ids() const = 0;
  // A step ended; the run may go on from here.
  virtual void rest(const json::Tree& state, const json::Tree& context) = 0;

  // What is known of the agent that works for a call; null: nothing, or it was begun here.
  virtual const RecordedChild* child_of(std::string_view call) = 0;
  // An agent begins to work for a call, or goes on.
  // Lifetime: the recorder that it gives lives as long as this one.
  virtual Recorder& begin_child(std::string_view call, std::string_view agent,
                                std::string_view run_id) = 0;
  // The user has answered the agent of a call, which goes on from here.
  virtual Recorder& answer_child(std::string_view call, const json::Tree& state,
                                 const json::Tree& context) = 0;
  // The agent of a call ended, or waits; before what its call came to.
  virtual void end_child(std::string_view call, const AgentOutcome& outcome,
                         const json::Tree& state) = 0;
};

}  // namespace millrace::run
