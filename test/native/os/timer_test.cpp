#include "os/timer.hpp"

#include <gtest/gtest.h>

#include <future>

#include "os/event_loop.hpp"

namespace millrace::os {
namespace {

using namespace std::chrono_literals;

class TimerTest : public testing::Test {
 protected:
  void SetUp() override { loop_.start(); }
  void TearDown() override { loop_.stop(); }
  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  EventLoop loop_;
};

TEST_F(TimerTest, FiresOnceAndMayDestroyItself) {
  std::promise<void> fired;
  std::optional<Timer> timer;
  on_loop([&] {
    timer.emplace(loop_, [&] {
      timer.reset();
      fired.set_value();
    });
    timer->start_at(Timer::Clock::now());
  });
  fired.get_future().wait();
  on_loop([&] { EXPECT_FALSE(timer.has_value()); });
}

TEST_F(TimerTest, ACancelledTimerStaysSilentThoughItIsDue) {
  int fired = 0;
  std::optional<Timer> timer;
  on_loop([&] {
    timer.emplace(loop_, [&] { ++fired; });
    timer->start_at(Timer::Clock::now() - 1s);
    EXPECT_TRUE(timer->is_running());
    timer->cancel();
    EXPECT_FALSE(timer->is_running());
  });
  on_loop([] {});
  on_loop([&] {
    EXPECT_EQ(fired, 0);
    timer.reset();
  });
}

TEST_F(TimerTest, ARestartReplacesTheFirstTime) {
  std::promise<void> fired;
  std::optional<Timer> timer;
  const auto far = Timer::Clock::now() + 1h;
  on_loop([&] {
    timer.emplace(loop_, [&] { fired.set_value(); });
    timer->start_at(far);
    EXPECT_EQ(timer->fires_at(), far);
    timer->start_at(Timer::Clock::now());
  });
  fired.get_future().wait();
  on_loop([&] { timer.reset(); });
}

TEST_F(TimerTest, SetLaterItWaitsForTheLaterTimeThoughTheFirstPasses) {
  std::promise<Timer::Clock::time_point> fired;
  std::optional<Timer> timer;
  const auto later = Timer::Clock::now() + 60ms;
  on_loop([&] {
    timer.emplace(loop_, [&] { fired.set_value(Timer::Clock::now()); });
    timer->start_at(later - 50ms);
    timer->start_at(later);
    EXPECT_EQ(timer->fires_at(), later);
  });
  EXPECT_GE(fired.get_future().get(), later);
  on_loop([&] {
    EXPECT_FALSE(timer->is_running());
    timer.reset();
  });
}

TEST_F(TimerTest, ACancelledTimerIsSetAgainForAnEarlierTime) {
  std::promise<void> fired;
  std::optional<Timer> timer;
  on_loop([&] {
    timer.emplace(loop_, [&] { fired.set_value(); });
    timer->start_at(Timer::Clock::now() + 1h);
    timer->cancel();
    timer->start_at(Timer::Clock::now() + 1ms);
  });
  fired.get_future().wait();
  on_loop([&] { timer.reset(); });
}

}  // namespace
}  // namespace millrace::os
