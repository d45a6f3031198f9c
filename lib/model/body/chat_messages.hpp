// Messages as OpenAI-compatible servers take them.
#pragma once

#include <string>

#include "base/result.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// The JSON text of `messages`: media of tool results follow as a user message, roles, order and
// empty texts are what the server takes, and parts to be cached are marked.
// Errors: capability_not_supported for a medium that the server does not take.
Result<std::string> chat_messages(const Draft& draft);

}  // namespace millrace::model
