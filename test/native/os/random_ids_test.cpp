#include "os/random_ids.hpp"

#include <gtest/gtest.h>

#include <set>

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
