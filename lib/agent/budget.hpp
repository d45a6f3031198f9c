// What a run may spend, and whether it has. Limits and books are those of its state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"

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

// The first limit of `costLimit` that is exceeded, whatever its action is.
std::optional<ExceededCost> exceeded_cost(const json::Tree& state);

// Either of them, those of cost only where they end the run.
std::optional<ReachedLimit> reached_limit(const json::Tree& state);

// Adds to a number of the books; one that is absent counts as 0.
void add_number(json::Tree& holder, std::string_view member, double amount);
// The entry of a list of the books whose `member` is `value`; made when there is none.
json::Tree& entry_of(json::Tree& list, std::string_view member, std::string_view value);

// What a model reports may be any number; one that is no count must not take back what others used.
bool is_counted(const json::Tree& value);

// Adds to the run's cost what an answer cost, under the model that gave it. Without a price nothing
// is added.
// Shape: usage as model/usage/usage.hpp writes it.
void record_price(json::Tree& state, std::string_view provider, std::string_view model,
                  const json::Tree& usage);

// As above for the attempts of one turn, each under its own model, and marks what is doubtful about
// them.
// Shape: attempts are [{"provider", "model", "usage"?}]; one without a usage of its own has the
// turn's.
void record_attempts(json::Tree& state, const json::Tree& attempts, const json::Tree& usage);

// The code of the error for a run that ended for this reason; nothing when no limit ended it.
std::optional<Errc> limit_code(std::string_view reason);

}  // namespace millrace::agent
