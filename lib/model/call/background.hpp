// Answers that OpenAI's Responses API makes in the background: the requests that ask how far one
// is, join its stream or cancel it, and how long a call waits between them.
// Source: OpenAI API reference, "Background mode" (2026).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "net/client.hpp"

namespace millrace::model {

// So long an answer is waited for where the call has no limit of its own.
inline constexpr std::chrono::minutes longest_background{60};

// An answer in the background, from its request to its end.
struct Background {
  net::Request base;       // where the answer was asked for and by whom, without a body
  bool joins = false;      // it comes as a stream
  std::string id;          // "" until it is known
  bool was_known = false;  // an earlier call asked for it
  bool goes_on = false;    // behind what that call read, until the provider has agreed
  bool is_reported = false;
  int polls = 0;
  int failures = 0;                         // one behind the other
  std::optional<std::int64_t> last_number;  // of the records that were read
  std::chrono::steady_clock::time_point since;
};

// What is the same in all requests about an answer.
net::Request background_base(const net::Request& request);

net::Request poll_request(const Background& answer);
// Gives the records behind the last one that was read.
net::Request join_request(const Background& answer);
net::Request cancel_request(const Background& answer);

// Before the next request about an answer: short at first, and after failures.
std::chrono::milliseconds background_wait(const Background& answer);

}  // namespace millrace::model
