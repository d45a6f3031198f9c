#include "model/call/retry.hpp"

#include <algorithm>
#include <array>

namespace millrace::model {
namespace {

using std::chrono::milliseconds;

// Wherever the same request goes, it fails.
constexpr std::array final_codes{
    Errc::invalid_argument, Errc::invalid_option,
    Errc::invalid_messages, Errc::invalid_body,
    Errc::invalid_json,     Errc::json_too_deep,
    Errc::cancelled,        Errc::engine_closed,
    Errc::internal,         Errc::provider_bad_request,
    Errc::content_filtered, Errc::output_limit_reached,
};

milliseconds back_off(const RetryPolicy& policy, int retries, double random) {
  auto ceiling = policy.first_wait;
  for (int doubled = 0; doubled < retries && ceiling < policy.longest_wait; ++doubled) ceiling *= 2;
  ceiling = std::min(ceiling, policy.longest_wait);
  return milliseconds(static_cast<std::int64_t>(static_cast<double>(ceiling.count()) * random));
}

// A tenth at most is added, so that those who were told the same moment do not all come at it.
milliseconds reported_wait(milliseconds reported, double random) {
  constexpr double spread = 0.1;
  const auto extra = static_cast<double>(reported.count()) * spread * random;
  return reported + milliseconds(static_cast<std::int64_t>(extra));
}

}  // namespace

bool allows_fallback(const Error& error) {
  return std::find(final_codes.begin(), final_codes.end(), error.code) == final_codes.end();
}

Decision decide(const RetryPolicy& policy, const AttemptState& state, const Error& error,
                double random) {
  using Kind = Decision::Kind;
  if (state.tool_intent) return {};
  const bool falls_back = state.has_fallback && allows_fallback(error);
  const bool has_retries = state.retries < policy.max_retries && state.spent < policy.budget;
  const bool may_repeat = error.retry() != RetryClass::no && error.code != Errc::circuit_open &&
                          has_retries && (!state.shown || policy.after_first_token);
  const milliseconds reported = error.retry_after.value_or(milliseconds{0});
  const bool too_long = reported > policy.longest_retry_after && falls_back;
  if (may_repeat && !too_long) {
    const milliseconds wait =
        error.retry_after ? reported_wait(std::min(reported, policy.longest_retry_after), random)
                          : back_off(policy, state.retries, random);
    if (!state.left || wait < *state.left) return {Kind::wait, wait};
  }
  if (falls_back) return {Kind::fallback, milliseconds{0}};
  return {};
}

}  // namespace millrace::model
