#include "os/blocking_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "os/event_loop.hpp"

namespace millrace::os {
namespace {

using namespace std::chrono_literals;

struct Gate {
  std::promise<void> opened;
  std::shared_future<void> open = opened.get_future().share();
  std::atomic<int> hanging{0};
};

class BlockingPoolTest : public testing::Test {
 protected:
  void SetUp() override { loop_.start(); }
  void TearDown() override {
    on_loop([&] { pool_.reset(); });
    gate_->opened.set_value();
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
  void open(std::size_t threads, std::size_t places) {
    on_loop([&] { pool_.emplace(loop_, threads, places); });
  }
  // Takes one thread until the gate opens.
  void hang() {
    const int before = gate_->hanging;
    on_loop([&] {
      EXPECT_TRUE(pool_->run([gate = gate_]() -> BlockingPool::Done {
        ++gate->hanging;
        gate->open.wait();
        return [] { ADD_FAILURE() << "nobody waits for this any more"; };
      }));
    });
    while (gate_->hanging == before) std::this_thread::yield();
  }

  EventLoop loop_;
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::optional<BlockingPool> pool_;
};

TEST_F(BlockingPoolTest, WorksBesideTheLoopAndEndsOnIt) {
  open(2, 8);
  std::promise<std::pair<bool, bool>> seen;
  on_loop([&] {
    ASSERT_TRUE(pool_->run([&]() -> BlockingPool::Done {
      const bool worked_on_loop = loop_.on_loop_thread();
      return [&, worked_on_loop] { seen.set_value({worked_on_loop, loop_.on_loop_thread()}); };
    }));
  });
  EXPECT_EQ(seen.get_future().get(), std::pair(false, true));
}

TEST_F(BlockingPoolTest, HangingWorkLeavesOtherThreads) {
  open(2, 8);
  hang();
  std::promise<void> done;
  on_loop([&] {
    ASSERT_TRUE(pool_->run([&]() -> BlockingPool::Done { return [&] { done.set_value(); }; }));
  });
  done.get_future().wait();
}

TEST_F(BlockingPoolTest, RefusesWhatFindsNoPlaceAndTakesWaitingWorkBack) {
  open(1, 2);
  hang();
  const auto nothing = []() -> BlockingPool::Done { return [] {}; };
  on_loop([&] {
    const auto first = pool_->run(nothing);
    ASSERT_TRUE(first);
    ASSERT_TRUE(pool_->run(nothing));
    const auto rejected = pool_->run(nothing);
    ASSERT_FALSE(rejected);
    EXPECT_EQ(rejected.error().code, Errc::too_much_work);
    EXPECT_TRUE(pool_->withdraw(first.value()));
    EXPECT_FALSE(pool_->withdraw(first.value()));
    EXPECT_TRUE(pool_->run(nothing));
  });
}

TEST_F(BlockingPoolTest, EndsWithoutWaitingForWorkThatHangs) {
  open(1, 2);
  hang();
  on_loop([&] { pool_.reset(); });
  EXPECT_EQ(gate_->hanging, 1);
}

}  // namespace
}  // namespace millrace::os
