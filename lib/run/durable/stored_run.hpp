// What the store knows of a run that goes on: where it stood, and what its readers have half of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "event/event.hpp"
#include "journal/answer_trace.hpp"
#include "journal/fold.hpp"
#include "journal/open_parts.hpp"
#include "journal/record.hpp"
#include "journal/recovery.hpp"
#include "run/durable/function_session.hpp"
#include "run/durable/thread_messages.hpp"
#include "run/input.hpp"
#include "run/recorder.hpp"
#include "store/backend.hpp"

namespace millrace::run {

// Calls by their ids.
using Ledger = std::map<std::string, store::CallRow, std::less<>>;

// An agent that works for a call of the run, or of one of its agents.
struct StoredChild {
  store::RunRow row;
  json::Tree checkpoint;  // as it is stored
  std::int64_t next_checkpoint = 0;
  Ledger ledger;
  journal::RecoveryPlan plan;
  RecordedChild recorded;
  std::string subagent;   // the last id that readers have of it; "" is none
  bool is_shown = false;  // readers have seen its begin and not its end
  journal::OpenParts open;
  std::vector<std::string> shown;  // messages of its last step
  journal::AnswerTrace answer;     // of the model's last answer
  std::uint64_t ended_seq = 0;
};

// A question to the user about a call whose outcome is unknown.
struct OutcomeQuestion {
  std::string approval;
  std::int64_t expires_ms = 0;
  std::string answer = {};  // AG-UI's resume entry; "" while there is none
};

// What an approval is about.
struct RequestedCall {
  std::string call;
  std::string tools_hash;  // what the tools were; "" is not compared
};

struct StoredRun {
  store::Claim claim;
  journal::RunFold fold;
  journal::OpenParts open;
  json::Tree checkpoint;  // {"state", "context"}; null: none
  json::Tree joined;      // the same, with the states of agents that wait
  std::int64_t next_checkpoint = 0;
  std::string lost_checkpoint;  // why the run goes on from an earlier one, or ""
  std::int64_t last_at_ms = 0;  // of its last record
  Ledger ledger;
  std::map<std::string, std::string, std::less<>> keys;  // of calls of the run itself
  // Of the facts `accepted` and the last `segment`.
  std::string client_tools_json;
  std::string context_json;
  std::string trace;
  journal::OnDisconnect on_disconnect = journal::OnDisconnect::unset;
  std::string input_json;  // of a function's run, as are its questions
  // What a run has that waited for its turn and begins.
  std::optional<AgentInput> queued;
  // What a function or a job is called with; null for others. The code that starts it takes it.
  std::shared_ptr<Result<FunctionTask>> function;
  std::vector<store::ApprovalRow> approvals;
  std::string ag_ui_run;
  std::string parent_run_id;
  std::string protocol;
  std::vector<std::string> shown;    // messages of its last step
  journal::AnswerTrace answer;       // of the model's last answer
  bool lacks_history = false;        // its thread has messages that the run was not given
  bool is_between_segments = false;  // its last AG-UI run has ended for the readers
  // By their branches: those that are not over, or whose end is not in their caller's checkpoint.
  std::map<std::uint32_t, StoredChild> children;
  // Answers of the user that the last checkpoint does not know, as AG-UI's resume entries, and how
  // many of them were there when the run was last taken over.
  std::vector<std::string> answers;
  std::size_t answers_taken = 0;
  std::map<std::string, RequestedCall, std::less<>> requested;  // by the ids of approvals
  json::Tree::Items sent;                                       // messages of the user to the run
  std::vector<std::string> interruptions;  // the ids of those that cut what is at work
  // By the ids of calls that have not begun again since.
  std::map<std::string, OutcomeQuestion, std::less<>> outcomes;
  // Those that it has added to its thread so far.
  std::shared_ptr<ThreadMessages> messages = std::make_shared<ThreadMessages>();

  // Of the run itself, or of an agent that works for it.
  [[nodiscard]] std::string trace_of(std::uint32_t branch) const;
  // Whether readers have the beginning of a step of it.
  [[nodiscard]] bool is_in_step(std::uint32_t branch) const;
  // Whether a message cuts what the run was at when its last checkpoint was made.
  [[nodiscard]] bool is_interrupted() const;
};

// The last checkpoint, with the states of agents that wait, and the number of the next one.
// Errors: those of the backend; store_damaged where checkpoints do not fit each other.
struct StoredState {
  json::Tree checkpoint;
  std::int64_t next_number = 0;
  std::string lost = {};  // why it is an earlier one; "" for the last one
};
Result<StoredState> load_state(store::StorageBackend& backend, const store::RunId& run);

// Errors: those of the backend; store_damaged where checkpoints do not fit each other.
Result<std::shared_ptr<StoredRun>> load_run(store::StorageBackend& backend, store::Claim claim);

// Takes back what readers have of the run's last step.
std::function<void(event::EventSink&)> taking_back(const StoredRun& stored,
                                                   const journal::RecoveryPlan& plan);

// Closes what the readers have half of, before a run goes on in another process: all but an answer
// that goes on where it was.
void close_parts(const StoredRun& stored, const journal::RecoveryPlan& plan,
                 event::EventSink& sink);

}  // namespace millrace::run
