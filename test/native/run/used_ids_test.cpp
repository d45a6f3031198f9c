#include "run/used_ids.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millrace::run {
namespace {

TEST(UsedIds, TakeEachOnce) {
  UsedIds used;
  for (int at = 0; at < 1000; ++at) {
    const std::string id = "id " + std::to_string(at);
    EXPECT_TRUE(used.insert(id));
    EXPECT_FALSE(used.insert(id));
  }
  EXPECT_FALSE(used.insert("id 0"));
}

// A request may have so many messages. Kept in order in one list, they would need minutes.
TEST(UsedIds, TakeTimeInProportionToTheirNumber) {
  UsedIds used;
  for (int at = 0; at < 1'000'000; ++at) ASSERT_TRUE(used.insert("id " + std::to_string(at)));
}

}  // namespace
}  // namespace millrace::run
