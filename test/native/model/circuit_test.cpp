// Circuit breakers: when a provider that keeps failing is left alone, and when it is asked again.

#include "model/call/circuit.hpp"

#include <gtest/gtest.h>

namespace millrace::model {
namespace {

using namespace std::chrono_literals;

ProviderConfig config_with(std::string_view more = "") {
  auto config = read_config(R"({"provider":"openai","apiKey":["a","b"])" + std::string(more) + "}");
  EXPECT_TRUE(config.ok());
  return config ? std::move(config).value() : ProviderConfig{};
}

struct Store {
  void fail(int times, std::size_t key = 0) {
    for (int i = 0; i < times; ++i) {
      if (circuits.enter(config, key, now).ok()) {
        circuits.failed(config, key, make_error(Errc::connect_failed), now);
      }
    }
  }
  bool enters(std::size_t key = 0) { return circuits.enter(config, key, now).ok(); }

  ProviderConfig config = config_with();
  CircuitStore circuits;
  CircuitStore::Time now{1h};
};

TEST(Circuit, OpensAfterTenFailuresInThirtySeconds) {
  Store store;
  store.fail(9);
  EXPECT_TRUE(store.enters());
  store.fail(1);
  const auto rejected = store.circuits.enter(store.config, 0, store.now + 1s);
  ASSERT_FALSE(rejected.ok());
  EXPECT_EQ(rejected.error().code_name(), "circuit_open");
  EXPECT_EQ(rejected.error().retry_after, 29s);
  EXPECT_NE(rejected.error().message.find("connect_failed"), std::string::npos);
}

TEST(Circuit, ForgetsFailuresOfLongAgo) {
  Store store;
  for (int i = 0; i < 30; ++i) {
    store.fail(1);
    store.now += 4s;
  }
  EXPECT_TRUE(store.enters());
}

TEST(Circuit, ForgivesAFailureForEachSuccess) {
  Store store;
  for (int i = 0; i < 40; ++i) {
    store.fail(1);
    ASSERT_TRUE(store.enters());
    store.circuits.answered(store.config, 0);
  }
  EXPECT_EQ(store.circuits.json(store.now), "[]");
}

TEST(Circuit, LetsOneProbeFindOut) {
  Store store;
  store.fail(10);
  store.now += 30s;
  EXPECT_TRUE(store.enters());
  EXPECT_FALSE(store.enters()) << "a second one beside the probe";
  store.circuits.failed(store.config, 0, make_error(Errc::connect_failed), store.now);
  EXPECT_FALSE(store.enters());
  store.now += 30s;
  EXPECT_TRUE(store.enters());
  store.circuits.left(store.config, 0);
  EXPECT_TRUE(store.enters()) << "nobody knows what became of the probe";
  store.circuits.began(store.config, 0);
  EXPECT_TRUE(store.enters());
  EXPECT_TRUE(store.enters());
}

TEST(Circuit, IsOneForEachKeyAndAddress) {
  Store store;
  store.fail(10);
  EXPECT_FALSE(store.enters());
  EXPECT_TRUE(store.enters(1));
  store.config = config_with(R"(,"baseURL":"http://127.0.0.1:9")");
  EXPECT_TRUE(store.enters());
}

TEST(Circuit, IsSetByOptions) {
  Store store;
  store.config = config_with(R"(,"circuit":{"failures":2,"windowMs":1000,"pauseMs":50})");
  store.fail(2);
  EXPECT_FALSE(store.enters());
  store.now += 50ms;
  EXPECT_TRUE(store.enters());
  store.config = config_with(R"(,"circuit":false)");
  store.fail(100);
  EXPECT_TRUE(store.enters());
  for (const std::string_view wrong : {R"("no")", R"({"failures":0})", R"({"pauseMs":"1"})"}) {
    const auto config =
        read_config(R"({"provider":"openai","circuit":)" + std::string(wrong) + "}");
    ASSERT_FALSE(config.ok()) << wrong;
    EXPECT_EQ(config.error().code_name(), "invalid_option");
  }
}

TEST(Circuit, TellsWithoutTheKey) {
  Store store;
  store.fail(10);
  EXPECT_EQ(store.circuits.json(store.now + 1s),
            R"([{"provider":"openai","origin":"https://api.openai.com","state":"open",)"
            R"("failures":10,"lastError":"connect_failed","retryAfterMs":29000}])");
  EXPECT_NE(store.circuits.json(store.now + 1min).find("half_open"), std::string::npos);
}

TEST(Circuit, CountsTheTroubleOfProvidersOnly) {
  for (const Errc code :
       {Errc::connect_timeout, Errc::connection_lost, Errc::provider_overloaded}) {
    EXPECT_TRUE(is_outage(make_error(code))) << make_error(code).code_name();
  }
  for (const Errc code : {Errc::stream_truncated, Errc::stream_empty, Errc::provider_error,
                          Errc::rate_limited, Errc::authentication_failed, Errc::cancelled,
                          Errc::provider_bad_request, Errc::circuit_open}) {
    EXPECT_FALSE(is_outage(make_error(code))) << make_error(code).code_name();
  }
  Error own = make_error(Errc::provider_error);
  own.upstream_status = 502;
  EXPECT_TRUE(is_outage(own));
  Error odd = make_error(Errc::provider_error);
  odd.upstream_status = 418;
  EXPECT_FALSE(is_outage(odd));
}

}  // namespace
}  // namespace millrace::model
