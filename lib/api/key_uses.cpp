#include "api/key_uses.hpp"

#include <algorithm>
#include <utility>

#include "base/sha256.hpp"

namespace millrace::api {
namespace {

constexpr std::int64_t a_day_ms = std::int64_t{24} * 3600 * 1000;
constexpr std::int64_t minute_us = std::int64_t{60} * 1000 * 1000;
constexpr std::int64_t second_us = std::int64_t{1000} * 1000;
// For so long a process counts alone.
constexpr std::chrono::milliseconds give_every{200};

// What one request takes of the minute.
std::int64_t share_of(const KeyLimits& limits) {
  return std::max<std::int64_t>(minute_us / limits.per_minute, 1);
}

}  // namespace

std::optional<std::chrono::seconds> KeyUse::take(const KeyLimits& limits, std::int64_t now_ms,
                                                 bool counts) {
  // A clock that is set back begins no day anew.
  if (const std::int64_t day = now_ms / a_day_ms; day > day_) {
    day_ = day;
    used_ = 0;
    new_.requests = 0;
  }
  if (limits.per_day > 0 && used_ >= limits.per_day) {
    return std::chrono::ceil<std::chrono::seconds>(
        std::chrono::milliseconds((day_ + 1) * a_day_ms - now_ms));
  }
  const std::int64_t now_us = now_ms * 1000;
  const std::int64_t share = limits.per_minute > 0 ? share_of(limits) : 0;
  free_at_ = std::max(free_at_, now_us);
  if (limits.per_minute > 0) {
    // Nor does it keep a key waiting for longer than its minute.
    free_at_ = std::min(free_at_, now_us + minute_us);
    const std::int64_t over = free_at_ - now_us + share - minute_us;
    if (over > 0) return std::chrono::seconds((over + second_us - 1) / second_us);
  }
  if (!counts) return std::nullopt;
  ++used_;
  ++new_.requests;
  free_at_ += share;
  new_.minute_us += share;
  return std::nullopt;
}

std::optional<store::KeySpending> KeyUse::give() {
  if (given_ || (new_.requests == 0 && new_.minute_us == 0)) return std::nullopt;
  given_ = std::exchange(new_, {});
  return store::KeySpending{{}, day_, given_->requests, given_->minute_us};
}

void KeyUse::take_total(const std::optional<store::KeyUseRow>& total) {
  const Count given = std::exchange(given_, std::nullopt).value_or(Count());
  if (!total) {
    new_.requests += given.requests;
    new_.minute_us += given.minute_us;
    return;
  }
  if (total->day > day_) {
    day_ = total->day;
    used_ = new_.requests = 0;
  }
  if (total->day == day_) used_ = total->requests + new_.requests;
  free_at_ = std::max(free_at_, total->free_at_us + new_.minute_us);
}

void KeyUses::share(os::EventLoop& loop, Spend spend) {
  spend_ = std::move(spend);
  next_ = std::make_unique<os::Timer>(loop, [this] { flush(); });
}

std::optional<std::chrono::seconds> KeyUses::take(std::string_view hash, const KeyLimits& limits,
                                                  std::int64_t now_ms, bool counts) {
  const auto [use, is_new] = uses_.try_emplace(sha256_hex(hash));
  auto until = use->second.take(limits, now_ms, counts);
  if (!spend_ || !counts || until) return until;
  // What was used before this process began is known with the first answer.
  is_new ? flush() : wait();
  return until;
}

void KeyUses::wait() {
  if (is_giving_ || next_->is_running()) return;
  next_->start_at(os::Timer::Clock::now() + give_every);
}

void KeyUses::flush() {
  if (!spend_ || is_giving_) return;
  std::vector<store::KeySpending> spent;
  std::vector<std::string> keys;
  for (auto& [key, use] : uses_) {
    auto given = use.give();
    if (!given) continue;
    given->key = key;
    spent.push_back(std::move(*given));
    keys.push_back(key);
  }
  if (spent.empty()) return;
  is_giving_ = true;
  next_->cancel();
  spend_(std::move(spent), [weak = weak_from_this(), keys](const Total& total) {
    if (const auto self = weak.lock()) self->take_totals(keys, total);
  });
}

void KeyUses::take_totals(const std::vector<std::string>& keys, const Total& total) {
  is_giving_ = false;
  for (std::size_t at = 0; at < keys.size(); ++at) {
    const bool is_there = total.ok() && at < total.value().size();
    uses_[keys[at]].take_total(is_there ? std::optional(total.value()[at]) : std::nullopt);
  }
  // Some may have come meanwhile.
  wait();
}

}  // namespace millrace::api
