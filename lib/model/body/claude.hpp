// Settings of Claude's models, which Anthropic's API and Bedrock's Converse share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/dialects.hpp"

namespace millrace::model {

struct ClaudeThinking {
  std::string type;  // "", "enabled", "adaptive", "disabled"
  std::int64_t budget = 0;
  [[nodiscard]] bool on() const { return type == "enabled" || type == "adaptive"; }
};

// What the payload asks for, as the model takes it; `limit` is that of the answer.
ClaudeThinking claude_thinking(const Draft& draft, std::int64_t limit);
void write_claude_thinking(message::JsonBuilder& out, const ClaudeThinking& thinking);

// The effort as the model takes it, or "".
std::string_view claude_effort(const Draft& draft);

// The limit of an answer that the API demands: the payload's, or one that leaves room for thoughts.
std::int64_t claude_limit(const Draft& draft);

}  // namespace millrace::model
