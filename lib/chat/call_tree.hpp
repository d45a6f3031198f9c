// The calls of an answer as a tree and as a timeline, from the events that its history has.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::chat {

struct CallTree {
  json::Tree calls;     // the calls without a parent, in the order in which they began
  json::Tree timeline;  // these calls and the messages without a parent
};

// Shape of the events: [{seq, event, payload}]. Of a call: the members of contract B.4. A call
// whose parent is unknown, is itself or is nested too deeply has none here.
CallTree call_tree(const json::Tree& events);

// True for events that the history keeps.
bool is_history_event(std::string_view event);

// What a block tells of its job.
struct BlockFacts {
  std::string_view job_id;
  std::string_view conversation_id;
  std::string_view mode;
  std::string_view status;
  std::int64_t created_ms = 0;
  std::int64_t finished_ms = 0;  // 0: it has not ended
};

// Appends an end for each call that began and has none.
void close_calls(json::Tree& events, const BlockFacts& facts);

// The `webchat` block of an answer: its last thousand events with their calls. Calls of a job that
// was cut get their ends. Null without events.
json::Tree history_block(const BlockFacts& facts, json::Tree events);

// The block with this text in place of all that the agent wrote.
json::Tree with_text(const json::Tree& block, std::string_view text);

// A stored block as the API gives it: redacted again, with calls and timeline where they are
// missing, without the conversation. Null without events.
json::Tree shown_block(const json::Tree& block);

}  // namespace millrace::chat
