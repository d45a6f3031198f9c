// What a run may spend, and whether it has. Limits and books are those of its state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::agent {

// A limit that ends a run: a finish reason, and a sentence for people.
struct ReachedLimit {
  std::string_view reason;
  std::string detail;
};

struct ExceededCost {
  double spent = 0;
  json::Tree most;
  std::string detail;
};

// True of `limits.maxTokens` when no call of the model may start any more.
std::optional<ReachedLimit> reached_tokens(const json::Tree& state);

// The first limit of `costLimit` that is exceeded, whatever it says is to be done then.
std::optional<ExceededCost> exceeded_cost(const json::Tree& state);

// Either of them, those of cost only where they end the run.
std::optional<ReachedLimit> reached_limit(const json::Tree& state);

}  // namespace millrace::agent
