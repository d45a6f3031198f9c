// What makes a history valid for a provider: every tool call has one result behind it, every result
// has its call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::message {

// What stands in for the result of a call that never got one.
inline constexpr std::string_view interrupted_result = "The call was interrupted.";

// One change that repair made.
struct Change {
  enum class Kind : std::uint8_t {
    dropped_result,   // it answered no call, or one that was answered
    moved_result,     // it did not stand behind the message that holds its call
    added_result,     // the conversation went on without it
    dropped_call,     // its message has a call of the same id before it
    reported_result,  // it answered no call, so the user says it
    left_out_call,    // its provider ran the tool, and the conversation went on without a result
  };
  Kind kind = Kind::dropped_result;
  std::string tool_call_id;
  std::size_t message = 0;  // index before the repair: of the result, else of the call's message
};

// Checks the invariants. Calls of the last message may be open: their results are still to come.
// Errors: invalid_messages names the first message or call that breaks them.
Result<void> check_history(std::span<const Message> messages);

// True when it is seen at a glance that the history is valid: calls and results stand together,
// message by message. False for the others, and for messages with very many calls.
bool is_paired(std::span<const Message> messages, bool closes_last_calls = false);

// What becomes of a result whose call the history does not hold. One of a call that has its result
// is dropped anyway.
enum class Unmatched : std::uint8_t { dropped, as_user_text };

// What becomes of a call that the provider ran and that has no result.
enum class OpenServerCalls : std::uint8_t {
  answered,            // it gets one
  open,                // it stays as it is: the API takes results of its own making alone
  open_in_last_answer  // the same, but only an answer with nothing but results behind it may go on,
                       // or one whose program made the calls of the last answer: in any other the
                       // API rejects the call, which is left out
};

struct RepairOptions {
  Unmatched unmatched = Unmatched::dropped;
  // The messages of a recorded answer (ordered_answers.hpp) are written as one: results of its
  // calls may stand behind all of them. A result of a call that the provider ran stays where it is
  // until a message of the user: it may be part of a later answer.
  bool has_ordered_answers = false;
  OpenServerCalls open_server_calls = OpenServerCalls::answered;
  // The history is a request: calls of the host in its last message get a result as well.
  bool closes_last_calls = false;
};

// Whether a text has the words of an error: as its own, as a string of JSON in it, or, where they
// are no short word, anywhere.
bool has_error(std::string_view text, std::string_view error);

// Makes the history valid and says what was changed; a valid one is not touched. Only results of
// the same message, reasoning and activities may stand between a call and its result.
std::vector<Change> repair_history(Messages& messages, IdSource& ids,
                                   const RepairOptions& options = {});

// The change as a sentence for a log or a warning.
std::string describe(const Change& change);

}  // namespace millrace::message
