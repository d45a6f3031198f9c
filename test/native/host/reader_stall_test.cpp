// Readers in JavaScript that take nothing are found, and others are not.
#include "host/reader_stall.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "os/event_loop.hpp"

namespace millrace::host {
namespace {

using namespace std::chrono_literals;

constexpr DrainQueue::StreamId stream = 1;

class SilentWaker final : public Waker {
 public:
  void wake() override {}
};

class ReaderStallTest : public testing::Test {
 protected:
  void SetUp() override {
    queue_.open(stream);
    loop_.start();
  }
  void TearDown() override {
    on_loop([&] { stall_.reset(); });
    loop_.stop();
  }
  template <class Work>
  void on_loop(Work work) {
    std::promise<void> done;
    loop_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  void produce() {
    on_loop([&] {
      if (!stall_) {
        stall_ = std::make_unique<ReaderStall>(loop_, queue_, stream, 40ms, [&] { ++stalls_; });
      }
      (void)queue_.push(stream, "word ");
      stall_->watch();
    });
  }

  SilentWaker waker_;
  DrainQueue queue_{waker_, {}};
  os::EventLoop loop_;
  std::unique_ptr<ReaderStall> stall_;
  std::atomic<int> stalls_ = 0;
};

TEST_F(ReaderStallTest, FindsAReaderThatTakesNothing) {
  produce();
  while (stalls_ == 0) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(60ms);
  EXPECT_EQ(stalls_, 1);
}

TEST_F(ReaderStallTest, LeavesAReaderAloneThatTakesALittle) {
  for (int time = 0; time < 20; ++time) {
    produce();
    on_loop([&] { EXPECT_TRUE(queue_.take(stream)); });
    produce();
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(stalls_, 0);
}

TEST_F(ReaderStallTest, LeavesAReaderAloneThatHasAll) {
  produce();
  queue_.take(stream);
  std::this_thread::sleep_for(120ms);
  EXPECT_EQ(stalls_, 0);
}

}  // namespace
}  // namespace millrace::host
