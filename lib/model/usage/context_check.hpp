// Whether a conversation surely does not fit a model's window, before anything is sent.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "message/message.hpp"
#include "model/payload/payload.hpp"
#include "model/provider/config.hpp"

namespace millrace::model {

// A number of tokens that the text has at least for OpenAI's models of cards.def.
std::int64_t fewest_tokens(std::string_view text);

// Of vendors whose tokens are public (OpenAI), at their own address, for models with a card:
// another server may have other windows, other vendors' tokens could only be guessed.
// Errors: context_window_exceeded, with the numbers of tokens as JSON in its detail.
Result<void> check_context(const ProviderConfig& config, const ChatPayload& payload,
                           std::string_view model, const message::Messages& messages);

}  // namespace millrace::model
