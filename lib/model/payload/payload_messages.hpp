// Messages of a payload: OpenAI's, with the members that LobeHub adds.
#pragma once

#include <string_view>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::model {

// Reads an array of messages. `format` is "" for OpenAI's shape with LobeHub's members: `reasoning
// { content, signature, provider, responseItems }`, parts `thinking`, `video_url`, `audio_url`
// and `file_url`, `thoughtSignature` of tool calls. "canonical" or a row of format/formats names
// another shape.
// Marks of what is to be cached (`cache_control`) are kept, see cache_marks.hpp.
// Errors: invalid_messages, unknown_format.
Result<message::Messages> read_payload_messages(const json::Value& messages,
                                                std::string_view format, IdSource& ids);

}  // namespace millrace::model
