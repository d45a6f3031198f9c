// What errors show of a provider's answer, and of the address it came from.
#include "model/failure/error_body.hpp"

#include <gtest/gtest.h>

#include "model/provider/address.hpp"
#include "model/provider/secrets.hpp"

namespace millrace::model {
namespace {

std::string shown(std::string_view body) {
  return error_body(body, {});
}

TEST(ErrorBody, KeepsWhatIsNoSecret) {
  constexpr std::string_view body =
      R"({"error":{"message":"no","param":null,"code":7},"ok":false,"list":["a",1.50]})";
  EXPECT_EQ(shown(body), body);
  EXPECT_EQ(shown(R"("plain")"), R"("plain")");
  EXPECT_EQ(shown("<html>"), "");
  EXPECT_EQ(error_body("busy", "Later, sk-abcdefgh123.", {}),
            R"({"code":"busy","message":"Later, sk-[redacted]"})");
}

TEST(ErrorBody, HidesCredentialsWhereverTheyStand) {
  EXPECT_EQ(shown(R"({"sk-abcdefgh123":["Bearer abcdefgh"]})"),
            R"({"sk-[redacted]":["Bearer [redacted]"]})");
  const std::string body =
      error_body(R"({"key \"my-own\"":"my-own!","deep":[{"number":12345678}],"left":1})",
                 {"my-own", "12345678"});
  EXPECT_EQ(body,
            R"({"key \"[redacted]\"":"[redacted]!","deep":[{"number":"[redacted]"}],"left":1})");
}

TEST(ErrorBody, IsBounded) {
  std::string list = "[";
  for (int i = 0; i < 5000; ++i) list.append(i > 0 ? "," : "").append(R"("word")");
  EXPECT_LT(shown(list + "]").size(), 5000U);
  EXPECT_LT(shown("\"" + std::string(9000, 'x') + "\"").size(), 1100U);
  std::string deep;
  for (int i = 0; i < 40; ++i) deep.append("[");
  deep.append(std::string(40, ']'));
  EXPECT_EQ(shown(deep), "[[[[[[[[null]]]]]]]]");
}

TEST(Endpoints, TellOriginAndPath) {
  EXPECT_EQ(endpoint_of("https://api.vendor.example/v1/chat?key=secret#x", false),
            "https://api.vendor.example/v1/chat");
  EXPECT_EQ(endpoint_of("https://me:secret@api.vendor.example:8443/v1", false),
            "https://api.vendor.example:8443/v1");
  EXPECT_EQ(endpoint_of("nothing", false), "");
}

TEST(Endpoints, MaskTheHostThatAUserSetUp) {
  EXPECT_EQ(endpoint_of("https://mine.corp.example/v1/chat", true),
            "https://***.corp.example/v1/chat");
  EXPECT_EQ(endpoint_of("http://corp.example/v1", true), "http://***/v1");
  EXPECT_EQ(endpoint_of("http://10.0.0.7:8080/v1", true), "http://***:8080/v1");
  EXPECT_EQ(endpoint_of("http://[::1]:8080/v1", true), "http://***:8080/v1");
  EXPECT_EQ(endpoint_of("http://gateway", true), "http://***");
}

TEST(Secrets, OfASignedRequestAreItsSignature) {
  net::Request request;
  request.headers = {
      {"Authorization",
       "AWS4-HMAC-SHA256 Credential=AKID/20150830/r/s/aws4_request, SignedHeaders=host;x-amz-date, "
       "Signature=0123456789abcdef"},
      {"X-Amz-Date", "20150830T123600Z"},
      {"Content-Type", "application/json"}};
  EXPECT_EQ(secrets_of(request), std::vector<std::string>{"0123456789abcdef"});
}

TEST(ErrorBody, HidesASecretThatTheLimitWouldCut) {
  const std::string key = "own-secret-of-mine";
  for (std::size_t before = 1000; before < 1024; ++before) {
    const std::string text = std::string(before, ' ') + key;
    const std::string body = error_body("\"" + text + "\"", {key});
    EXPECT_EQ(body.find("own"), std::string::npos) << before;
  }
}

}  // namespace
}  // namespace millrace::model
