#include "os/random_ids.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>
#include <vector>

TEST(RandomIds, AreDistinctVersionFourUuids) {
  millrace::os::RandomIds ids;
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = ids.next_id();
    ASSERT_EQ(id.size(), 36U);
    EXPECT_EQ(id[14], '4');
    EXPECT_TRUE(seen.insert(id).second);
  }
}

TEST(RandomIds, AreDistinctInEachThread) {
  std::array<std::vector<std::string>, 8> made;
  std::vector<std::thread> threads;
  for (std::vector<std::string>& list : made) {
    threads.emplace_back([&list] {
      millrace::os::RandomIds ids;
      for (int i = 0; i < 100; ++i) list.push_back(ids.next_id());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> seen;
  for (const std::vector<std::string>& list : made) seen.insert(list.begin(), list.end());
  EXPECT_EQ(seen.size(), 800U);
}
