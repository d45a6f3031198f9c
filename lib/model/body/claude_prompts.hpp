// System messages amid a conversation with Claude stay at their places.
#pragma once

#include <optional>

#include "message/message.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// The messages with those of the system amid the conversation as turns of the system, where the
// model takes them: behind a turn of the user, before one of the assistant or at the end. Elsewhere
// their words are a reminder in a turn of the user, which a note names. Nothing where there are
// none. Sources:
// https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages,
// https://code.claude.com/docs/en/agent-sdk/modifying-system-prompts (2026-11).
std::optional<message::Messages> claude_prompts(const Draft& draft);

}  // namespace millrace::model
