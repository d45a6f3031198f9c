// Names that reading and writing of OpenAI's messages share.
#pragma once

#include <array>
#include <string_view>

#include "message/message.hpp"

namespace millrace::format::openai {

inline constexpr std::string_view provider = "openai_chat";
inline constexpr std::string_view items_provider = "openai_responses";
inline constexpr std::string_view custom_kind = "custom";
inline constexpr std::string_view extra_kind = "extra_content";
inline constexpr std::string_view details_kind = "reasoning_details";
inline constexpr std::string_view begun_kind = "begun";  // an answer that the model shall continue
inline constexpr std::string_view audio_kind = "audio";
inline constexpr std::string_view image_kind = "image";
// Whether the call is of a custom tool, in either API: its arguments are a text of any kind.
bool is_custom_call(const message::ToolCall& call);

// Members of an assistant message that hold its reasoning as text.
inline constexpr std::array<std::string_view, 2> reasoning_kinds{"reasoning_content", "reasoning"};

// Sound formats the API takes, and their MIME types.
struct AudioData {
  std::string_view format;
  std::string_view mime_type;
};
inline constexpr std::array<AudioData, 5> audio_formats{{{"wav", "audio/wav"},
                                                         {"mp3", "audio/mpeg"},
                                                         {"mp3", "audio/mp3"},
                                                         {"wav", "audio/x-wav"},
                                                         {"wav", "audio/wave"}}};

}  // namespace millrace::format::openai
