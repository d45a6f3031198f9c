// The messages of OpenAI's Chat Completions API.
//
// Reads and writes an array. Provider state under "openai_chat": of a message `audio`, `refusal`,
// `reasoning_details` and `thinking_blocks` (one state an element) and `begun`, `content` (the list
// that its text came as; under "mistral" where only Mistral knows its parts), of a result
// `tool_name`, of a reasoning message `reasoning_content` or `reasoning` (the member it came from),
// of a tool call `extra_content` and `custom`. An encrypted value that is a JSON object (of a call)
// or array (of an assistant message) goes back as `extra_content` and `reasoning_details`, a list
// of LiteLLM's blocks as `thinking_blocks`. Reasoning without such a state and activities are left
// out. A message of an unknown role is one of the system, with its role among its further members.
// Source: OpenAI API reference, Chat Completions (2026).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::format {

void write_openai(message::JsonBuilder& out, std::span<const message::Message> messages);

// What servers of the same API want otherwise.
struct OpenAiWriteOptions {
  // The member that all reasoning before an assistant message goes back in, for servers that demand
  // it (DeepSeek and Kimi: "reasoning_content").
  std::string_view reasoning_member = {};
  // The only member that the server takes reasoning in, whatever it came in; "" is none. Details of
  // reasoning are refused, too.
  std::optional<std::string_view> only_member = {};
  // Every assistant message has that member, "" where there was no reasoning.
  bool always_reasoning = false;
  // What it has instead of "" (Kimi takes no empty one).
  std::string_view no_reasoning = {};
  // All reasoning goes back as `reasoning_details` of this format instead (MiniMax).
  std::string_view details_format = {};
  // Images of answers go back as `images` of their messages (OpenRouter).
  bool answer_images = false;
  // The member that marks the last message as an answer to be continued (`prefix`, `partial`), and
  // whether any assistant message at the end is one.
  std::string_view begun_member = {};
  bool always_begun = false;
  bool video_parts = false;  // videos go as `video_url`, not as `image_url`
  // Mistral's own: files by value go as `document_url`, audio as bare base64.
  bool mistral_parts = false;
  bool file_url_parts = false;  // files go as `file_url`, those by value as bare base64
  bool audio_urls = false;      // audio goes as `data:` URLs and by address, too
  // Reasoning goes as a part `thinking` before the text.
  // Source: @mistralai/mistralai 2.2.5, examples/src/reasoning_multi_turn.ts.
  bool mistral_reasoning = false;
  bool names = true;  // messages say who wrote them
  // Parts and lists go back as they came: of OpenAI's API, and those that Mistral alone knows.
  // Other servers take fewer shapes.
  bool openai_parts = false;
  bool mistral_state = false;
  // Calls and results go back in the form before tool calls where they came so.
  bool function_calls = false;
  // Refusals and calls of that form go back as they came where the server itself gave them.
  bool own_answers = false;
  // Texts carry the caller's `cache_control`, as Anthropic's do.
  bool cache_marks = false;
};
// What became of reasoning that has no place of its own, in how many answers.
struct OpenAiReasoning {
  std::size_t left_out = 0;  // without what is signed
  std::size_t joined = 0;    // it followed its answer and goes before it
};
OpenAiReasoning write_openai(message::JsonBuilder& out, std::span<const message::Message> messages,
                             const OpenAiWriteOptions& options);

// Whether the message is an answer that was begun for the model, which it shall continue.
bool is_begun(const message::Message& message);

// Errors: invalid_messages when `data` is not an array.
Result<message::Messages> read_openai(const json::Value& data, IdSource& ids);

}  // namespace millrace::format
