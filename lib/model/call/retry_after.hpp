// When a provider takes the request again: Retry-After in its forms, the reset times of rate
// limits, and what stands in bodies.
// Source: RFC 9110 (10.2.3, 5.6.7); the rate limit headers of OpenAI, Anthropic, Groq, GitHub and
// OpenRouter (2026).
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string_view>

#include "net/client.hpp"

namespace millrace::model {

using RetryTime = std::chrono::system_clock::time_point;

// From the headers: retry-after-ms, Retry-After (seconds or a date), then the reset of the limit
// that has nothing left. A moment that is past is 0.
std::optional<std::chrono::milliseconds> retry_after_of(std::span<const net::Header> headers,
                                                        RetryTime now);

// The provider's own word on another request: x-should-retry, as the clients of OpenAI and
// Anthropic read it. Nothing where it says neither "true" nor "false".
std::optional<bool> should_retry_of(std::span<const net::Header> headers);

// "1.5s", "6m0s", "20ms", "1h2m": a duration as Go and Google's APIs write it. "90" is seconds.
std::optional<std::chrono::milliseconds> read_duration(std::string_view text);

// A moment: "Sun, 06 Nov 1994 08:49:37 GMT" and its two older forms, or "2026-01-31T08:00:00Z".
std::optional<RetryTime> read_moment(std::string_view text);

// From a sentence: "Please try again in 1.2s".
std::optional<std::chrono::milliseconds> retry_after_in(std::string_view sentence);

}  // namespace millrace::model
