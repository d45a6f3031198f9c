// The messages of Amazon Bedrock's Converse.
//
// Writes `{ "system"?: [...], "messages": [...] }`, reads that object or a bare array of messages.
//
// Writing: consecutive messages of one side become one turn; the results of tool calls stand
// directly behind the turn that made them; call ids are made acceptable and distinct; empty texts,
// which the API refuses, and media it cannot take (by address, but for S3) are left out. Reasoning
// goes back when its encrypted value is the JSON text `{"bedrock":{...}}`. Provider state under
// "bedrock": of a tool call `server_tool` and `server_tool_result`, of a result `tool_result`
// (further members), of an assistant message `content_block` (blocks that are written before its
// text) and `blocks` (all of them in their order, while their text is unchanged), of a system
// message `block`. Parts: see format/retained.hpp.
// Source: Amazon Bedrock API reference, "Message" (2026).
#pragma once

#include <span>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::format {

// What the maker of a model refuses in the turns of a conversation.
struct BedrockTurns {
  bool not_empty = false;        // the conversation has a turn
  bool user_first = false;       // it begins with the user
  bool lone_results = false;     // nothing stands beside the results of calls
  bool no_files_beside = false;  // no document and no video stands beside them
  bool no_status = false;        // a result does not say that it failed
  bool cache_points = false;     // marks of the caller's become points of the cache
};

void write_bedrock_converse(message::JsonBuilder& out, std::span<const message::Message> messages);

// The two halves of that object, for a request that has more members. The system half writes the
// member `system`, or nothing when no message is of the system. Where a turn must not be as the
// messages are, a turn of one dot stands between.
void write_bedrock_converse_system(message::JsonBuilder& out,
                                   std::span<const message::Message> messages,
                                   bool cache_points = false);
void write_bedrock_converse_messages(message::JsonBuilder& out,
                                     std::span<const message::Message> messages,
                                     const BedrockTurns& turns = {});

// Errors: invalid_messages when `data` holds no array of messages.
Result<message::Messages> read_bedrock_converse(const json::Value& data, IdSource& ids);

}  // namespace millrace::format
