// What a provider's answer reports of itself, in its body and in its head.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/client.hpp"

namespace millrace::model {

// Adds what the head says to `facts_json`, an adapter's event::AnswerInfo, or "".
// Shape: the members of facts_json, "requestId"?: string, "rateLimits"?: {"requests" | "tokens" |
// "inputTokens" | "outputTokens" | ...: {"limit"?, "remaining"?: number, "reset"?: string}},
// "headers"?: {string: string}; "" where there is none of it.
std::string answer_info_json(std::string_view facts_json, const std::vector<net::Header>& head);

}  // namespace millrace::model
