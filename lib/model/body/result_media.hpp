// Media in the results of tools, for APIs whose results hold text only, or few media.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "message/message.hpp"
#include "message/parts.hpp"

namespace millrace::model {

// The results of one turn of calls.
struct TurnResults {
  std::size_t end;                          // index of the message behind them
  std::optional<message::Message> carrier;  // a user's message with their media, to stand behind
};

// Which media stay in a result; without a function none do.
using StaysInResult = std::function<bool(const message::Media&)>;

// Adds the results from `at` on to `out`, their texts alone and what stays.
TurnResults add_results(std::span<const message::Message> messages, std::size_t at,
                        message::Messages& out, const StaysInResult& stays = {});

// The messages with the media of results behind them.
message::Messages with_media_behind(std::span<const message::Message> messages,
                                    const StaysInResult& stays = {});

}  // namespace millrace::model
