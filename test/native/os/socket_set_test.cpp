#include "os/socket_set.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "os/event_loop.hpp"

namespace millrace::os {
namespace {

struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0); }
  ~Pair() {
    for (const int fd : ends) {
      if (fd >= 0) close(fd);
    }
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  [[nodiscard]] int near() const { return ends[0]; }
  void say() const { EXPECT_EQ(write(ends[1], "a", 1), 1); }
  void hear() const {
    char letter = 0;
    EXPECT_EQ(read(ends[0], &letter, 1), 1);
  }
  void leave() { close(std::exchange(ends[1], -1)); }

  std::array<int, 2> ends{-1, -1};
};

class SocketSetTest : public testing::Test {
 protected:
  using Reported = std::vector<SocketSet::Ready>;

  SocketSetTest() {
    set_.emplace(loop_, [this] { on_ready_(); });
    loop_.start();
  }
  ~SocketSetTest() override {
    on_loop([this] { set_.reset(); });
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
  bool comes_true(const std::function<bool()>& is_so) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool so = false;
    while (!so && std::chrono::steady_clock::now() < deadline) {
      on_loop([&] { so = is_so(); });
      if (!so) usleep(1000);
    }
    return so;
  }
  void settle() {
    for (int i = 0; i < 20; ++i) {
      on_loop([] {});
      usleep(1000);
    }
  }
  Reported collect(std::size_t most) {
    Reported reported(most);
    on_loop([&] { reported.resize(set_->collect(reported)); });
    return reported;
  }
  void add(const Pair& pair, std::uint32_t number, bool reading, bool writing) {
    on_loop([&] { EXPECT_TRUE(set_->add(pair.near(), number, reading, writing)); });
  }
  static std::vector<int> descriptors(const Reported& reported) {
    std::vector<int> found;
    for (const SocketSet::Ready& ready : reported) found.push_back(ready.fd);
    return found;
  }

  // Closed after the set has ended.
  std::array<Pair, 40> pairs_;
  EventLoop loop_;
  std::optional<SocketSet> set_;
  int calls_ = 0;  // of the loop's thread
  std::function<void()> on_ready_ = [this] { ++calls_; };
};

TEST_F(SocketSetTest, LeavesAloneWhatWasClosedBeforeItsRemoval) {
  Pair closed;
  add(closed, 1, true, false);
  const int number = std::exchange(closed.ends[0], -1);
  close(number);
  on_loop([&] { set_->remove(number); });

  const Pair& other = pairs_[0];
  add(other, 2, true, false);
  on_loop([&] { set_->remove(pairs_[1].near()); });
  other.say();
  EXPECT_TRUE(comes_true([&] {
    set_->watch();
    return calls_ > 0;
  }));
  EXPECT_EQ(descriptors(collect(8)), std::vector<int>{other.near()});
}

TEST_F(SocketSetTest, CallsOnceForEachWatch) {
  const Pair& pair = pairs_[0];
  add(pair, 1, true, false);
  pair.say();
  settle();
  EXPECT_EQ(calls_, 0);
  for (int i = 1; i <= 3; ++i) {
    on_loop([&] {
      set_->watch();
      set_->watch();
    });
    ASSERT_TRUE(comes_true([&] { return calls_ == i; }));
    settle();
    EXPECT_EQ(calls_, i);
  }
  // It waits for what comes later, also when somebody has looked in vain.
  pair.hear();
  settle();
  EXPECT_TRUE(collect(1).empty());
  on_loop([&] { set_->watch(); });
  settle();
  const int before = calls_;
  EXPECT_TRUE(collect(1).empty());
  on_loop([&] { set_->watch(); });
  pair.say();
  EXPECT_TRUE(comes_true([&] { return calls_ == before + 1; }));
}

TEST_F(SocketSetTest, TellsWhatIsWantedAndTrueAsLongAsItIs) {
  const Pair& pair = pairs_[0];
  add(pair, 7, true, true);
  settle();
  for (int i = 0; i < 3; ++i) {
    const Reported reported = collect(5);
    ASSERT_EQ(reported.size(), 1U);
    EXPECT_EQ(reported[0].fd, pair.near());
    EXPECT_EQ(reported[0].number, 7U);
    EXPECT_FALSE(reported[0].readable);
    EXPECT_TRUE(reported[0].writable);
  }
  pair.say();
  EXPECT_TRUE(comes_true([&] {
    std::array<SocketSet::Ready, 5> reported;
    return set_->collect(reported) == 1 && reported[0].readable && reported[0].writable;
  }));
  on_loop([&] { EXPECT_TRUE(set_->change(pair.near(), 8, true, false)); });
  settle();
  const Reported reported = collect(5);
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].number, 8U);
  EXPECT_TRUE(reported[0].readable);
  EXPECT_FALSE(reported[0].writable);
  pair.hear();
  EXPECT_TRUE(collect(5).empty());
  on_loop([&] { EXPECT_TRUE(set_->change(pair.near(), 9, false, true)); });
  settle();
  EXPECT_EQ(collect(5).size(), 1U);
}

// A caller with room for few hears of all in turn, whoever goes on talking.
TEST_F(SocketSetTest, BeginsWithThoseThatItDidNotTellOfLongest) {
  std::uint32_t number = 0;
  for (const Pair& pair : pairs_) {
    pair.say();
    add(pair, ++number, true, false);
  }
  settle();
  constexpr std::size_t room = 7;
  std::vector<int> heard;
  for (std::size_t i = 0; i < 2 * pairs_.size() / room + 1; ++i) {
    const std::vector<int> reported = descriptors(collect(room));
    ASSERT_EQ(reported.size(), room);
    heard.insert(heard.end(), reported.begin(), reported.end());
  }
  const auto middle = heard.begin() + static_cast<std::ptrdiff_t>(pairs_.size());
  std::vector<int> first(heard.begin(), middle);
  const std::vector<int> second(middle, middle + static_cast<std::ptrdiff_t>(pairs_.size()));
  EXPECT_EQ(first, second);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::unique(first.begin(), first.end()), first.end());
}

TEST_F(SocketSetTest, TellsOfManyAtOnce) {
  std::uint32_t number = 0;
  for (const Pair& pair : pairs_) {
    pair.say();
    add(pair, ++number, true, false);
  }
  settle();
  EXPECT_EQ(collect(pairs_.size() + 1).size(), pairs_.size());
}

TEST_F(SocketSetTest, TellsOfAFailureAsOfAllThatIsWanted) {
  Pair& pair = pairs_[0];
  add(pair, 1, true, false);
  pair.leave();
  EXPECT_TRUE(comes_true([&] {
    std::array<SocketSet::Ready, 1> reported;
    return set_->collect(reported) == 1 && reported[0].readable && reported[0].writable;
  }));
}

TEST_F(SocketSetTest, ForgetsWhatIsRemovedAndLeavesItOpen) {
  const Pair& pair = pairs_[0];
  add(pair, 1, true, false);
  pair.say();
  settle();
  on_loop([&] {
    set_->watch();
    set_->remove(pair.near());
  });
  settle();
  EXPECT_TRUE(collect(5).empty());
  EXPECT_NE(fcntl(pair.near(), F_GETFD), -1);
  add(pair, 2, true, false);
  settle();
  const Reported reported = collect(5);
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].number, 2U);
  on_loop([this] { set_.reset(); });
  EXPECT_NE(fcntl(pair.near(), F_GETFD), -1);
}

// While it is told of: the descriptor is free for another set, or for another socket of its number.
TEST_F(SocketSetTest, LetsGoOfWhatIsRemovedInItsOwnCall) {
  const Pair& pair = pairs_[0];
  std::optional<SocketSet> other;
  bool is_over = false;
  on_loop([&] {
    other.emplace(loop_, [&] { is_over = true; });
    other->watch();
    on_ready_ = [&] {
      set_->remove(pair.near());
      EXPECT_TRUE(other->add(pair.near(), 2, true, false));
    };
    set_->watch();
  });
  add(pair, 1, true, false);
  pair.say();
  EXPECT_TRUE(comes_true([&] { return is_over; }));
  EXPECT_TRUE(collect(1).empty());
  on_loop([&] { other.reset(); });
}

TEST_F(SocketSetTest, RefusesWhatIsNotOpen) {
  on_loop([&] { EXPECT_FALSE(set_->add(9999, 1, true, false)); });
  on_loop([&] { EXPECT_FALSE(set_->change(pairs_[0].near(), 1, true, false)); });
}

TEST_F(SocketSetTest, MayBeDestroyedInItsOwnCall) {
  const Pair& pair = pairs_[0];
  bool is_over = false;
  on_loop([&] {
    on_ready_ = [&] {
      set_.reset();
      is_over = true;
    };
    set_->watch();
  });
  add(pair, 1, true, false);
  pair.say();
  EXPECT_TRUE(comes_true([&] { return is_over; }));
}

}  // namespace
}  // namespace millrace::os
