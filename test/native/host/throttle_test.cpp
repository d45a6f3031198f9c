#include "host/throttle.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <string>

#include "os/event_loop.hpp"

namespace millrace::host {
namespace {

using namespace std::chrono_literals;

const event::Event word{event::TextDelta{"m", "word"}};
const event::Event reasoning_part{event::ReasoningDelta{"r", "hm"}};
const event::Event arguments{event::ToolArgs{"c", "{"}};
const event::Event text_end{event::TextEnd{"m"}};

// Runs `work` with a throttle on its thread.
void on_loop(Throttle::Span span, const std::function<void(Throttle&)>& work) {
  os::EventLoop loop;
  loop.start();
  std::promise<void> done;
  loop.post([&] {
    {
      Throttle throttle(loop, span, [] {});
      work(throttle);
    }
    done.set_value();
  });
  done.get_future().wait();
  loop.stop();
}

void hand_over(Throttle& throttle, const event::Event& event) {
  throttle.note(event);
  EXPECT_FALSE(throttle.holds());
  throttle.handed_over();
}

TEST(Throttle, HoldsPiecesOfTextsBehindTheFirst) {
  on_loop(1h, [](Throttle& throttle) {
    hand_over(throttle, word);
    for (const event::Event& piece : {word, reasoning_part, arguments}) {
      throttle.note(piece);
      EXPECT_TRUE(throttle.holds());
    }
  });
}

TEST(Throttle, HoldsNothingThatIsNoSuchPieceNorWhatWaitsBeforeIt) {
  on_loop(1h, [](Throttle& throttle) {
    hand_over(throttle, word);
    throttle.note(word);
    EXPECT_TRUE(throttle.holds());
    throttle.note(text_end);
    EXPECT_FALSE(throttle.holds());
  });
}

TEST(Throttle, LetsTheFirstPieceBehindSomethingElseGoAtOnce) {
  on_loop(1h, [](Throttle& throttle) {
    hand_over(throttle, word);
    throttle.note(word);
    EXPECT_TRUE(throttle.holds());
    hand_over(throttle, text_end);
    hand_over(throttle, word);
    throttle.note(word);
    EXPECT_TRUE(throttle.holds());
  });
}

TEST(Throttle, HoldsNoLongText) {
  on_loop(1h, [](Throttle& throttle) {
    hand_over(throttle, word);
    const std::string text(std::size_t{64} << 10U, 'x');
    throttle.note({event::TextDelta{"m", text}});
    EXPECT_FALSE(throttle.holds());
  });
}

TEST(Throttle, HoldsNothingWithoutASpan) {
  on_loop(0ms, [](Throttle& throttle) {
    hand_over(throttle, word);
    hand_over(throttle, word);
  });
}

TEST(Throttle, TellsWhenWhatWaitsIsDue) {
  os::EventLoop loop;
  loop.start();
  std::promise<void> due;
  std::promise<bool> held;
  std::optional<Throttle> throttle;
  loop.post([&] {
    throttle.emplace(loop, 20ms, [&] {
      EXPECT_FALSE(throttle->holds());
      due.set_value();
    });
    hand_over(*throttle, word);
    throttle->note(word);
    held.set_value(throttle->holds());
  });
  EXPECT_TRUE(held.get_future().get());
  EXPECT_EQ(due.get_future().wait_for(20s), std::future_status::ready);
  loop.stop();
}

}  // namespace
}  // namespace millrace::host
