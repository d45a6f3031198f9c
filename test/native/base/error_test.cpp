#include "base/error.hpp"

#include <gtest/gtest.h>

#include "base/error_classes.hpp"

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

TEST(Error, RedactsBeforeItCuts) {
  // The limit stands inside the key: what is left of it must not be shown.
  for (std::size_t limit = 8; limit < 60; ++limit) {
    const std::string shown =
        redacted("The key sk-proj-abcdefghijklmnop is wrong, says the server", limit);
    EXPECT_EQ(shown.find("proj"), std::string::npos) << limit << ": " << shown;
    EXPECT_LE(shown.size(), limit);
  }
  const std::string before(2040, ' ');
  const Error error = make_error(Errc::provider_error, {}, before + "sk-abcdefghijklmnopqrst");
  EXPECT_EQ(error.detail.find("sk-abc"), std::string::npos);
}

TEST(Error, ShowsNothingThatControlsATerminal) {
  const std::string hostile = "Hello\x1B[31m red\x1B]8;;http://x\x07 link\x07\r\nnext\tline\x7F";
  const Error error = make_error(Errc::provider_error, hostile, hostile);
  EXPECT_EQ(error.message, "Hello red link\nnext\tline");
  EXPECT_EQ(error.detail, error.message);
  // The C1 form of a sequence, what turns the direction of writing, and bytes that are no text.
  const Error hidden = make_error(Errc::provider_error,
                                  "a\xC2\x9B"
                                  "b\xE2\x80\xAE"
                                  "c\xFF"
                                  "d\xE2\x80\x8B"
                                  "e");
  EXPECT_EQ(hidden.message,
            "abc\xEF\xBF\xBD"
            "de");
  // A key that hides from the rules of credentials.
  EXPECT_EQ(redacted("the key sk-pro\x1B[0mj-abcdefghijk", 100), "the key sk-[redacted]");
}

TEST(Error, CutsNoWordThatMayBeAKey) {
  EXPECT_EQ(redacted("no such key: my-own-key-0123456789", 20), "no such key: ");
  EXPECT_EQ(redacted(std::string(1000, 'x'), 500).size(), 500U);
}

TEST(ErrorClasses, AreFoundByTheirNamesAndOlderNames) {
  EXPECT_EQ(error_type_of("RateLimitExceeded"), ErrorType::RateLimitExceeded);
  EXPECT_EQ(error_type_of("QuotaLimitReached"), ErrorType::RateLimitExceeded);
  EXPECT_EQ(error_type_of("UnknownChatFetchError"), ErrorType::UnknownChatFetchError);
  EXPECT_FALSE(error_type_of("Nonsense"));
  EXPECT_FALSE(error_type_of(""));
}

TEST(ErrorClasses, KeepDetailsOfThisMachine) {
  EXPECT_TRUE(has_private_detail(ErrorType::ProviderNetworkError));
  EXPECT_TRUE(has_private_detail(ErrorType::DatabasePersistError));
  EXPECT_FALSE(has_private_detail(ErrorType::ProviderBizError));
}
