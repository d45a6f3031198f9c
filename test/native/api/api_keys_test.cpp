#include "api/api_keys.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "base/sha256.hpp"
#include "store/backend.hpp"
#include "store/memory/memory_backend.hpp"

namespace {

namespace api = millrace::api;
using std::chrono::seconds;

constexpr std::int64_t day_ms = 86'400'000;
constexpr std::int64_t begun = 20'000 * day_ms;

TEST(KeyUse, LetsTheMinuteFillUp) {
  api::KeyUse use;
  const api::KeyLimits limits{6, 0};
  for (int at = 0; at < 6; ++at) EXPECT_FALSE(use.take(limits, begun, true)) << at;
  // Six a minute are one in ten seconds.
  EXPECT_EQ(use.take(limits, begun, true), seconds(10));
  EXPECT_EQ(use.take(limits, begun + 4000, true), seconds(6));
  EXPECT_FALSE(use.take(limits, begun + 11'000, true));
  EXPECT_TRUE(use.take(limits, begun + 11'000, true));
  for (int at = 0; at < 6; ++at) {
    EXPECT_FALSE(use.take(limits, begun + 1'000'000, true)) << at;
  }
  EXPECT_TRUE(use.take(limits, begun + 1'000'000, true));
  // A clock that is set back has nobody wait for longer than a minute.
  EXPECT_EQ(use.take(limits, begun, true), seconds(10));
}

TEST(KeyUse, CountsTheDay) {
  api::KeyUse use;
  const api::KeyLimits limits{0, 2};
  EXPECT_FALSE(use.take(limits, day_ms - 1500, true));
  EXPECT_FALSE(use.take(limits, day_ms - 1500, true));
  EXPECT_EQ(use.take(limits, day_ms - 1500, true), seconds(2));
  EXPECT_FALSE(use.take(limits, day_ms, true));
  EXPECT_FALSE(use.take(limits, day_ms - 1500, true));
  EXPECT_TRUE(use.take(limits, day_ms - 1500, true));
}

TEST(KeyUse, DoesNotCountALookAhead) {
  api::KeyUse use;
  const api::KeyLimits limits{1, 1};
  for (int at = 0; at < 5; ++at) EXPECT_FALSE(use.take(limits, begun, false)) << at;
  EXPECT_FALSE(use.take(limits, begun, true));
  EXPECT_TRUE(use.take(limits, begun, false));
}

// Two processes with one store.
struct Sharing {
  std::unique_ptr<millrace::store::StorageBackend> backend =
      millrace::store::make_memory_backend([] { return begun; });
  api::KeyUse one;
  api::KeyUse other;

  void meet(api::KeyUse& use) {
    auto given = use.give();
    if (!given) return;
    given->key = "key";
    use.take_total(backend->spend({&*given, 1}).value().at(0));
  }
};

TEST(KeyUse, IsThatOfAllProcesses) {
  Sharing shared;
  const api::KeyLimits limits{10, 12};
  for (int at = 0; at < 4; ++at) EXPECT_FALSE(shared.one.take(limits, begun, true));
  for (int at = 0; at < 5; ++at) EXPECT_FALSE(shared.other.take(limits, begun, true));
  shared.meet(shared.one);
  shared.meet(shared.other);
  // Nine of ten, and what comes while its own uses are on their way is not lost.
  auto given = shared.other.give();
  EXPECT_FALSE(given);
  EXPECT_FALSE(shared.other.take(limits, begun, true));
  EXPECT_TRUE(shared.other.take(limits, begun, true));
  shared.meet(shared.other);
  EXPECT_FALSE(shared.one.take(limits, begun, true));  // not yet known
  shared.meet(shared.one);
  EXPECT_TRUE(shared.one.take(limits, begun, true));
  // A minute later the day has two left of twelve, less one too many.
  const std::int64_t later = begun + 120'000;
  EXPECT_FALSE(shared.one.take(limits, later, true));
  EXPECT_TRUE(shared.one.take(limits, later, true));
}

TEST(KeyUse, GoesOnWhereAProcessEnded) {
  Sharing shared;
  const api::KeyLimits limits{0, 3};
  for (int at = 0; at < 2; ++at) EXPECT_FALSE(shared.one.take(limits, begun, true));
  shared.meet(shared.one);
  EXPECT_FALSE(shared.other.take(limits, begun, true));
  shared.meet(shared.other);
  EXPECT_TRUE(shared.other.take(limits, begun, true));
}

TEST(KeyUse, KeepsWhatDidNotReachTheStore) {
  Sharing shared;
  const api::KeyLimits limits{0, 3};
  EXPECT_FALSE(shared.one.take(limits, begun, true));
  ASSERT_TRUE(shared.one.give());
  EXPECT_FALSE(shared.one.take(limits, begun, true));
  EXPECT_FALSE(shared.one.give());
  shared.one.take_total(std::nullopt);
  EXPECT_EQ(shared.one.give()->requests, 2);
}

TEST(ApiKeys, EndInTime) {
  api::ApiOptions options;
  options.keys.push_back({"old", millrace::sha256_hex("old"), "ada", {}, 1});
  options.keys.push_back({"new", millrace::sha256_hex("new"), "ada", {}, 99'999'999'999'999});
  api::ApiKeys keys(options);
  EXPECT_TRUE(keys.are_needed());
  EXPECT_FALSE(keys.find("old", true).caller);
  ASSERT_TRUE(keys.find("new", true).caller);
  EXPECT_EQ(keys.find("new", true).caller->key, "new");
}

TEST(KeyFile, IsReadWithItsLimits) {
  const auto keys = api::read_key_file(
      R"({"version":1,"keys":[{"id":"1","name":"app","sha256":")" + millrace::sha256_hex("k") +
      R"(","principal":"ada","scopes":["read"],"expiresAt":7,"limits":{"perMinute":3}}]})");
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys.value().size(), 1U);
  const api::ApiKey& key = keys.value().front();
  EXPECT_EQ(key.name, "app");
  EXPECT_EQ(key.principal, "ada");
  EXPECT_EQ(key.scopes, std::vector<std::string>{"read"});
  EXPECT_EQ(key.expires_ms, 7);
  EXPECT_EQ(key.limits.per_minute, 3);
  EXPECT_EQ(key.limits.per_day, 0);
}

TEST(KeyFile, IsRejectedWhole) {
  for (const char* wrong : {"", "[]", "{}", R"({"keys":{}})", R"({"keys":[{}]})",
                            R"({"keys":[{"sha256":"00","principal":"a"}]})"}) {
    EXPECT_FALSE(api::read_key_file(wrong)) << wrong;
  }
  const std::string key =
      R"({"keys":[{"principal":"a","sha256":")" + millrace::sha256_hex("k") + '"';
  EXPECT_TRUE(api::read_key_file(key + "}]}"));
  for (const char* wrong : {R"(,"scopes":"read")", R"(,"scopes":[])", R"(,"scope":["read"])",
                            R"(,"expiresAt":"2026-12-01")", R"(,"key":"k")"}) {
    EXPECT_FALSE(api::read_key_file(key + wrong + "}]}")) << wrong;
  }
}

}  // namespace
