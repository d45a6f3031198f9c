// The messages of Amazon Bedrock's Converse.
//
// Writes `{ "system"?: [...], "messages": [...] }`, reads that object or a bare array of messages.
//
// Writing: consecutive messages of one side become one turn; the results of tool calls stand
// directly behind the turn that made them; call ids are made acceptable and distinct; empty texts,
// which the API refuses, and media it cannot take (by address, but for S3) are left out. Reasoning
// goes back when its encrypted value is the JSON text `{"bedrock":{...}}`. Provider state under
// "bedrock": of a tool call `server_tool` and `server_tool_result`, of an assistant message
// `content_block` (blocks that go back as they are).
// Source: Amazon Bedrock API reference, "Message" (2026).
#pragma once

#include <span>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::format {

void write_bedrock_converse(message::JsonBuilder& out, std::span<const message::Message> messages);

// The two halves of that object, for a request that has more members. The system half writes the
// member `system`, or nothing when no message is of the system.
void write_bedrock_converse_system(message::JsonBuilder& out,
                                   std::span<const message::Message> messages);
void write_bedrock_converse_messages(message::JsonBuilder& out,
                                     std::span<const message::Message> messages);

// Errors: invalid_messages when `data` holds no array of messages.
Result<message::Messages> read_bedrock_converse(const json::Value& data, IdSource& ids);

}  // namespace millrace::format
