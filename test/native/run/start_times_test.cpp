// Rates: how many runs of a store may begin in a time, whichever environment begins them.
#include "run/durable/start_times.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cut_backend.hpp"
#include "store/memory/memory_backend.hpp"

namespace millrace::run {
namespace {

using std::chrono::milliseconds;

constexpr StartTimes::Time first_start{};

std::vector<store::Claim> claims_begun(const std::vector<std::pair<std::string, std::string>>& runs,
                                       store::Lane lane = store::Lane::normal) {
  std::vector<store::Claim> claims(runs.size());
  for (std::size_t at = 0; at < runs.size(); ++at) {
    claims[at].run.run.name = runs[at].first;
    claims[at].run.run.principal = runs[at].second;
    claims[at].run.run.lane = lane;
    claims[at].run.epoch = 1;
  }
  return claims;
}

TEST(StartTimes, CountWhatBeganInATime) {
  StartTimes times;
  StartRates rates;
  EXPECT_EQ(times.counted(rates, first_start).longest, milliseconds(0));
  rates.total = {3, milliseconds(100)};
  EXPECT_EQ(times.counted(rates, first_start).limits.total, 3U);
  EXPECT_EQ(times.next(rates, first_start), std::nullopt);
  times.add(claims_begun({{"a", "x"}}), first_start);
  times.add(claims_begun({{"a", "x"}, {"b", "y"}}), first_start + milliseconds(40));
  times.add(claims_begun({{"a", "x"}}, store::Lane::inner), first_start + milliseconds(40));
  EXPECT_EQ(times.counted(rates, first_start + milliseconds(99)).begun.total, 3U);
  EXPECT_EQ(times.next(rates, first_start + milliseconds(99)), first_start + milliseconds(100));
  EXPECT_EQ(times.counted(rates, first_start + milliseconds(100)).begun.total, 2U);
  EXPECT_EQ(times.next(rates, first_start + milliseconds(100)), std::nullopt);
  EXPECT_EQ(times.counted(rates, first_start + milliseconds(140)).begun.total, 0U);
}

TEST(StartTimes, CountForNamesPrincipalsAndWhatNamesShare) {
  StartTimes times;
  StartRates rates;
  rates.each_principal = {2, milliseconds(10)};
  rates.names["a"] = {2, milliseconds(20)};
  rates.shared.push_back({{"a", "b"}, {3, milliseconds(30)}});
  EXPECT_EQ(times.counted(rates, first_start).longest, milliseconds(30));
  times.add(claims_begun({{"a", "x"}, {"b", "x"}}), first_start);
  times.add(claims_begun({{"a", "y"}}), first_start + milliseconds(1));
  const auto counted = times.counted(rates, first_start + milliseconds(9));
  EXPECT_EQ(counted.begun.principals.at("x"), 2U);
  EXPECT_EQ(counted.begun.principals.at("y"), 1U);
  EXPECT_EQ(counted.begun.names.at("a"), 2U);
  EXPECT_EQ(counted.begun.shared.at(0), 3U);
  // The first that is free again: of x, then of the name, then of what they share.
  EXPECT_EQ(times.next(rates, first_start + milliseconds(9)), first_start + milliseconds(10));
  EXPECT_EQ(times.next(rates, first_start + milliseconds(10)), first_start + milliseconds(20));
  EXPECT_EQ(times.next(rates, first_start + milliseconds(20)), first_start + milliseconds(30));
  EXPECT_EQ(times.next(rates, first_start + milliseconds(30)), std::nullopt);
}

TEST(StartTimes, CountByEachRateWhatOthersBegan) {
  StartTimes times;
  StartRates slow;
  slow.total = {2, milliseconds(1000)};
  StartRates fast;
  fast.total = {2, milliseconds(10)};
  EXPECT_EQ(times.counted(slow, first_start).begun.total, 0U);
  times.add(claims_begun({{"a", "x"}, {"a", "x"}}), first_start);
  EXPECT_EQ(times.counted(fast, first_start + milliseconds(10)).begun.total, 0U);
  times.add(claims_begun({{"a", "x"}}), first_start + milliseconds(10));
  EXPECT_EQ(times.counted(slow, first_start + milliseconds(999)).begun.total, 3U);
  EXPECT_EQ(times.counted(slow, first_start + milliseconds(1000)).begun.total, 1U);
}

TEST(StartTimes, DoNotCountRunsThatGoOn) {
  StartTimes times;
  StartRates rates;
  rates.total = {3, milliseconds(100)};
  EXPECT_EQ(times.counted(rates, first_start).begun.total, 0U);
  auto claims = claims_begun({{"a", "x"}, {"a", "x"}});
  claims[1].run.epoch = 2;  // it was cut, slept or was parked
  times.add(claims, first_start);
  EXPECT_EQ(times.counted(rates, first_start).begun.total, 1U);
}

TEST(StartTimes, CountOnceWhatTheStoreTellsLate) {
  test::CutBackend backend(store::make_memory_backend());
  StartTimes times;
  StartRates rates;
  rates.total = {2, milliseconds(100)};
  const auto later = first_start + milliseconds(50);
  backend.begin_with(make_error(Errc::store_failed));
  times.load(backend, rates, first_start);
  EXPECT_EQ(times.counted(rates, first_start).begun.total, 0U);
  times.add(claims_begun({{"a", "x"}}), first_start);
  // That one, and one of a process before.
  backend.begin_with(
      std::vector<store::BegunRun>{{"a", "x", milliseconds(50)}, {"a", "x", milliseconds(90)}});
  times.load(backend, rates, later);
  times.load(backend, rates, later);
  EXPECT_EQ(times.counted(rates, later).begun.total, 2U);
  EXPECT_EQ(times.next(rates, later), later + milliseconds(10));
  EXPECT_EQ(times.counted(rates, later + milliseconds(10)).begun.total, 1U);
}

TEST(StartTimes, KeepOnlyWhatARateCounts) {
  StartTimes times;
  StartRates rates;
  rates.names["a"] = {2, milliseconds(1000)};
  rates.each_principal = {2, milliseconds(10)};
  EXPECT_EQ(times.counted(rates, first_start).longest, milliseconds(1000));
  for (int run = 0; run < 100; ++run) {
    const std::string principal = std::to_string(run);
    times.add(claims_begun({{"a", principal}, {"b", principal}}), first_start);
  }
  EXPECT_EQ(times.size(), 100U + 200U);
  EXPECT_EQ(times.counted(rates, first_start + milliseconds(10)).begun.names.at("a"), 100U);
  EXPECT_EQ(times.size(), 100U);
  EXPECT_EQ(times.counted(rates, first_start + milliseconds(1000)).begun.names.at("a"), 0U);
  EXPECT_EQ(times.size(), 0U);
}

TEST(StartTimes, ReadWhatANewRateCountsFromTheStore) {
  test::CutBackend backend(store::make_memory_backend());
  StartTimes times;
  StartRates first;
  first.names["a"] = {2, milliseconds(100)};
  backend.begin_with(
      std::vector<store::BegunRun>{{"a", "x", milliseconds(0)}, {"b", "x", milliseconds(0)}});
  times.load(backend, first, first_start);
  EXPECT_EQ(times.size(), 1U);
  StartRates second;
  second.names["b"] = {2, milliseconds(200)};
  times.load(backend, second, first_start);
  EXPECT_EQ(times.counted(second, first_start).begun.names.at("b"), 1U);
  EXPECT_EQ(times.counted(first, first_start).begun.names.at("a"), 1U);
}

// An environment without rates begins runs that rates of another one count.
TEST(StartTimes, HaveTheStoreRememberWhatAnyRateCounts) {
  StartTimes times;
  EXPECT_FALSE(times.any());
  StartRates rates;
  rates.names["a"] = {2, milliseconds(100)};
  times.count_by(rates);
  EXPECT_TRUE(times.any());
  const auto counted = times.counted({}, first_start);
  EXPECT_EQ(counted.longest, milliseconds(100));
  EXPECT_FALSE(counted.is_of_all_names);
  EXPECT_TRUE(counted.of_names.contains("a"));
  times.add(claims_begun({{"a", "x"}}), first_start);
  EXPECT_EQ(times.counted(rates, first_start).begun.names.at("a"), 1U);
  rates.total = {2, milliseconds(50)};
  EXPECT_TRUE(times.counted(rates, first_start).is_of_all_names);
}

TEST(StartTimes, AreOnesOfAStore) {
  const store::Writer one(store::make_memory_backend());
  const store::Writer other(store::make_memory_backend());
  const auto times = StartTimes::of(one);
  EXPECT_EQ(StartTimes::of(one), times);
  EXPECT_NE(StartTimes::of(other), times);
}

}  // namespace
}  // namespace millrace::run
