#include "base/drain_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <random>
#include <thread>

namespace millrace {
namespace {

class CountingWaker final : public Waker {
 public:
  void wake() override { ++wakes; }
  void wake_at_once() override {
    ++wakes;
    ++flushes;
  }
  void flush() override { ++flushes; }
  std::atomic<int> wakes = 0;
  std::atomic<int> flushes = 0;
};

TEST(DrainQueue, WakesOnceForAnyNumberOfStreams) {
  CountingWaker waker;
  DrainQueue queue(waker, {});
  queue.open(1);
  queue.open(2);
  EXPECT_TRUE(queue.push(1, "a"));
  EXPECT_TRUE(queue.push(1, "b"));
  EXPECT_TRUE(queue.push(2, "c"));
  EXPECT_EQ(waker.wakes, 1);
  const auto batches = queue.drain();
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].data, "ab");
  EXPECT_EQ(batches[1].data, "c");
  EXPECT_EQ(queue.waiting(), 0U);
}

TEST(DrainQueue, WakesNobodyWhoDoesNotWait) {
  CountingWaker waker;
  DrainQueue queue(waker, {});
  queue.open(1);
  EXPECT_TRUE(queue.push(1, "a"));
  queue.drain();
  EXPECT_TRUE(queue.push(1, "b"));
  EXPECT_EQ(waker.wakes, 1);
  EXPECT_TRUE(queue.drain().empty());
  const auto batch = queue.take(1);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->data, "b");
  EXPECT_FALSE(queue.take(1));
  EXPECT_EQ(queue.waiting(), 1U);
  EXPECT_TRUE(queue.push(1, "c"));
  EXPECT_EQ(waker.wakes, 2);
}

TEST(DrainQueue, GivesHeadDataAndEndAndForgetsTheStream) {
  CountingWaker waker;
  DrainQueue queue(waker, {});
  queue.open(7);
  queue.push_head(7, "head");
  EXPECT_TRUE(queue.push(7, "data"));
  queue.end(7, "end");
  const auto batches = queue.drain();
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].stream, 7U);
  EXPECT_EQ(batches[0].head, "head");
  EXPECT_EQ(batches[0].data, "data");
  EXPECT_EQ(batches[0].end, "end");
  EXPECT_FALSE(queue.take(7));
  EXPECT_EQ(queue.waiting(), 0U);
}

TEST(DrainQueue, EndsAStreamWhoseReaderTakesNothing) {
  CountingWaker waker;
  DrainQueue queue(waker, {});
  queue.open(1);
  EXPECT_TRUE(queue.push(1, "a"));
  queue.drain();
  EXPECT_EQ(queue.reading(1).takes, 1U);
  EXPECT_FALSE(queue.reading(1).has_unread);
  EXPECT_TRUE(queue.push(1, "unread"));
  EXPECT_TRUE(queue.reading(1).has_unread);
  EXPECT_EQ(waker.wakes, 1);
  queue.abort(1, "error");
  EXPECT_EQ(queue.buffered_bytes(), 0U);
  EXPECT_EQ(waker.wakes, 2);
  const auto batches = queue.drain();
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].data, "");
  EXPECT_EQ(batches[0].end, "error");
  EXPECT_EQ(queue.waiting(), 0U);
  queue.abort(1, "gone");
  EXPECT_TRUE(queue.drain().empty());
}

TEST(DrainQueue, PausesAStreamAtItsLimitAndSaysSoWhenItIsRead) {
  CountingWaker waker;
  DrainQueue queue(waker, {.stream_bytes = 10});
  queue.open(1);
  EXPECT_TRUE(queue.push(1, "12345"));
  EXPECT_FALSE(queue.push(1, "67890"));
  const auto batches = queue.drain();
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_TRUE(batches[0].was_paused);
  EXPECT_TRUE(queue.push(1, "1"));
  const auto batch = queue.take(1);
  ASSERT_TRUE(batch);
  EXPECT_FALSE(batch->was_paused);
}

TEST(DrainQueue, ExpeditesTheWakeUpForAStreamThatPauses) {
  CountingWaker waker;
  DrainQueue queue(waker, {.stream_bytes = 10});
  queue.open(1);
  EXPECT_TRUE(queue.push(1, "12345"));
  EXPECT_EQ(waker.flushes, 0);
  EXPECT_FALSE(queue.push(1, "67890"));
  EXPECT_EQ(waker.flushes, 1);
  // A reader that is not there is not called.
  queue.drain();
  EXPECT_FALSE(queue.push(1, "1234567890"));
  EXPECT_EQ(waker.wakes, 1);
  EXPECT_EQ(waker.flushes, 1);
}

TEST(DrainQueue, LetsAStreamHoldMoreOrLess) {
  CountingWaker waker;
  DrainQueue queue(waker, {.stream_bytes = 10, .total_bytes = 50, .floor_bytes = 4});
  queue.open(1);
  queue.allow(1, 20);
  queue.allow(99, 20);
  EXPECT_TRUE(queue.push(1, std::string(19, 'x')));
  EXPECT_FALSE(queue.push(1, "x"));
  EXPECT_TRUE(queue.take(1)->was_paused);
  queue.open(2);
  queue.allow(2, 5);
  EXPECT_TRUE(queue.push(2, "1234"));
  EXPECT_FALSE(queue.push(2, "5"));
}

TEST(DrainQueue, PausesTheSlowButNotTheQuickAtTheCeiling) {
  CountingWaker waker;
  DrainQueue queue(waker, {.stream_bytes = 100, .total_bytes = 50, .floor_bytes = 4});
  queue.open(1);
  queue.open(2);
  EXPECT_FALSE(queue.push(1, std::string(60, 'x')));
  EXPECT_TRUE(queue.push(2, "abc"));
  EXPECT_FALSE(queue.push(2, "d"));
  EXPECT_EQ(queue.buffered_bytes(), 64U);
  queue.drop(1);
  EXPECT_EQ(queue.buffered_bytes(), 4U);
}

TEST(DrainQueue, DoesNotCountAQuietReader) {
  CountingWaker waker;
  DrainQueue queue(waker, {});
  queue.open(1);
  queue.open(2);
  EXPECT_EQ(queue.waiting(), 2U);
  queue.set_quiet(1, true);
  queue.set_quiet(1, true);
  EXPECT_EQ(queue.waiting(), 1U);
  // It is woken all the same.
  EXPECT_TRUE(queue.push(1, "a"));
  EXPECT_EQ(waker.wakes, 1);
  EXPECT_EQ(queue.drain().size(), 1U);
  queue.want(1);
  EXPECT_EQ(queue.waiting(), 1U);
  queue.set_quiet(1, false);
  EXPECT_EQ(queue.waiting(), 2U);
  queue.set_quiet(1, true);
  queue.drop(1);
  EXPECT_EQ(queue.waiting(), 1U);
  queue.set_quiet(1, false);
  queue.drop(2);
  EXPECT_EQ(queue.waiting(), 0U);
}

TEST(DrainQueue, IgnoresADroppedStream) {
  CountingWaker waker;
  DrainQueue queue(waker, {});
  queue.open(1);
  queue.drop(1);
  queue.push_head(1, "head");
  EXPECT_TRUE(queue.push(1, "x"));
  queue.end(1, "");
  EXPECT_EQ(waker.wakes, 0);
  EXPECT_TRUE(queue.drain().empty());
  EXPECT_EQ(queue.waiting(), 0U);
}

TEST(DrainQueue, GivesSomeAtATimeAndWakesAgainWhenTheReaderRestsTooEarly) {
  CountingWaker waker;
  DrainQueue queue(waker, {});
  for (DrainQueue::StreamId id = 1; id <= 3; ++id) {
    queue.open(id);
    EXPECT_TRUE(queue.push(id, "x"));
  }
  EXPECT_EQ(queue.due(), 3U);
  EXPECT_EQ(queue.drain(2).size(), 2U);
  EXPECT_EQ(queue.drain(2).size(), 1U);
  queue.want(1);
  EXPECT_TRUE(queue.push(1, "y"));
  EXPECT_EQ(waker.wakes, 1);
  queue.rest();
  EXPECT_EQ(waker.wakes, 2);
  EXPECT_EQ(queue.drain(2).at(0).data, "y");
  queue.rest();
  EXPECT_EQ(waker.wakes, 2);
  queue.want(2);
  EXPECT_TRUE(queue.push(2, "z"));
  EXPECT_EQ(waker.wakes, 3);
}

TEST(DrainQueue, GivesTheHurriedFirstAndAlone) {
  CountingWaker waker;
  DrainQueue queue(waker, {});
  for (DrainQueue::StreamId id = 1; id <= 9; ++id) {
    queue.open(id);
    EXPECT_TRUE(queue.push(id, "x"));
  }
  EXPECT_EQ(waker.flushes, 0);
  queue.flush(8);
  queue.flush(8);
  queue.flush(99);
  EXPECT_EQ(waker.flushes, 1);
  const auto first = queue.drain(2);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].stream, 8U);
  EXPECT_TRUE(first[0].is_urgent);
  const auto second = queue.drain(2);
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(second[0].stream, 1U);
  EXPECT_FALSE(second[0].is_urgent);
  EXPECT_EQ(queue.drain().size(), 6U);
  EXPECT_EQ(queue.due(), 0U);
  EXPECT_EQ(waker.wakes, 1);
}

TEST(DrainQueue, HurriesWhatComesNext) {
  CountingWaker waker;
  DrainQueue queue(waker, {});
  queue.open(1);
  queue.open(2);
  EXPECT_TRUE(queue.push(1, "x"));
  queue.flush(2);
  EXPECT_EQ(waker.flushes, 0);
  EXPECT_TRUE(queue.push(2, "y"));
  EXPECT_EQ(waker.wakes, 1);
  EXPECT_EQ(waker.flushes, 1);
  EXPECT_EQ(queue.drain(9).at(0).stream, 2U);
  // The next of the same stream is not hurried any more.
  queue.want(2);
  EXPECT_TRUE(queue.push(2, "z"));
  EXPECT_EQ(waker.flushes, 1);
  EXPECT_EQ(queue.drain(9).size(), 2U);
}

TEST(DrainQueue, HurriesWhatIsLeftWhenTheReaderRests) {
  CountingWaker waker;
  DrainQueue queue(waker, {});
  queue.open(1);
  queue.open(2);
  EXPECT_TRUE(queue.push(1, "x"));
  EXPECT_EQ(queue.drain(1).size(), 1U);
  queue.flush(2);
  EXPECT_TRUE(queue.push(2, "y"));
  queue.rest();
  EXPECT_EQ(waker.wakes, 2);
  EXPECT_EQ(waker.flushes, 2);
}

TEST(DrainQueue, WakesAReaderWhoWantsWhatIsThere) {
  CountingWaker waker;
  DrainQueue queue(waker, {});
  queue.open(1);
  EXPECT_TRUE(queue.push(1, "a"));
  EXPECT_EQ(queue.drain().size(), 1U);
  EXPECT_TRUE(queue.push(1, "b"));
  queue.want(1);
  queue.want(1);
  queue.want(99);
  EXPECT_EQ(queue.waiting(), 1U);
  EXPECT_EQ(waker.wakes, 2);
  EXPECT_EQ(queue.drain().at(0).data, "b");
  EXPECT_EQ(queue.waiting(), 0U);
}

// A reader's thread that sleeps until it is woken.
class SleepingReader final : public Waker {
 public:
  void wake() override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(woken_) << "a second wake-up was sent while one was pending";
    woken_ = true;
    changed_.notify_one();
  }
  void sleep() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return woken_; });
    woken_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

// One thread produces many streams at random, pausing when it is told; the reader mixes take, drain
// and drop. Every byte of a stream that was not dropped must arrive in its order.
TEST(DrainQueue, LosesNothingBetweenTwoThreads) {
  constexpr int stream_count = 12;
  constexpr std::size_t stream_size = 8'000;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  SleepingReader waker;
  DrainQueue queue(waker, {.stream_bytes = 700, .total_bytes = 6'000, .floor_bytes = 100});
  std::array<std::atomic<bool>, stream_count> paused{};
  for (int id = 0; id < stream_count; ++id) queue.open(static_cast<DrainQueue::StreamId>(id));

  std::thread producer([&] {
    std::mt19937 random(seed);
    std::array<std::size_t, stream_count> sent{};
    for (int open = stream_count; open > 0;) {
      const auto at = random() % stream_count;
      if (sent.at(at) > stream_size || paused.at(at)) continue;
      if (sent.at(at) == stream_size) {
        queue.end(at, "done");
        --open;
        ++sent.at(at);
        continue;
      }
      const std::size_t size = std::min<std::size_t>(1 + random() % 300, stream_size - sent.at(at));
      std::string bytes;
      for (std::size_t i = 0; i < size; ++i) {
        bytes.push_back(static_cast<char>('a' + (sent.at(at) + i) % 26));
      }
      sent.at(at) += size;
      // As with a real socket the pause is set by the producer, and only it reads.
      paused.at(at) = true;
      if (random() % 8 == 0) queue.flush(at);
      if (queue.push(at, bytes)) paused.at(at) = false;
    }
  });

  std::mt19937 random(seed + 1);
  std::map<DrainQueue::StreamId, std::string> got;
  int ended = 0;
  const auto accept = [&](DrainQueue::Batch batch) {
    got[batch.stream].append(batch.data);
    if (batch.was_paused) paused.at(batch.stream) = false;
    if (batch.end) ++ended;
  };
  while (ended < stream_count) {
    for (DrainQueue::StreamId id = 0; id < stream_count; ++id) {
      if (random() % 3 == 0) std::this_thread::yield();
      if (auto batch = queue.take(id)) accept(std::move(*batch));
    }
    if (ended == stream_count || queue.waiting() == 0) continue;
    waker.sleep();
    for (auto& batch : queue.drain(1 + random() % 5)) accept(std::move(batch));
    queue.rest();
  }
  producer.join();
  EXPECT_EQ(queue.buffered_bytes(), 0U);
  for (const auto& [id, text] : got) {
    ASSERT_EQ(text.size(), stream_size) << "stream " << id;
    for (std::size_t i = 0; i < stream_size; ++i) {
      ASSERT_EQ(text[i], static_cast<char>('a' + i % 26)) << "stream " << id << " at " << i;
    }
  }
}

}  // namespace
}  // namespace millrace
