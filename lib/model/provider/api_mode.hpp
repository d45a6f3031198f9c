// Which of a provider's APIs a chat is asked by: `apiMode` of a payload or of the settings.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace millrace::model {

// What LobeHub's clients say wherever a provider's switch for the Responses API is off: whatever
// the provider's own API is, but not that one. "chat" asks for chat completions by name.
inline constexpr std::string_view not_responses = "chatCompletion";

inline constexpr std::string_view api_modes =
    "must be \"chatCompletion\", \"chat\", \"responses\", \"anthropic\" or \"gemini\"";

inline bool is_api_mode(std::string_view mode) {
  constexpr std::array<std::string_view, 5> modes{not_responses, "chat", "responses", "anthropic",
                                                  "gemini"};
  return std::find(modes.begin(), modes.end(), mode) != modes.end();
}

}  // namespace millrace::model
