#include "os/resolver.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include "os/event_loop.hpp"

namespace millrace::os {
namespace {

using namespace std::chrono_literals;

// A lookup that hangs for names that begin with "slow" until it is opened.
struct SlowNames {
  std::mutex mutex;
  std::condition_variable opened;
  bool open = false;
  std::atomic<int> requested{0};
  std::atomic<int> hanging{0};

  Result<Addresses> look_up(const std::string& host) {
    ++requested;
    if (host.starts_with("slow")) {
      ++hanging;
      std::unique_lock lock(mutex);
      opened.wait(lock, [&] { return open; });
      --hanging;
    }
    if (host == "missing") return make_error(Errc::name_resolution_failed);
    return Addresses{"127.0.0.1"};
  }
  void release() {
    const std::lock_guard lock(mutex);
    open = true;
    opened.notify_all();
  }
};

class ResolverTest : public testing::Test {
 protected:
  void SetUp() override { loop_.start(); }
  void TearDown() override {
    on_loop([&] { resolver_.reset(); });
    names_->release();
    loop_.stop();
  }
  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  void open(std::size_t threads) {
    ResolverOptions options;
    options.max_threads = threads;
    // The lookup owns its names: a thread that hangs outlives the test's resolver.
    options.lookup = [names = names_](const std::string& host) { return names->look_up(host); };
    on_loop([&] { resolver_.emplace(loop_, options); });
  }
  std::future<Result<Addresses>> resolve(const std::string& host) {
    auto promise = std::make_shared<std::promise<Result<Addresses>>>();
    on_loop([&] {
      last_ticket_ = resolver_->resolve(
          host, [promise](const Result<Addresses>& result) { promise->set_value(result); });
    });
    return promise->get_future();
  }

  EventLoop loop_;
  std::shared_ptr<SlowNames> names_ = std::make_shared<SlowNames>();
  std::optional<Resolver> resolver_;
  Resolver::Ticket last_ticket_ = 0;
};

TEST_F(ResolverTest, AnswersAndKeepsTheAnswer) {
  open(2);
  const auto result = resolve("a.test").get();
  ASSERT_TRUE(result);
  EXPECT_EQ(result.value(), Addresses{"127.0.0.1"});
  on_loop([&] {
    ASSERT_NE(resolver_->cached("a.test"), nullptr);
    EXPECT_EQ(resolver_->cached("b.test"), nullptr);
  });
}

TEST_F(ResolverTest, DoesNotKeepAFailure) {
  open(2);
  const auto result = resolve("missing").get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::name_resolution_failed);
  on_loop([&] { EXPECT_EQ(resolver_->cached("missing"), nullptr); });
}

TEST_F(ResolverTest, AsksOnceForCallersOfTheSameName) {
  open(4);
  auto first = resolve("slow.test");
  auto second = resolve("slow.test");
  names_->release();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
  EXPECT_EQ(names_->requested, 1);
}

TEST_F(ResolverTest, AHangingNameDoesNotHoldUpOthers) {
  open(2);
  auto slow = resolve("slow.test");
  EXPECT_TRUE(resolve("a.test").get());
  EXPECT_TRUE(resolve("b.test").get());
  EXPECT_EQ(slow.wait_for(0ms), std::future_status::timeout);
}

TEST_F(ResolverTest, CancelDropsTheCallbackAndAQueuedLookup) {
  open(1);
  auto slow = resolve("slow.test");
  while (names_->hanging == 0) std::this_thread::yield();
  auto queued = resolve("queued.test");
  on_loop([&] { resolver_->cancel(last_ticket_); });
  names_->release();
  EXPECT_TRUE(slow.get());
  EXPECT_TRUE(resolve("after.test").get());
  EXPECT_EQ(names_->requested, 2);
  EXPECT_THROW(static_cast<void>(queued.get()), std::future_error);
}

TEST_F(ResolverTest, EndsWithoutWaitingForAHangingLookup) {
  open(1);
  auto slow = resolve("slow.test");
  while (names_->hanging == 0) std::this_thread::yield();
  on_loop([&] { resolver_.reset(); });
  EXPECT_EQ(names_->hanging, 1);
}

TEST(LookUp, KnowsLocalhostAndRefusesNonsense) {
  const auto local = look_up("localhost");
  ASSERT_TRUE(local);
  EXPECT_FALSE(local.value().empty());
  const auto none = look_up("no-such-name.invalid");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::name_resolution_failed);
}

}  // namespace
}  // namespace millrace::os
