// The books of a call: the tokens of each attempt, and the report of all of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/call/attempt_events.hpp"
#include "model/call/call.hpp"
#include "model/payload/payload.hpp"

namespace millrace::model {

// What the provider reported; else, and where its report is of a time before the answer was cut, an
// estimate from the conversation and what the model said. `complete` is false for an answer that
// was cut.
RecordedUsage record_usage(const AttemptEvents& events, const ChatPayload& payload, bool complete);

// An estimate from the conversation alone, of a request without any answer.
RecordedUsage record_silence(const ChatPayload& payload);

// The tokens of one attempt in the shape that all vendors share.
ModelUsage model_usage(const Attempt& attempt);

// The tokens of all attempts together, as certain as the least certain of them.
ModelUsage sum_of(const std::vector<Attempt>& attempts);

// The same, and what is known of the cost: of attempts whose price is not known nothing.
struct Spent {
  std::size_t attempts = 0;  // those that count
  ModelUsage sum;
  std::optional<double> known_cost;
  std::vector<ModelUsage> each;  // of those
};
Spent spent_on(const std::vector<Attempt>& attempts);

std::string attempt_json(const Attempt& attempt);

}  // namespace millrace::model
