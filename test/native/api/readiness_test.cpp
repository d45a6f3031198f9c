// Whether a store works, while it does and while a commit holds it up.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>

#include "api/readiness.hpp"
#include "store/memory/memory_backend.hpp"

namespace millrace::api {
namespace {

class ReadinessTest : public testing::Test {
 protected:
  void SetUp() override { loop_.start(); }
  void TearDown() override {
    writer_.reset();
    loop_.stop();
  }
  std::future<bool> look(const std::shared_ptr<Readiness>& readiness) {
    auto seen = std::make_shared<std::promise<bool>>();
    loop_.post([readiness, seen] { readiness->look([seen](bool is) { seen->set_value(is); }); });
    return seen->get_future();
  }
  std::shared_ptr<Readiness> made(ReadinessTimes times) {
    return std::make_shared<Readiness>(writer_, loop_, times);
  }
  // It ends on the engine thread.
  void leave(std::shared_ptr<Readiness>& readiness) {
    std::promise<void> ended;
    loop_.post([&] {
      readiness.reset();
      ended.set_value();
    });
    ended.get_future().wait();
  }
  // The writer works on something until the promise is kept.
  std::shared_ptr<std::promise<void>> hold() {
    auto held = std::make_shared<std::promise<void>>();
    writer_->run([held](store::StorageBackend&) { held->get_future().wait(); });
    return held;
  }

  os::EventLoop loop_;
  std::shared_ptr<store::Writer> writer_ =
      std::make_shared<store::Writer>(store::make_memory_backend());
};

using std::chrono::milliseconds;

TEST_F(ReadinessTest, AnswersWithWhatItSawLastWhileTheWriterIsBusy) {
  auto readiness = made({milliseconds(0), milliseconds(1), milliseconds(60'000)});
  EXPECT_TRUE(look(readiness).get());
  const auto held = hold();
  EXPECT_TRUE(look(readiness).get());
  EXPECT_TRUE(look(readiness).get());
  held->set_value();
  leave(readiness);
}

TEST_F(ReadinessTest, DoesNotCallAStoreReadyThatTakesNothing) {
  auto readiness = made({milliseconds(0), milliseconds(5), milliseconds(1)});
  const auto held = hold();
  EXPECT_FALSE(look(readiness).get());
  held->set_value();
  leave(readiness);
}

}  // namespace
}  // namespace millrace::api
