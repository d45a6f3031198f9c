// The messages of a LangGraph server.
//
// Writes an array; reads an array or a thread's state (`{ "values": { "messages": [...] } }` or
// `{ "messages": [...] }`), plain messages and LangChain's constructor objects. Ids go both ways,
// so that a reducer replaces a message instead of appending it again. Provider state of a message
// under "langgraph": `content` (content blocks that are more than text; written back while the text
// is unchanged; those of an answer have sizes of texts and ids of calls), `additional_kwargs`,
// `message` (further members), and `part` (the message that this one is more of: they are written
// as one); of a call `invalid_call`, `members` (further ones) and `result` (what its result has
// besides a text). Where the order of an answer is recorded, messages and results
// are in it.
// A message of the type `remove` is an activity, since it says nothing to a model. Reasoning and
// other activities are left out. Parts: see format/retained.hpp.
// Source: LangChain messages, LangGraph API (2026).
#pragma once

#include <span>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::format {

void write_langgraph(message::JsonBuilder& out, std::span<const message::Message> messages);

// Errors: invalid_messages when `data` holds no array of messages.
Result<message::Messages> read_langgraph(const json::Value& data, IdSource& ids);

}  // namespace millrace::format
