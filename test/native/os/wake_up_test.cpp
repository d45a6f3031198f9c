#include "os/wake_up.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <thread>

namespace millrace::os {
namespace {

bool is_readable(int fd, int grace_period_ms) {
  pollfd requested{fd, POLLIN, 0};
  return poll(&requested, 1, grace_period_ms) == 1;
}

// False when there was nothing to read.
bool hear(int fd) {
  std::array<char, WakeUp::read_bytes> bytes{};
  return read(fd, bytes.data(), bytes.size()) > 0;
}

TEST(WakeUp, IsReadableOnceItIsRungUntilItIsRead) {
  WakeUp wake_up;
  const int listener = wake_up.listener();
  EXPECT_FALSE(is_readable(listener, 0));
  for (int round = 0; round < 3; ++round) {
    std::thread([&] { wake_up.ring(); }).join();
    EXPECT_TRUE(is_readable(listener, 0));
    EXPECT_TRUE(is_readable(listener, 0));
    EXPECT_TRUE(hear(listener));
    EXPECT_FALSE(is_readable(listener, 0));
  }
}

TEST(WakeUp, WakesWhoWaits) {
  WakeUp wake_up;
  const int listener = wake_up.listener();
  std::thread ringing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    wake_up.ring();
  });
  EXPECT_TRUE(is_readable(listener, 20'000));
  ringing.join();
}

// More often than a pipe has room.
TEST(WakeUp, NeitherBlocksNorIsLostWhenNobodyReads) {
  constexpr int often = 200'000;
  WakeUp wake_up;
  const int listener = wake_up.listener();
  for (int i = 0; i < often; ++i) wake_up.ring();
  EXPECT_TRUE(is_readable(listener, 0));
  while (hear(listener)) {
  }
  EXPECT_EQ(errno, EAGAIN);
  wake_up.ring();
  EXPECT_TRUE(is_readable(listener, 0));
}

TEST(WakeUp, IsNotInheritedByPrograms) {
  WakeUp wake_up;
  const int listener = wake_up.listener();
  EXPECT_NE(fcntl(listener, F_GETFD) & FD_CLOEXEC, 0);
}

}  // namespace
}  // namespace millrace::os
