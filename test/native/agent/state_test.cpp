#include "agent/state.hpp"

#include <gtest/gtest.h>

namespace millrace::agent {
namespace {

TEST(State, WritesTimesAsJavaScriptDoes) {
  EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso_time(1'767'323'045'678), "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(iso_time(1'798'761'599'009), "2026-12-31T23:59:59.009Z");
  EXPECT_EQ(iso_time(-1), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace millrace::agent
