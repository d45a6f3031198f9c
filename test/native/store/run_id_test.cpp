// Ids of runs: their order is that in which they were made.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "store/types.hpp"

namespace millrace::store {
namespace {

TEST(RunIdNext, KeepsTheOrderWithinAMillisecond) {
  RunId before = RunId::next();
  // More than the counter of one millisecond holds.
  for (int count = 0; count < 20'000; ++count) {
    const RunId next = RunId::next();
    ASSERT_LT(before, next) << before.text() << ' ' << next.text();
    before = next;
  }
  EXPECT_EQ(before.text()[4 + 12], '7');
  EXPECT_EQ(RunId::parse(before.text()), before);
}

TEST(RunIdNext, GivesThreadsDifferentTimes) {
  std::vector<std::vector<std::string>> made(4);
  std::vector<std::thread> threads;
  for (auto& ids : made) {
    threads.emplace_back([&ids] {
      for (int count = 0; count < 5000; ++count) ids.push_back(RunId::next().text());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> times;
  for (const auto& ids : made) {
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    // "run_", milliseconds, version and counter.
    for (const std::string& id : ids) times.insert(id.substr(0, 4 + 16));
  }
  EXPECT_EQ(times.size(), 20'000U);
}

}  // namespace
}  // namespace millrace::store
