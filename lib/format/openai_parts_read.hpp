// Content parts of chat messages, read: media, files and texts of OpenAI's API and of Mistral's.
#pragma once

#include "base/json.hpp"
#include "message/message.hpp"

namespace millrace::format::openai {

// The parts of a list as canonical ones.
message::Content read_content_parts(const json::Value& content);

// Whether a part has another place than the text of its message: a medium of a result, and
// reasoning as one text, which is of other clients.
bool is_held_as_part(const message::Message& message, const json::Value& part);

// Keeps a content that is one text to readers but a list to the API.
void keep_content(message::Message& message, const json::Value& content);

}  // namespace millrace::format::openai
