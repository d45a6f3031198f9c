// A clock that a test moves.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/call/time_source.hpp"

namespace millrace::test {

// Thread: engine thread.
class ManualClock final : public model::TimeSource {
 public:
  using Steady = std::chrono::steady_clock::time_point;

  [[nodiscard]] model::Moment now() const override { return now_; }

  std::unique_ptr<Wait> wait(std::function<void()> over) override {
    auto state = std::make_shared<State>();
    state->over = std::move(over);
    std::erase_if(states_, [](const auto& one) { return one.expired(); });
    states_.push_back(state);
    return std::make_unique<ManualWait>(*this, std::move(state));
  }

  // Moves the time, and lets the waits that are over call their functions, in their order.
  void advance(std::chrono::milliseconds time) {
    const Steady end = now_.steady + time;
    while (const auto next = first_due(end)) {
      move_to(*std::exchange(next->at, std::nullopt));
      const auto over = next->over;
      over();
    }
    move_to(end);
  }

  [[nodiscard]] std::size_t waiting() const {
    return static_cast<std::size_t>(
        std::count_if(states_.begin(), states_.end(), [](const auto& one) {
          const auto state = one.lock();
          return state && state->at;
        }));
  }

 private:
  struct State {
    std::function<void()> over;
    std::optional<Steady> at;
  };

  class ManualWait final : public Wait {
   public:
    ManualWait(ManualClock& clock, std::shared_ptr<State> state)
        : clock_(clock), state_(std::move(state)) {}
    void start(std::chrono::milliseconds time) override { state_->at = clock_.now_.steady + time; }
    void cancel() override { state_->at.reset(); }

   private:
    ManualClock& clock_;
    std::shared_ptr<State> state_;
  };

  std::shared_ptr<State> first_due(Steady end) const {
    std::shared_ptr<State> first;
    for (const auto& one : states_) {
      const auto state = one.lock();
      if (!state || !state->at || *state->at > end) continue;
      if (!first || *state->at < *first->at) first = state;
    }
    return first;
  }

  void move_to(Steady time) {
    now_.wall += std::chrono::duration_cast<std::chrono::milliseconds>(time - now_.steady);
    now_.steady = time;
  }

  model::Moment now_{Steady(std::chrono::hours(1)), model::Time(std::chrono::hours(1))};
  std::vector<std::weak_ptr<State>> states_;
};

}  // namespace millrace::test
