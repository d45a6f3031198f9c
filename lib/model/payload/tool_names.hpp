// Tools whose names no provider takes, under names that all do. A front end calls its tools what it
// likes; what it is told has its own names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/payload/payload.hpp"

namespace millrace::model {

// The name of the tool that a provider calls; one that is unknown is as it was sent.
// Lifetime: of both arguments.
std::string_view given_tool_name(const std::vector<Tool>& tools, std::string_view sent);

// The payload with the names that its tools, their choice and the calls of its history have towards
// providers; nothing when these are their own.
std::optional<ChatPayload> with_sent_tool_names(const ChatPayload& payload);

}  // namespace millrace::model
