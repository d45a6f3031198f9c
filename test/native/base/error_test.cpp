#include "base/error.hpp"

#include <gtest/gtest.h>

using namespace millrace;

TEST(Error, TakesItsSentenceFromTheTable) {
  const Error error = make_error(Errc::rate_limited);
  EXPECT_EQ(error.code_name(), "rate_limited");
  EXPECT_EQ(error.retry(), RetryClass::later);
  EXPECT_FALSE(error.message.empty());
}

TEST(Error, RedactsCredentialsInTheDetail) {
  const Error error = make_error(
      Errc::authentication_failed, {},
      "Incorrect API key sk-proj-abcdefghijkl, header Bearer abc.def-123; task-force stays");
  EXPECT_EQ(error.detail.find("abcdefghijkl"), std::string::npos);
  EXPECT_EQ(error.detail.find("abc.def"), std::string::npos);
  EXPECT_NE(error.detail.find("task-force stays"), std::string::npos);
}

TEST(Error, CutsAtACharacterBoundary) {
  EXPECT_EQ(redacted("ab\xE2\x82\xAC", 4), "ab");
}
