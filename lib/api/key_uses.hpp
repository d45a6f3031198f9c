// How often keys were used, so that their limits hold. What this process counts is joined with what
// all that share the store have counted, a moment later: no request waits for that.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_options.hpp"
#include "base/result.hpp"
#include "os/timer.hpp"
#include "store/types.hpp"

namespace millrace::api {

// Uses of one key. The minute fills up steadily; the day is a day of UTC.
class KeyUse {
 public:
  // Nothing where the request may come, else how long to wait. One that does not count only looks.
  [[nodiscard]] std::optional<std::chrono::seconds> take(const KeyLimits& limits,
                                                         std::int64_t now_ms, bool counts);
  // What the others do not know yet; nothing where there is none, or some is on its way.
  [[nodiscard]] std::optional<store::KeySpending> give();
  // What all have used with it; nothing where it did not arrive.
  void take_total(const std::optional<store::KeyUseRow>& total);

 private:
  struct Count {
    std::int64_t requests = 0;
    std::int64_t minute_us = 0;
  };

  std::int64_t day_ = 0;
  std::int64_t used_ = 0;     // of the day
  std::int64_t free_at_ = 0;  // microseconds: when the minute is full again
  Count new_;                 // of these, what is not given yet
  std::optional<Count> given_;
};

// Thread: engine thread.
class KeyUses final : public std::enable_shared_from_this<KeyUses> {
 public:
  using Total = Result<std::vector<store::KeyUseRow>>;
  // Adds to what all have used, and gives what that is, on the engine thread.
  using Spend = std::function<void(std::vector<store::KeySpending> spent,
                                   std::function<void(Total total)> done)>;

  // Counts with all others from now on.
  // Lifetime: the loop outlives it.
  void share(os::EventLoop& loop, Spend spend);
  // As KeyUse::take, for the key with this hash.
  [[nodiscard]] std::optional<std::chrono::seconds> take(std::string_view hash,
                                                         const KeyLimits& limits,
                                                         std::int64_t now_ms, bool counts);
  // Gives what was counted to the others at once.
  void flush();

 private:
  void take_totals(const std::vector<std::string>& keys, const Total& total);
  void wait();

  std::map<std::string, KeyUse, std::less<>> uses_;  // by the hash of the hash
  Spend spend_;
  std::unique_ptr<os::Timer> next_;
  bool is_giving_ = false;
};

}  // namespace millrace::api
