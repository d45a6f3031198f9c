// A reader in JavaScript gets more at a time as it takes what is there.
#include "host/reader_room.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millrace::host {
namespace {

class NoWaker final : public Waker {
 public:
  void wake() override {}
};

TEST(ReaderRoom, HoldsLittleForAReaderThatTakesNothing) {
  NoWaker waker;
  DrainQueue queue(waker, {});
  constexpr DrainQueue::StreamId stream = 1;
  queue.open(stream);
  ReaderRoom room(queue, stream);
  const std::string piece(std::size_t{4} << 10U, 'x');
  while (queue.push(stream, piece)) {
  }
  EXPECT_EQ(queue.buffered_bytes(), room.bytes());
  EXPECT_EQ(room.bytes(), std::size_t{8} << 10U);
  for (int n = 0; n < 10; ++n) {
    EXPECT_TRUE(queue.take(stream)->was_paused);
    room.grow();
    while (queue.push(stream, piece)) {
    }
    EXPECT_EQ(queue.buffered_bytes(), room.bytes());
  }
  EXPECT_EQ(room.bytes(), DrainLimits().stream_bytes);
}

}  // namespace
}  // namespace millrace::host
