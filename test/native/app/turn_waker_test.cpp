#include "app/turn_waker.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>

namespace millrace::app {
namespace {

class CountingHost final : public Waker {
 public:
  void wake() override {
    const std::lock_guard lock(mutex_);
    ++wakes_;
    woken_.notify_all();
  }
  // False when the host is not woken as often in time.
  bool wait_for(int wakes) {
    std::unique_lock lock(mutex_);
    return woken_.wait_for(lock, std::chrono::seconds(20), [&] { return wakes_ >= wakes; });
  }
  int wakes() {
    const std::lock_guard lock(mutex_);
    return wakes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  int wakes_ = 0;
};

TEST(TurnWaker, PassesOnWakeUpsOfBothThreads) {
  CountingHost host;
  os::EventLoop loop;
  TurnWaker waker(loop, host);
  loop.start();
  waker.wake();
  EXPECT_TRUE(host.wait_for(1));
  loop.post([&] { waker.wake(); });
  EXPECT_TRUE(host.wait_for(2));
  loop.stop();
}

TEST(TurnWaker, WakesLessOftenTheMoreComes) {
  constexpr int rounds = 2000;
  CountingHost host;
  os::EventLoop loop;
  TurnWaker waker(loop, host);
  loop.start();
  int asked = 0;
  std::promise<void> done;
  // As many streams would: outputs all the time, and a wake-up asked for as soon as one was given.
  std::function<void(int)> round = [&](int left) {
    for (int i = 0; i < 100; ++i) waker.on_output(100);
    if (host.wakes() >= asked) {
      ++asked;
      waker.wake();
    }
    if (left > 0) {
      loop.post([&, left] { round(left - 1); });
    } else {
      done.set_value();
    }
  };
  loop.post([&] { round(rounds); });
  done.get_future().wait();
  ASSERT_TRUE(host.wait_for(asked));
  loop.stop();
  EXPECT_LT(host.wakes(), rounds / 2);
}

TEST(TurnWaker, LetsStreamsTakeTurnsWhileMuchComes) {
  CountingHost host;
  os::EventLoop loop;
  TurnWaker waker(loop, host);
  loop.start();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int asked = 0;
  // False when the host was not told so in time.
  const auto gives_until = [&](int outputs, const std::function<bool()>& is_so) {
    while (!is_so() && std::chrono::steady_clock::now() < deadline) {
      ++asked;
      loop.post([&waker, outputs] {
        for (int i = 0; i < outputs; ++i) waker.on_output(100);
        waker.wake();
      });
      if (!host.wait_for(asked)) return false;
    }
    return is_so();
  };
  EXPECT_EQ(waker.parts(), 1U);
  EXPECT_TRUE(gives_until(1000, [&] { return waker.parts() > 1; }));
  EXPECT_TRUE(gives_until(1, [&] { return waker.parts() == 1; }));
  loop.stop();
}

}  // namespace
}  // namespace millrace::app
