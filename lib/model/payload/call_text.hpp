// Calls that a provider ran itself, as text: the models of other providers have no such tool.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "message/message.hpp"

namespace millrace::model {

// Arguments and a result are cut behind so many bytes each.
inline constexpr std::size_t call_text_bytes = 32UL * 1024;

struct CallText {
  std::string tool;  // its name
  std::string text;
  std::vector<std::string> images;  // that the call made: parts of AG-UI, JSON text
  bool is_cut = false;
};

// The name of the tool, its arguments, its result (null: none) and what failed. Members that only
// the provider can read (`encrypted_...`) and bytes in base64 are left out.
CallText text_of_call(const message::ToolCall& call, const message::Message* result);

// The same of a part of Gemini's that is such a call or its result: `toolCall`, `toolResponse`.
// The text is "" for any other part.
CallText text_of_tool_part(const json::Value& part);

}  // namespace millrace::model
