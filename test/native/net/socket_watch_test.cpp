#include "net/socket_watch.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "os/event_loop.hpp"

namespace millrace::net {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Two sockets of which one is watched; closed at the end.
struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0); }
  ~Pair() {
    for (const int fd : ends) {
      if (fd >= 0) close(fd);
    }
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  [[nodiscard]] int near() const { return ends[0]; }
  void say(const char* text) const { EXPECT_EQ(write(ends[1], text, 1), 1); }
  [[nodiscard]] bool hear() const {
    char letter = 0;
    return read(ends[0], &letter, 1) == 1;
  }

  std::array<int, 2> ends{-1, -1};
};

class SocketWatchTest : public testing::Test {
 protected:
  using Heard = SocketWatch::OnReady;

  void open(SocketWatch::Pace pace = {}) {
    watch_.emplace(
        loop_,
        [this](int fd, bool readable, bool writable) {
          ++calls_;
          on_ready_(fd, readable, writable);
        },
        std::move(pace));
    loop_.start();
  }
  void TearDown() override {
    on_loop([this] { watch_.reset(); });
    loop_.stop();
  }
  // Runs `work` on the loop's thread and waits for it.
  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  // False when it does not become so in time.
  bool comes_true(const std::function<bool()>& is_so) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool so = false;
    while (!so && std::chrono::steady_clock::now() < deadline) {
      on_loop([&] { so = is_so(); });
      if (!so) usleep(1000);
    }
    return so;
  }
  // Whatever was to be told at once is told.
  void settle() {
    for (int i = 0; i < 20; ++i) {
      on_loop([] {});
      usleep(1000);
    }
  }

  // Closed after the watch has ended.
  std::array<Pair, 100> pairs_;
  os::EventLoop loop_;
  std::optional<SocketWatch> watch_;
  Heard on_ready_ = [](int, bool, bool) {};  // of the loop's thread once it is open
  std::atomic<int> calls_ = 0;
};

TEST_F(SocketWatchTest, TellsWhatIsWaitedForUntilItIsForgotten) {
  const Pair& pair = pairs_[0];
  std::vector<std::pair<bool, bool>> heard;
  on_ready_ = [&](int fd, bool readable, bool writable) {
    EXPECT_EQ(fd, pair.near());
    heard.emplace_back(readable, writable);
    EXPECT_EQ(pair.hear(), readable);
    if (writable) {
      EXPECT_TRUE(watch_->watch(fd, true, false));
    }
  };
  open();
  on_loop([&] { EXPECT_TRUE(watch_->watch(pair.near(), true, true)); });
  ASSERT_TRUE(comes_true([&] { return heard.size() == 1; }));
  pair.say("a");
  ASSERT_TRUE(comes_true([&] { return heard.size() == 2; }));
  on_loop([&] { watch_->forget(pair.near()); });
  EXPECT_EQ(heard[0], std::pair(false, true));
  EXPECT_EQ(heard[1], std::pair(true, false));
  pair.say("b");
  settle();
  EXPECT_EQ(calls_, 2);
}

// A peer that leaves is told of without being asked for: nobody may hear of it without end.
TEST_F(SocketWatchTest, IsSilentAboutASocketOfWhichNothingIsWanted) {
  Pair& pair = pairs_[0];
  open();
  on_loop([&] {
    EXPECT_TRUE(watch_->watch(pair.near(), true, false));
    EXPECT_TRUE(watch_->watch(pair.near(), false, false));
  });
  close(std::exchange(pair.ends[1], -1));
  settle();
  EXPECT_EQ(calls_, 0);
  on_ready_ = [&](int fd, bool readable, bool) {
    EXPECT_TRUE(readable);
    watch_->forget(fd);
  };
  on_loop([&] { EXPECT_TRUE(watch_->watch(pair.near(), true, false)); });
  EXPECT_TRUE(comes_true([&] { return calls_ == 1; }));
}

// Both are ready at once; the first that is told of closes the other, whose descriptor a third one
// gets. What was known of the other must not be told of the third.
TEST_F(SocketWatchTest, DoesNotTakeASocketForAnEarlierOneOfItsNumber) {
  int other = -1;
  on_ready_ = [&](int fd, bool, bool) {
    if (other >= 0) {
      ADD_FAILURE() << "told of " << fd << ", which has nothing";
      return;
    }
    EXPECT_TRUE(fd == pairs_[0].near() || fd == pairs_[1].near());
    Pair& closed = fd == pairs_[0].near() ? pairs_[1] : pairs_[0];
    other = closed.near();
    watch_->forget(fd);
    watch_->forget(other);
    EXPECT_EQ(dup2(pairs_[2].near(), other), other);
    EXPECT_TRUE(watch_->watch(other, true, false));
  };
  open();
  pairs_[0].say("a");
  pairs_[1].say("b");
  on_loop([&] {
    EXPECT_TRUE(watch_->watch(pairs_[0].near(), true, false));
    EXPECT_TRUE(watch_->watch(pairs_[1].near(), true, false));
  });
  EXPECT_TRUE(comes_true([&] { return calls_ == 1; }));
  settle();
  EXPECT_EQ(calls_, 1);
}

TEST_F(SocketWatchTest, LetsWhatComesOfACalmSocketLieForItsPace) {
  const Pair& deprioritize = pairs_[0];
  const Pair& prompt = pairs_[1];
  microseconds pace{0};
  int deprioritized_calls = 0;
  int prompt_calls = 0;
  on_ready_ = [&](int fd, bool, bool) {
    const bool is_deprioritized = fd == deprioritize.near();
    EXPECT_TRUE((is_deprioritized ? deprioritize : prompt).hear());
    ++(is_deprioritized ? deprioritized_calls : prompt_calls);
    if (is_deprioritized) watch_->deprioritize(fd);
  };
  open([&] { return pace; });
  on_loop([&] {
    EXPECT_TRUE(watch_->watch(deprioritize.near(), true, false));
    EXPECT_TRUE(watch_->watch(prompt.near(), true, false));
  });
  // A turn ends with what it posted last. Who is heard too often in one is not calm.
  const auto end_turn = [&] {
    for (int i = 0; i < 2; ++i) on_loop([] {});
  };
  // Without a pace it has its turn at once.
  for (int i = 1; i <= 5; ++i) {
    deprioritize.say("a");
    ASSERT_TRUE(comes_true([&] { return deprioritized_calls == i; }));
    end_turn();
  }
  on_loop([&] { pace = std::chrono::hours(10); });
  deprioritize.say("b");
  ASSERT_TRUE(comes_true([&] { return deprioritized_calls == 6; }));
  end_turn();
  deprioritize.say("c");
  for (int i = 1; i <= 5; ++i) {
    prompt.say("d");
    ASSERT_TRUE(comes_true([&] { return prompt_calls == i; }));
  }
  EXPECT_EQ(deprioritized_calls, 6);
}

TEST_F(SocketWatchTest, GivesEveryCalmSocketItsTurn) {
  constexpr int rounds = 3;
  std::array<int, 100> heard{};
  on_ready_ = [&](int fd, bool, bool) {
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      if (pairs_.at(i).near() != fd) continue;
      EXPECT_TRUE(pairs_.at(i).hear());
      ++heard.at(i);
    }
  };
  open([] { return milliseconds(4); });
  on_loop([&] {
    for (const Pair& pair : pairs_) {
      EXPECT_TRUE(watch_->watch(pair.near(), true, false));
      watch_->deprioritize(pair.near());
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    for (const Pair& pair : pairs_) pair.say("a");
    ASSERT_TRUE(comes_true([&] {
      return std::all_of(heard.begin(), heard.end(), [&](int count) { return count == round; });
    }));
  }
}

// What brings much in one turn is not held up by a pace any more.
TEST_F(SocketWatchTest, IsPromptAgainAboutABulk) {
  constexpr int much = 10;
  const Pair& pair = pairs_[0];
  int heard = 0;
  on_ready_ = [&](int, bool, bool) {
    EXPECT_TRUE(pair.hear());
    ++heard;
  };
  open([] { return std::chrono::hours(10); });
  for (int i = 0; i < much; ++i) pair.say("a");
  on_loop([&] {
    EXPECT_TRUE(watch_->watch(pair.near(), true, false));
    watch_->deprioritize(pair.near());
  });
  ASSERT_TRUE(comes_true([&] { return heard == much; }));
  settle();
  pair.say("b");
  EXPECT_TRUE(comes_true([&] { return heard == much + 1; }));
}

}  // namespace
}  // namespace millrace::net
