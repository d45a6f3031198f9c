// Media in the results of tools, for APIs whose results hold text only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "message/message.hpp"

namespace millrace::model {

// The results of one turn of calls.
struct TurnResults {
  std::size_t end;                          // index of the message behind them
  std::optional<message::Message> carrier;  // a user's message with their media, to stand behind
};

// Adds the results from `at` on to `out`, their texts alone.
TurnResults add_results(std::span<const message::Message> messages, std::size_t at,
                        message::Messages& out);

}  // namespace millrace::model
