// Circuit breakers: who failed too often in a short time is not asked for a while, so that calls
// fail at once, or go to their fallback, instead of waiting for nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/provider/config.hpp"

namespace millrace::model {

// The circuits of an engine, one for each address and key of a provider. A success takes one
// failure back, so that a provider which answers most of the time stays in use.
// Thread: any.
class CircuitStore {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Milliseconds = std::chrono::milliseconds;

  // May a request go? After the pause the first one may, as a probe, and the others wait for what
  // becomes of it. Who is let through must tell how it ended.
  // Errors: circuit_open, with the time that is left.
  Result<void> enter(const ProviderConfig& config, std::size_t key, Time now);
  // A good answer began: enough for a probe.
  void began(const ProviderConfig& config, std::size_t key);
  // The provider answered to the end, or refused for a reason of the request's.
  void answered(const ProviderConfig& config, std::size_t key);
  // `counts` is false for what a call has told of already; a probe that failed is one all the same.
  void failed(const ProviderConfig& config, std::size_t key, const Error& error, Time now,
              bool counts = true);
  // Nobody knows how it would have ended.
  void left(const ProviderConfig& config, std::size_t key);

  // Every circuit that has failures.
  // Shape: [{ "provider", "origin", "state": "closed" | "open" | "half_open", "failures",
  // "lastError", "retryAfterMs"? }]
  [[nodiscard]] std::string json(Time now) const;

 private:
  struct Circuit {
    std::string provider;
    std::string origin;
    std::vector<Time> failures;  // the oldest first, as many as open it at most
    std::optional<Time> open_until;
    bool probing = false;
    std::string last_error;
  };
  static std::string name_of(const ProviderConfig& config, std::size_t key);

  mutable std::mutex mutex_;
  std::map<std::string, Circuit> circuits_;
};

// Whether an error says that the provider is in trouble, rather than the request, the key or its
// limits.
bool is_outage(const Error& error);

}  // namespace millrace::model
