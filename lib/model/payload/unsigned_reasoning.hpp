// Reasoning that came without a signature, which its own provider gets again where the model takes
// it: Claude rejects it everywhere, and so do some models of Bedrock's.
#pragma once

#include <string_view>

#include "message/shared_messages.hpp"
#include "model/provider/config.hpp"
#include "model/provider/families.hpp"
#include "model/provider/providers.hpp"

namespace millrace::model {

// `sent` is the model or deployment of the request, `named` the model of the payload.
bool takes_unsigned_reasoning(const ProviderConfig& config, Dialect dialect, std::string_view sent,
                              std::string_view named);

// Marks what has none, where the server's models want their reasoning back and sign none. A model
// that thinks only where each answer has its reasoning gets a space for what is missing.
void give_reasoning_back(message::SharedMessages& messages, const ProviderConfig& config,
                         Traits traits, bool is_thinking);

// Takes out the marks by which the formats write such reasoning.
void drop_unsigned_marks(message::SharedMessages& messages);

}  // namespace millrace::model
