// A message that the user sends to a run at work.
#pragma once

#include <string>

#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::run {

// `content` as a user message of AG-UI has it: a text, or parts.
// Shape: {"id", "role": "user", "content"}, as RunWork::send takes it.
// Errors: invalid_body, and those of messages, for a content that is empty or none.
Result<json::Tree> read_sent_message(const json::Tree& content, std::string id, IdSource& ids);

}  // namespace millrace::run
