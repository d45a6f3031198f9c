// One thread that is woken, waits, and takes a last turn.

#include "os/serial_worker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <utility>

namespace millrace::os {
namespace {

TEST(SerialWorker, TakesATurnForAWakeUpAndALastOne) {
  std::atomic<int> turns = 0;
  std::atomic<int> last_turns = 0;
  std::promise<void> woken;
  {
    SerialWorker worker([&](bool is_closing) {
      if (is_closing) {
        ++last_turns;
      } else if (++turns == 1) {
        woken.set_value();
      }
      return SerialWorker::forever;
    });
    EXPECT_FALSE(worker.on_its_thread());
    worker.wake();
    woken.get_future().wait();
  }
  EXPECT_EQ(last_turns, 1);
}

TEST(SerialWorker, ComesBackAfterTheTimeThatATurnNames) {
  std::atomic<int> turns = 0;
  std::promise<void> third;
  SerialWorker worker([&](bool is_closing) {
    if (is_closing) return SerialWorker::forever;
    if (++turns == 3) third.set_value();
    return turns < 3 ? std::chrono::milliseconds(1) : SerialWorker::forever;
  });
  worker.wake();
  third.get_future().wait();
  EXPECT_GE(turns, 3);
}

// The last user of what a worker belongs to may be the worker's own work.
TEST(SerialWorker, EndsWithinItsOwnTurn) {
  std::promise<void> ended;
  auto is_over = std::make_shared<std::promise<void>>();
  std::optional<SerialWorker> worker;
  const std::weak_ptr<std::promise<void>> held = is_over;
  worker.emplace([&worker, &ended, held_by_turn = std::move(is_over)](bool is_closing) {
    if (is_closing) {
      held_by_turn->set_value();
      return SerialWorker::forever;
    }
    worker.reset();
    ended.set_value();
    return SerialWorker::forever;
  });
  auto last_turn = held.lock()->get_future();
  worker->wake();
  ended.get_future().wait();
  EXPECT_EQ(last_turn.wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

TEST(SerialWorker, ForgetsNoWakeUpThatComesDuringATurn) {
  std::atomic<int> turns = 0;
  std::promise<void> began;
  std::promise<void> go_on;
  std::promise<void> second;
  SerialWorker worker([&](bool is_closing) {
    if (is_closing) return SerialWorker::forever;
    if (++turns == 1) {
      began.set_value();
      go_on.get_future().wait();
    } else if (turns == 2) {
      second.set_value();
    }
    return SerialWorker::forever;
  });
  worker.wake();
  began.get_future().wait();
  worker.wake();
  go_on.set_value();
  second.get_future().wait();
}

}  // namespace
}  // namespace millrace::os
