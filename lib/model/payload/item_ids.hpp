// Items of the Responses API and the reasoning that they came with: the API knows the ids of what
// it made, and rejects such an item without its reasoning.
// Source: docs/decisions/ordered-parts.md.
#pragma once

#include <vector>

#include "format/openai_conversation_reasoning.hpp"
#include "message/shared_messages.hpp"
#include "model/payload/payload.hpp"
#include "model/payload/request.hpp"
#include "model/provider/config.hpp"

namespace millrace::model {

// What becomes of reasoning that came without encrypted content.
format::PlainReasoning plain_reasoning(const ProviderConfig& config, const ChatPayload& payload);

// Takes the ids out of items whose reasoning is gone, was changed or is left out: they go as new
// ones. Adds a note that counts them.
void drop_item_ids(message::SharedMessages& messages, format::PlainReasoning plain,
                   std::vector<Note>& notes);

}  // namespace millrace::model
