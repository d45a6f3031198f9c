// Names that reading and writing of OpenAI's messages share.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "message/message.hpp"

namespace millrace::format::openai {

inline constexpr std::string_view provider = "openai_chat";
// Parts and members that Mistral alone knows are its state.
inline constexpr std::string_view mistral_provider = "mistral";
inline constexpr std::string_view items_provider = "openai_responses";
// The member of a part that both have in the same form.
inline constexpr std::string_view cache_mark = "prompt_cache_breakpoint";
inline constexpr std::string_view custom_kind = "custom";
inline constexpr std::string_view extra_kind = "extra_content";
inline constexpr std::string_view details_kind = "reasoning_details";
inline constexpr std::string_view blocks_kind = "thinking_blocks";  // LiteLLM's
inline constexpr std::string_view begun_kind = "begun";  // an answer that the model shall continue
inline constexpr std::string_view audio_kind = "audio";
inline constexpr std::string_view image_kind = "image";
inline constexpr std::string_view refusal_kind = "refusal";
inline constexpr std::string_view content_kind = "content";      // a list that is more than texts
inline constexpr std::string_view tool_name_kind = "tool_name";  // of a result
// Of a call and its result, in the form before tool calls; of the result the name of the function.
inline constexpr std::string_view function_call_kind = "function_call";
inline constexpr std::string_view call_index_kind = "index";  // of a call of Mistral's
// The member of a part's metadata that says that its address came without an object around it.
inline constexpr std::string_view bare_member = "bareUrl";
// Further roles of messages of the Conversations API, which are read as those of the system.
// Source: openai-node 7.57, resources/conversations/conversations.ts, Message.role.
inline constexpr std::array<std::string_view, 3> further_roles{"critic", "discriminator",
                                                               "unknown"};
inline bool is_further_role(std::string_view role) {
  return std::find(further_roles.begin(), further_roles.end(), role) != further_roles.end();
}
// Whose state a part is: of OpenAI's API, or of Mistral's alone.
std::string_view provider_of(const json::Value& part);
// The reasoning in the parts of an answer, as Mistral gives it.
std::string reasoning_of_parts(const json::Value& content);
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
