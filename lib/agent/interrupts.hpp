// Questions to a person in an agent's state, and their answers: AG-UI's interrupts and resume
// entries. A client only names a question; what it stands for is in the state.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

// How long a question may be answered that lives in memory.
constexpr std::chrono::minutes interrupt_lifetime{15};

// The interrupts of what the state waits for; none when it waits for no answer. Writes down in the
// state which they are, so that a question that stays open keeps its id.
// Units: milliseconds since 1970.
json::Tree open_interrupts(json::Tree& state, std::int64_t now_ms, IdSource& ids,
                           std::chrono::milliseconds lifetime = interrupt_lifetime);

// A state with answers in it, ready for AgentTask.
struct Answered {
  struct Result {
    std::string call_id;
    std::string content;
  };
  // An answer that is part of the conversation (mcp_answer), which readers do not have yet.
  struct State {
    std::string message_id;
    std::string provider;
    std::string kind;
    std::string json;
  };
  json::Tree state;
  json::Tree context;           // null: the run waits for the rest
  json::Tree children;          // by call id: {"state", "context"}
  std::vector<Result> results;  // that readers do not have yet
  std::vector<State> states;
  std::vector<std::string> unmatched;  // ids of interrupts that are not open
};

// Answers that a store has accepted count, however long the run took to go on with them.
enum class Expiry { counts, was_checked };

// The sentence for an answer to no open interrupt.
std::string unmatched_sentence(std::string_view interrupt_id);

// Applies AG-UI resume entries, and results of the client's own tools among `rows`.
// The payload of an approval is {"approved": boolean, "editedArgs"?: object or text, "reason"?:
// string, "stop"?: boolean}; `toolCallId`, `arguments` and `hash` are compared when they are given.
// Answers to no open interrupt are unmatched beside others.
// Errors: approval_mismatch, approval_answered (also when it is too late), invalid_argument.
// Nothing ran then, and the state may be answered again.
Result<Answered> take_answers(json::Tree state, const json::Tree& resume,
                              const json::Tree& state_messages, std::int64_t now_ms, IdSource& ids,
                              Expiry expiry = Expiry::counts);

// True when a run that ended can only go on from its own state.
bool must_be_suspended(const json::Tree& state);

// True when `rows` hold the result of a call that the state waits for.
bool has_client_results(const json::Tree& state, const json::Tree& state_messages);

// True when the user wrote the last of these messages: there is something to answer without an
// answer to an interrupt.
bool ends_with_user(const json::Tree& state_messages);

}  // namespace millrace::agent
