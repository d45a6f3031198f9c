// Canonical messages and the rows of an agent's state, which have OpenAI's members, both ways.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "message/shared_messages.hpp"

namespace millrace::agent {

// Errors: those of Tree::parse.
Result<json::Tree> state_messages_of(std::string_view canonical_json);

// The canonical messages that the rows stand for. A row that holds its `turn` gives the messages of
// the turn with the calls that the row has now.
// Errors: invalid_messages names the index and the member.
Result<message::Messages> messages_of(const json::Tree& state_messages);

// The same for rows that grow from turn to turn: the messages of rows that are the same as the last
// time are kept. A row that was changed is converted anew, with those behind it.
// Thread: any, one at a time.
class RowMessages {
 public:
  // Errors: those of messages_of.
  Result<message::SharedMessages> take(const json::Tree& state_messages);

 private:
  struct Read {
    json::Tree state_message;
    std::size_t end = 0;  // of its messages
  };
  std::vector<Read> read_;
  message::SharedMessages messages_;
};

// The piece that reports to a step machine a whole turn of the model: content, tool_calls,
// reasoning, messageId, and the turn where the row alone would lose something. Calls that the
// provider ran itself are history: they are in the turn only.
json::Tree chunk_of(const message::Messages& turn);

// The element of a list whose member is this text, or nullptr.
const json::Tree* find_by(const json::Tree& list, std::string_view member, std::string_view value);

}  // namespace millrace::agent
