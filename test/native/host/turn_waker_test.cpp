#include "host/turn_waker.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <utility>

namespace millrace::host {
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
  int requested = 0;
  std::promise<void> done;
  // As many streams would: outputs all the time, and a wake-up asked for as soon as one was given.
  std::function<void(int)> round = [&](int left) {
    for (int i = 0; i < 100; ++i) waker.on_output(100);
    if (host.wakes() >= requested) {
      ++requested;
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
  ASSERT_TRUE(host.wait_for(requested));
  loop.stop();
  EXPECT_LT(host.wakes(), rounds / 2);
}

TEST(TurnWaker, HasAPaceWhileMuchComes) {
  CountingHost host;
  os::EventLoop loop;
  TurnWaker waker(loop, host);
  loop.start();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto pace = [&] {
    std::promise<std::chrono::microseconds> requested;
    loop.post([&] { requested.set_value(waker.pace()); });
    return requested.get_future().get();
  };
  int requested = 0;
  // False when the host was not told so in time.
  const auto gives_until = [&](int outputs, const std::function<bool()>& is_so) {
    while (!is_so() && std::chrono::steady_clock::now() < deadline) {
      ++requested;
      loop.post([&waker, outputs] {
        for (int i = 0; i < outputs; ++i) waker.on_output(100);
        waker.wake();
      });
      if (!host.wait_for(requested)) return false;
    }
    return is_so();
  };
  EXPECT_EQ(pace().count(), 0);
  EXPECT_TRUE(gives_until(1000, [&] { return pace() == std::chrono::milliseconds(64); }));
  EXPECT_TRUE(gives_until(1, [&] { return pace().count() == 0; }));
  loop.stop();
}

// The clock of the pace would have the second wake-up wait; nothing but hurry() brings it at once,
// and nothing brings one that nobody asked for.
TEST(TurnWaker, PassesOnAHurriedWakeUpAtOnce) {
  CountingHost host;
  os::EventLoop loop;
  TurnWaker waker(loop, host);
  loop.start();
  std::promise<std::pair<int, int>> done;
  loop.post([&] {
    waker.flush();
    const int before = host.wakes();
    waker.wake();
    waker.flush();
    waker.flush();
    done.set_value({before, host.wakes()});
  });
  const auto [before, after] = done.get_future().get();
  EXPECT_EQ(before, 0);
  EXPECT_EQ(after, 1);
  waker.wake();
  waker.flush();
  EXPECT_TRUE(host.wait_for(2));
  std::promise<int> third;
  loop.post([&] {
    waker.wake_at_once();
    third.set_value(host.wakes());
  });
  EXPECT_EQ(third.get_future().get(), 3);
  waker.wake_at_once();
  EXPECT_TRUE(host.wait_for(4));
  loop.stop();
}

}  // namespace
}  // namespace millrace::host
