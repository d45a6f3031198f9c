// The content of LangGraph's messages, as streams and histories have it alike.
#pragma once

#include "base/json.hpp"

namespace millrace::message {

// Whether content says nothing: it has no blocks, or only blocks of text without text.
// Source: langchain-ai/langgraphjs, `libs/sdk/src/stream/message-coercion.ts` (2026).
bool is_empty_langgraph_content(const json::Value& content);

// The content of a message; where it is empty, the blocks that LangChain's newer messages have
// beside it, or the text of its oldest form.
json::Value langgraph_content_of(const json::Value& body);

// Whether it is a message in the oldest form of stores, `{type, role, text}`.
// Source: @langchain/core 1.1, `StoredMessageV1`.
bool is_langgraph_text(const json::Value& body);

// Whether it is a message as `toDict()` gives it, within the member `data`.
// Source: @langchain/core 1.1, `BaseMessage.toDict`.
bool is_langgraph_dict(const json::Value& value);

}  // namespace millrace::message
