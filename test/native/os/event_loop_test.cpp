#include "os/event_loop.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "os/posts_together.hpp"

namespace millrace::os {
namespace {

void wait_until_done(EventLoop& loop) {
  std::promise<void> done;
  loop.post([&] { done.set_value(); });
  done.get_future().wait();
}

TEST(EventLoop, RunsWhatOneThreadPostsInItsOrderAlsoWhatWasPostedBeforeTheStart) {
  EventLoop loop;
  std::vector<int> order;
  loop.post([&] { order.push_back(0); });
  loop.start();
  for (int i = 1; i < 1000; ++i) {
    loop.post([&order, i] { order.push_back(i); });
  }
  wait_until_done(loop);
  ASSERT_EQ(order.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(EventLoop, IsWokenOnceForWhatIsPostedTogether) {
  EventLoop loop;
  loop.start();
  wait_until_done(loop);
  std::atomic<int> posted = 0;
  std::vector<int> seen;
  {
    const PostsTogether together;
    const PostsTogether within;
    for (int i = 0; i < 3; ++i) {
      loop.post([&] { seen.push_back(posted); });
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++posted;
    }
  }
  wait_until_done(loop);
  EXPECT_EQ(seen, (std::vector<int>{3, 3, 3}));
}

TEST(EventLoop, RunsWhatItsOwnThreadPostsAfterWhatWasPostedBefore) {
  EventLoop loop;
  std::vector<int> order;
  std::promise<void> done;
  loop.post([&] {
    loop.post([&] {
      order.push_back(3);
      done.set_value();
    });
    order.push_back(1);
  });
  loop.post([&] { order.push_back(2); });
  loop.start();
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(EventLoop, LosesNothingThatManyThreadsPost) {
  EventLoop loop;
  loop.start();
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) loop.post([&] { ++count; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  wait_until_done(loop);
  EXPECT_EQ(count, 20000);
}

TEST(EventLoop, RunsTheRestAfterAStopInTheMiddleAndTheNextStart) {
  EventLoop loop;
  std::promise<void> begun;
  std::promise<void> go_on;
  int ran = 0;
  loop.post([&] {
    begun.set_value();
    go_on.get_future().wait();
  });
  for (int i = 0; i < 10; ++i) loop.post([&] { ++ran; });
  loop.start();
  begun.get_future().wait();
  std::thread stopper([&] { loop.stop(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  go_on.set_value();
  stopper.join();
  loop.start();
  wait_until_done(loop);
  EXPECT_EQ(ran, 10);
}

TEST(EventLoop, DestroysUnrunWhatNobodyRan) {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  {
    EventLoop loop;
    loop.post([retained = std::move(held)] { FAIL() << "it was never started"; });
  }
  EXPECT_TRUE(seen.expired());
}

TEST(EventLoop, TakesPostsUntilItEndsFromThreadsThatOutliveIt) {
  std::optional<EventLoop> loop(std::in_place);
  loop->start();
  const LoopHandle handle = loop->handle();
  std::promise<void> ran;
  std::thread([&] { handle.post([&] { ran.set_value(); }); }).join();
  ran.get_future().wait();
  std::atomic<bool> is_ended = false;
  std::thread posting([&handle, &is_ended] {
    while (!is_ended) handle.post([] {});
    handle.post([] { FAIL() << "the loop is gone"; });
  });
  loop.reset();
  is_ended = true;
  posting.join();
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  handle.post([retained = std::move(held)] { FAIL() << "the loop is gone"; });
  EXPECT_TRUE(seen.expired());
}

// Whoever cannot see Boost must be able to tell that descriptors are missing.
TEST(EventLoop, SaysByItsNumberWhatTheSystemRefuses) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  int number = 0;
  try {
    const EventLoop loop;
  } catch (const std::system_error& failure) {
    number = failure.code().value();
  } catch (const std::exception&) {
    number = -1;
  }
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(number, EMFILE);
}

}  // namespace
}  // namespace millrace::os
