// Whether and when a failed attempt is followed by another: a decision without clock or chance.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/error.hpp"

namespace millrace::model {

struct RetryPolicy {
  int max_retries = 2;  // of one provider and model, besides its first attempt
  int budget = 5;       // retries of the whole call, those of its fallbacks included
  std::chrono::milliseconds first_wait{500};
  std::chrono::milliseconds longest_wait{30'000};
  // A longer wait that a provider asks for is cut to this, or leads to the fallback.
  std::chrono::milliseconds longest_retry_after{60'000};
  // Ask the same model again after a part of its answer was shown; the reader is told by a reset.
  bool after_first_token = false;
};

// What is known when an attempt has failed.
struct AttemptState {
  int retries = 0;           // made with this provider and model already
  int spent = 0;             // of the budget
  bool shown = false;        // a reader has seen a part of the answer
  bool tool_intent = false;  // a reader has seen that the model calls a tool
  bool has_fallback = false;
  // What is left of the time for all attempts with this provider; no limit where there is none.
  std::optional<std::chrono::milliseconds> left;
};

struct Decision {
  enum class Kind : std::uint8_t { stop, wait, fallback };
  Kind kind = Kind::stop;
  std::chrono::milliseconds wait{0};
};

// An open circuit is never waited for. Exponential back-off with full jitter: `random` lies in [0,
// 1). A wait that the provider asks for is kept and never undercut; one behind which no time is
// left is not begun.
Decision decide(const RetryPolicy& policy, const AttemptState& state, const Error& error,
                double random);

// True when another provider may succeed where this error ended an attempt: not when the request
// itself is at fault.
bool allows_fallback(const Error& error);

}  // namespace millrace::model
