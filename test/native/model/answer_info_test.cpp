// What a provider's answer reports of itself in its head.
#include "model/call/answer_info.hpp"

#include <gtest/gtest.h>

namespace millrace::model {
namespace {

TEST(AnswerInfo, IsWhatTheBodySaysWhereTheHeadSaysNothing) {
  EXPECT_EQ(answer_info_json({}, {}), "");
  EXPECT_EQ(answer_info_json(R"({"id":"a"})", {{"Set-Cookie", "secret"}, {"Date", "now"}}),
            R"({"id":"a"})");
}

TEST(AnswerInfo, HasTheDocumentedHeadersAndTheLimitsInThem) {
  EXPECT_EQ(answer_info_json({}, {{"X-Request-Id", "r1"},
                                  {"x-ratelimit-limit-requests", "60"},
                                  {"x-ratelimit-reset-requests", "1m0s"},
                                  {"x-ratelimit-remaining-tokens", "many"}}),
            R"({"requestId":"r1","rateLimits":{"requests":{"limit":60,"reset":"1m0s"}},)"
            R"("headers":{"x-request-id":"r1","x-ratelimit-limit-requests":"60",)"
            R"("x-ratelimit-reset-requests":"1m0s","x-ratelimit-remaining-tokens":"many"}})");
  EXPECT_EQ(answer_info_json(R"({"model":"m"})",
                             {{"anthropic-ratelimit-input-tokens-limit", "5"},
                              {"anthropic-ratelimit-input-tokens-reset", "2026-11-26T00:00:00Z"}}),
            R"({"model":"m","rateLimits":{"inputTokens":{"limit":5,)"
            R"("reset":"2026-11-26T00:00:00Z"}},"headers":)"
            R"({"anthropic-ratelimit-input-tokens-limit":"5",)"
            R"("anthropic-ratelimit-input-tokens-reset":"2026-11-26T00:00:00Z"}})");
  EXPECT_NE(answer_info_json({}, {{"x-ratelimit-remaining-req-minute", "7"}})
                .find(R"("requests":{"remaining":7})"),
            std::string::npos);
}

TEST(AnswerInfo, HasNoMoreHeadersThanAnyVendorSends) {
  std::vector<net::Header> head;
  for (int at = 0; at < 200; ++at) head.push_back({"openai-" + std::to_string(at), "v"});
  const std::string json = answer_info_json({}, head);
  EXPECT_NE(json.find("openai-63"), std::string::npos);
  EXPECT_EQ(json.find("openai-64"), std::string::npos);
}

}  // namespace
}  // namespace millrace::model
