// What of a payload's messages must not turn into something else on its way.
#pragma once

#include "base/json.hpp"
#include "base/result.hpp"

namespace millrace::model {

// Checks the roles of messages of OpenAI's shape and the parts of what a user says.
// Errors: invalid_messages, which names the message and the part.
Result<void> check_messages(const json::Value& messages);

}  // namespace millrace::model
