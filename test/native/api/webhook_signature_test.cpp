#include "api/webhook_signature.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/base64.hpp"

namespace {

namespace api = millrace::api;

// Of the reference libraries of Standard Webhooks.
constexpr std::string_view secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr std::string_view signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

TEST(WebhookSignature, IsThatOfTheStandard) {
  const auto bytes = api::read_webhook_secret(secret);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(api::webhook_signature({bytes.value()}, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                                   R"({"test": 2432232314})"),
            signature);
}

TEST(WebhookSignature, IsMadeWithEachSecret) {
  const auto bytes = api::read_webhook_secret(secret);
  ASSERT_TRUE(bytes);
  const std::string both =
      api::webhook_signature({std::string(24, 'x'), bytes.value()}, "msg_p5jXN8AQM9LWM0D4loKWxJek",
                             1614265330, R"({"test": 2432232314})");
  EXPECT_TRUE(both.ends_with(" " + std::string(signature))) << both;
  EXPECT_TRUE(both.starts_with("v1,")) << both;
}

TEST(WebhookSignature, RejectsSecretsWithoutShowingThem) {
  const auto of_size = [](std::size_t size) {
    return "whsec_" + millrace::base64::encode(std::string(size, 'x'));
  };
  EXPECT_TRUE(api::read_webhook_secret(of_size(24)));
  EXPECT_TRUE(api::read_webhook_secret(of_size(64)));
  for (const std::string& wrong : {std::string(), std::string("whsec_"), of_size(23), of_size(65),
                                   of_size(24).substr(6), std::string("whsec_!!!!")}) {
    const auto read = api::read_webhook_secret(wrong);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().message.find("eHh4"), std::string::npos);
  }
}

}  // namespace
