#include "model/call/retry.hpp"

#include <gtest/gtest.h>

#include "model/call/retry_after.hpp"

namespace millrace::model {
namespace {

using namespace std::chrono_literals;
using Kind = Decision::Kind;

Error error_of(Errc code, std::optional<std::chrono::milliseconds> after = {}) {
  Error error = make_error(code);
  error.retry_after = after;
  return error;
}

TEST(Retry, DoublesItsWaitUpToTheLongest) {
  const RetryPolicy policy{10, 10, 500ms, 30'000ms, 60'000ms, false};
  AttemptState state;
  std::chrono::milliseconds before{0};
  for (state.retries = 0; state.retries < 10; ++state.retries) {
    const Decision decision = decide(policy, state, error_of(Errc::provider_error), 0.999);
    ASSERT_EQ(decision.kind, Kind::wait);
    EXPECT_GE(decision.wait, before);
    EXPECT_LE(decision.wait, 30s);
    before = decision.wait;
  }
  EXPECT_GT(before, 29s);
  state.retries = 3;
  EXPECT_EQ(decide(policy, state, error_of(Errc::provider_error), 0.0).wait, 0ms);
}

TEST(Retry, NeverUndercutsWhatItWasTold) {
  for (const double random : {0.0, 0.3, 0.999}) {
    const Decision decision = decide({}, {}, error_of(Errc::rate_limited, 10s), random);
    EXPECT_GE(decision.wait, 10s);
    EXPECT_LE(decision.wait, 12s);
  }
}

TEST(Retry, PrefersTheFallbackToALongWait) {
  AttemptState state;
  state.has_fallback = true;
  EXPECT_EQ(decide({}, state, error_of(Errc::rate_limited, 2h), 0.5).kind, Kind::fallback);
  EXPECT_EQ(decide({}, state, error_of(Errc::rate_limited, 2s), 0.5).kind, Kind::wait);
}

TEST(Retry, BeginsNoWaitBehindWhichNoTimeIsLeft) {
  AttemptState state;
  state.left = 5s;
  EXPECT_EQ(decide({}, state, error_of(Errc::rate_limited, 2s), 0.5).kind, Kind::wait);
  EXPECT_EQ(decide({}, state, error_of(Errc::rate_limited, 5s), 0.5).kind, Kind::stop);
  state.has_fallback = true;
  EXPECT_EQ(decide({}, state, error_of(Errc::rate_limited, 5s), 0.5).kind, Kind::fallback);
  state.left = 0s;
  EXPECT_EQ(decide({}, state, error_of(Errc::provider_error), 0.0).kind, Kind::fallback);
}

TEST(Retry, StopsWhenTheRequestItselfIsAtFault) {
  AttemptState state;
  state.has_fallback = true;
  for (const Errc code : {Errc::provider_bad_request, Errc::invalid_messages, Errc::cancelled,
                          Errc::content_filtered}) {
    EXPECT_EQ(decide({}, state, error_of(code), 0.5).kind, Kind::stop) << row_of(code).code;
  }
}

TEST(Retry, FollowsTheProvidersOwnWord) {
  AttemptState state;
  Error reported = error_of(Errc::provider_bad_request);
  reported.should_retry = true;
  EXPECT_EQ(reported.retry(), RetryClass::yes);
  EXPECT_EQ(decide({}, state, reported, 0.5).kind, Kind::wait);
  Error open = error_of(Errc::circuit_open);
  open.should_retry = true;
  EXPECT_EQ(decide({}, state, open, 0.5).kind, Kind::stop);
  Error rejected = error_of(Errc::rate_limited);
  rejected.should_retry = true;
  EXPECT_EQ(rejected.retry(), row_of(Errc::rate_limited).retry);
  rejected.should_retry = false;
  EXPECT_EQ(rejected.retry(), RetryClass::no);
  EXPECT_EQ(decide({}, state, rejected, 0.5).kind, Kind::stop);
  state.has_fallback = true;
  EXPECT_EQ(decide({}, state, rejected, 0.5).kind, Kind::fallback);
  state.has_fallback = false;
  state.retries = 2;
  EXPECT_EQ(decide({}, state, reported, 0.5).kind, Kind::stop);
}

TEST(RetryAfter, ReadsItsForms) {
  const RetryTime now = RetryTime(std::chrono::sys_days(std::chrono::year(2026) / 11 / 22)) + 8h;
  struct Case {
    std::vector<net::Header> headers;
    std::optional<std::chrono::milliseconds> wait;
  };
  const std::vector<Case> cases{
      {{{"Retry-After", "12"}}, 12s},
      {{{"retry-after", "1.5"}}, 1500ms},
      {{{"Retry-After", "0"}}, 0ms},
      {{{"retry-after-ms", "250"}, {"Retry-After", "9"}}, 250ms},
      {{{"Retry-After", "Sun, 22 Nov 2026 08:00:20 GMT"}}, 20s},
      {{{"Retry-After", "Sunday, 22-Nov-26 08:00:20 GMT"}}, 20s},
      {{{"Retry-After", "Sun Nov 22 08:00:20 2026"}}, 20s},
      {{{"Retry-After", "Sun, 22 Nov 2026 07:00:00 GMT"}}, 0ms},
      {{{"Retry-After", "soon"}}, std::nullopt},
      {{{"Retry-After", "-5"}}, std::nullopt},
      {{{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "6m0s"}}, 360s},
      {{{"x-ratelimit-remaining-tokens", "0"}, {"x-ratelimit-reset-tokens", "20ms"}}, 20ms},
      {{{"x-ratelimit-remaining-tokens", "3"}, {"x-ratelimit-reset-tokens", "20ms"}}, std::nullopt},
      {{{"anthropic-ratelimit-requests-remaining", "0"},
        {"anthropic-ratelimit-requests-reset", "2026-11-22T08:00:30Z"}},
       30s},
      {{{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1795334410000"}}, 10s},
      {{{"Retry-After", "Sun, 22 Nov 1026 07:00:00 GMT"}}, 0ms},
      {{}, std::nullopt},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(retry_after_of(one.headers, now), one.wait)
        << (one.headers.empty() ? "" : one.headers[0].value);
  }
}

// Beyond what a clock of nanoseconds can say: far in the future all the same.
TEST(RetryAfter, FarMomentsAreFar) {
  const RetryTime now = RetryTime(std::chrono::sys_days(std::chrono::year(2026) / 11 / 22)) + 8h;
  const std::vector<std::vector<net::Header>> cases{
      {{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"}},
      {{"Retry-After", "2500-01-01T00:00:00Z"}},
      {{"Retry-After", "99999999999999999999"}},
      {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "999999999999"}},
      {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "99999999999999999"}},
  };
  for (const auto& headers : cases) {
    const auto wait = retry_after_of(headers, now);
    ASSERT_TRUE(wait.has_value()) << headers.back().value;
    EXPECT_GT(*wait, 24h) << headers.back().value;
  }
}

TEST(RetryAfter, ReadsSentences) {
  EXPECT_EQ(retry_after_in("please try again in 1.2s. visit"), 1200ms);
  EXPECT_EQ(retry_after_in("please retry in 34.5s."), 34500ms);
  EXPECT_EQ(retry_after_in("try again in a while"), std::nullopt);
}

}  // namespace
}  // namespace millrace::model
