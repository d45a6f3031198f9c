// Settings of Claude's models, which Anthropic's API and Bedrock's Converse share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/provider/dialects.hpp"

namespace millrace::model {

struct ClaudeThinking {
  std::string type;  // "", "enabled", "adaptive", "disabled", "between_tools"
  std::int64_t budget = 0;
  std::string display;        // of reasoning, or ""
  std::string block_binding;  // JSON, or ""
  [[nodiscard]] bool on() const { return type == "enabled" || type == "adaptive"; }
};

// What the payload asks for, as the model takes it; `limit` is that of the answer.
ClaudeThinking claude_thinking(const Draft& draft, std::int64_t limit);
void write_claude_thinking(message::JsonBuilder& out, const ClaudeThinking& thinking);

// The effort as the model takes it, or "".
std::string_view claude_effort(const Draft& draft);

// Whether Anthropic's API and the model behind it hold answers and arguments of tools to a schema.
// Other vendors behind that API do not.
bool claude_takes_schemas(const ProviderConfig& config, Traits traits);

// The choice of a tool as the model takes it: one that thinks cannot be made to call one.
ToolChoice::Kind claude_tool_choice(const Draft& draft, bool is_thinking);

// The messages without a beginning of the answer, where that is refused (by some models, and by all
// while they think), else without white space at its end, which is refused too.
DraftMessages claude_messages(const Draft& draft, bool is_thinking);

// The limit of an answer that the API demands: the payload's, at most that of the model's card;
// else the card's, else one that leaves room for reasoning.
std::int64_t claude_limit(const Draft& draft);

}  // namespace millrace::model
