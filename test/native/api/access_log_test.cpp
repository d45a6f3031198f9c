#include "api/access_log.hpp"

#include <gtest/gtest.h>

#include <string>

#include "api/client_address.hpp"

namespace {

namespace api = millrace::api;
namespace http = millrace::http;

constexpr std::string_view good_trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(RequestTrace, TakesWhatTheStandardAllows) {
  EXPECT_EQ(api::valid_trace(good_trace), good_trace);
  // Of a later version the known part.
  const std::string later = "cc" + std::string(good_trace.substr(2));
  EXPECT_EQ(api::valid_trace(later + "-what the future brings"), later);
}

TEST(RequestTrace, LeavesOutWhatIsNone) {
  const std::string trace(good_trace);
  for (const std::string& wrong :
       {std::string(), trace.substr(1), trace + "0", trace + "-00", "ff" + trace.substr(2),
        "00-" + std::string(32, '0') + trace.substr(35),
        trace.substr(0, 36) + std::string(16, '0') + "-01", "0G" + trace.substr(2),
        "00-4BF92F3577B34DA6A3CE929D0E0E4736" + trace.substr(35), "cc" + trace.substr(2) + "x"}) {
    EXPECT_EQ(api::valid_trace(wrong), "") << wrong;
  }
}

TEST(AccessLog, ShowsPathsWithoutKeys) {
  EXPECT_EQ(api::shown_path("/api/v1/chat/jobs/5f0c-1/events"), "/api/v1/chat/jobs/5f0c-1/events");
  EXPECT_EQ(api::shown_path("/webapi/chat/sk-proj-abcdefghijkl"), "/webapi/chat/sk-[redacted]");
  EXPECT_EQ(api::shown_path("/agent/mr_0123456789abcdefghijklmnopqrstuv/x"),
            "/agent/mr_[redacted]/x");
  EXPECT_EQ(api::shown_path("/agent;api_key=0123456789/runs"), "/agent;api_key=[redacted]/runs");
  EXPECT_EQ(api::shown_path("/agent&token=0123456789"), "/agent&token=[redacted]");
  EXPECT_EQ(api::shown_path("/agent%3Fapi_key=0123456789"), "/agent");
  EXPECT_EQ(api::shown_path("//a=b/"), "//a=b/");
}

TEST(RequestId, IsTakenWhereItIsWellFormed) {
  EXPECT_TRUE(api::is_request_id("a-b_c.D:9~+/="));
  EXPECT_TRUE(api::is_request_id(std::string(128, 'x')));
  for (const std::string& wrong :
       {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\"b"),
        std::string("a,b"), std::string("\xC3\xA4")}) {
    EXPECT_FALSE(api::is_request_id(wrong)) << wrong;
  }
}

TEST(RequestId, IsNotTakenWhereItHasASecret) {
  const http::Headers fields{{"X-Millrace-API-Key", "a-key-of-mine-0815"},
                             {"Authorization", "Bearer other.token.4711"},
                             {"Accept", "text/plain"}};
  for (const std::string_view secret :
       {"sk-proj-abcdefghijkl", "req:mr_0123456789abcdefghijklmnopqrstuv", "a-key-of-mine-0815",
        "other.token.4711", "x/A-KEY-OF-MINE-0815"}) {
    EXPECT_TRUE(api::has_secret(secret, fields)) << secret;
  }
  for (const std::string_view id :
       {"5f0c7c1e-0d1b-4c46-8e0b-3f8c3f3f0c11", "text/plain", "app-17"}) {
    EXPECT_FALSE(api::has_secret(id, fields)) << id;
  }
}

TEST(TrustedProxies, TakeTheLastAddressThatIsNoProxy) {
  const auto made = api::TrustedProxies::make({"10.0.0.0/8", "fd00::1"});
  ASSERT_TRUE(made);
  const api::TrustedProxies& proxies = made.value();
  const http::Headers fields{{"X-Forwarded-For", "6.6.6.6, 1.2.3.4"},
                             {"x-forwarded-for", " 10.1.1.1 "}};
  EXPECT_EQ(proxies.client_of("10.0.0.2", fields), "1.2.3.4");
  EXPECT_EQ(proxies.client_of("fd00::1", fields), "1.2.3.4");
  EXPECT_EQ(proxies.client_of("fd00::2", fields), "fd00::2");
  EXPECT_EQ(proxies.client_of("11.0.0.2", fields), "11.0.0.2");
  EXPECT_EQ(proxies.client_of("10.0.0.2", {}), "10.0.0.2");
  EXPECT_EQ(proxies.client_of("10.0.0.2", {{"X-Forwarded-For", "[2001:db8::7]:443"}}),
            "2001:db8::7");
  EXPECT_EQ(proxies.client_of("10.0.0.2", {{"X-Forwarded-For", "1.2.3.4:99"}}), "1.2.3.4");
  // Behind what is no address, nothing is believed.
  EXPECT_EQ(proxies.client_of("10.0.0.2", {{"X-Forwarded-For", "1.2.3.4, unknown, 10.3.3.3"}}),
            "10.3.3.3");
  EXPECT_EQ(api::TrustedProxies().client_of("10.0.0.2", fields), "10.0.0.2");
}

TEST(TrustedProxies, RejectWhatIsNoAddress) {
  for (const char* wrong : {"", "proxy", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "fd00::/129"}) {
    EXPECT_FALSE(api::TrustedProxies::make({wrong})) << wrong;
  }
}

}  // namespace
