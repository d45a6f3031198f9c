#include <gtest/gtest.h>

#include <algorithm>

#ifdef MILLRACE_TEST_TLS
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#endif

#include "base/base64.hpp"
#include "model/auth/aws_sigv4.hpp"
#include "model/auth/crypto.hpp"
#include "model/build.hpp"

namespace millrace {
namespace {

const model::AwsKeys example_keys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};

net::Request request_to(std::string method, std::string url) {
  net::Request request;
  request.method = std::move(method);
  request.url = std::move(url);
  return request;
}

std::string signature_of(net::Request request, std::string_view service) {
  model::sign_aws(request, example_keys, {"us-east-1", service}, test::test_time);
  const std::string proof = test::header_of(request, "Authorization");
  return proof.substr(proof.find("Signature=") + sizeof("Signature=") - 1);
}

// Source: AWS Signature Version 4 test suite, and the worked example of the AWS General Reference.
TEST(AwsSignature, IsThatOfAwsExamples) {
  const std::string host = "https://example.amazonaws.com";
  EXPECT_EQ(signature_of(request_to("GET", host + "/"), "service"),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(signature_of(request_to("POST", host + "/"), "service"),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  EXPECT_EQ(signature_of(request_to("GET", host + "/?Param2=value2&Param1=value1"), "service"),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  EXPECT_EQ(signature_of(request_to("GET", host + "/\xE1\x88\xB4"), "service"),
            "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
  net::Request users =
      request_to("GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08");
  users.headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}};
  EXPECT_EQ(signature_of(users, "iam"),
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}

TEST(AwsSignature, EncodesThePathTwice) {
  net::Request request =
      request_to("POST", "https://e/model/anthropic.claude-3%3A0/converse-stream");
  std::string names;
  EXPECT_NE(model::canonical_request(request, names)
                .find("/model/anthropic.claude-3%253A0/converse-stream"),
            std::string::npos);
}

TEST(AwsSignature, SignsBedrockCallsWithTheSessionToken) {
  const auto built = test::build(
      R"({"provider":"bedrock","accessKeyId":"A","secretAccessKey":"secret-1","sessionToken":"t","region":"eu-west-1"})",
      test::question("anthropic.claude-3-haiku-20240307-v1:0"));
  ASSERT_TRUE(built.ok()) << built.error().message;
  const net::Request& request = built.value().request;
  EXPECT_EQ(request.url,
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/"
            "anthropic.claude-3-haiku-20240307-v1%3A0/converse-stream");
  EXPECT_EQ(test::header_of(request, "X-Amz-Security-Token"), "t");
  const std::string proof = test::header_of(request, "Authorization");
  EXPECT_NE(proof.find("Credential=A/20150830/eu-west-1/bedrock/aws4_request"), std::string::npos);
  EXPECT_NE(proof.find("SignedHeaders=accept;content-type;host;x-amz-date;x-amz-security-token"),
            std::string::npos);
}

TEST(Keys, AreTakenByTurns) {
  auto config = model::read_config(R"({"provider":"openai","apiKey":" a , b,"})");
  ASSERT_TRUE(config.ok());
  ASSERT_EQ(config.value().api_keys.size(), 2U);
  for (std::size_t turn = 0; turn < 4; ++turn) {
    net::Request request;
    ASSERT_TRUE(
        model::authorize(request, config.value(), model::Auth::bearer, {test::test_time, turn})
            .ok());
    EXPECT_EQ(test::header_of(request, "Authorization"), turn % 2 == 0 ? "Bearer a" : "Bearer b");
  }
}

TEST(Keys, GoWhereTheProviderLooks) {
  struct Row {
    model::Auth auth;
    std::string_view header;
    std::string_view value;
  };
  auto config = model::read_config(R"({"provider":"openai","apiKey":"k"})");
  ASSERT_TRUE(config.ok());
  for (const Row& row :
       {Row{model::Auth::bearer, "Authorization", "Bearer k"},
        Row{model::Auth::x_api_key, "x-api-key", "k"}, Row{model::Auth::api_key, "api-key", "k"},
        Row{model::Auth::x_goog_api_key, "x-goog-api-key", "k"},
        Row{model::Auth::x_key, "x-key", "k"}, Row{model::Auth::key, "Authorization", "Key k"}}) {
    net::Request request;
    ASSERT_TRUE(model::authorize(request, config.value(), row.auth, {test::test_time}).ok());
    EXPECT_EQ(test::header_of(request, row.header), row.value);
  }
  net::Request request;
  request.url = "https://e/v1?a=1";
  ASSERT_TRUE(
      model::authorize(request, config.value(), model::Auth::query_key, {test::test_time}).ok());
  EXPECT_EQ(request.url, "https://e/v1?a=1&key=k");
}

TEST(Keys, AreMissedByName) {
  const auto built = test::build(R"({"provider":"groq"})", test::question("m"));
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code_name(), "missing_api_key");
  EXPECT_NE(built.error().message.find("GROQ_API_KEY"), std::string::npos);
  // An address of the user's own may need none.
  EXPECT_TRUE(
      test::build(R"({"provider":"groq","baseURL":"http://127.0.0.1:1"})", test::question("m"))
          .ok());
}

TEST(Keys, ThatAreNoServiceAccountAreNamed) {
  for (const std::string_view given : {R"("apiKey":"not JSON")", R"("credentials":"not JSON")",
                                       R"("credentials":{"client_email":"a"})"}) {
    const auto config = model::read_config(R"({"provider":"vertexai",)" + std::string(given) + "}");
    ASSERT_TRUE(config.ok());
    const auto request = model::token_request(config.value(), {test::test_time});
    ASSERT_FALSE(request.ok()) << given;
    EXPECT_EQ(request.error().type_name(), "InvalidVertexCredentials") << given;
  }
}

#ifdef MILLRACE_TEST_TLS
// A fresh key, and its private half in PEM.
EVP_PKEY* make_key(std::string& pem) {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  BIO* out = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out, &text);
  pem.assign(text, static_cast<std::size_t>(size));
  BIO_free(out);
  return key;
}

bool verifies(EVP_PKEY* key, std::string_view text, std::string_view signature) {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const bool good =
      EVP_DigestVerifyInit(context, nullptr, EVP_sha256(), nullptr, key) == 1 &&
      EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()),
                       signature.size(), bytes, text.size()) == 1;
  EVP_MD_CTX_free(context);
  return good;
}

TEST(VertexToken, AsksWithAnAssertionThatVerifies) {
  std::string pem;
  EVP_PKEY* key = make_key(pem);
  std::string account = "{";
  json::append_member(account, "client_email", "robot@project.example");
  json::append_member(account, "private_key_id", "kid-1");
  json::append_member(account, "private_key", pem);
  std::string settings = R"({"provider":"vertexai","project":"p")";
  json::append_member(settings, "apiKey", account + "}");
  const auto config = model::read_config(settings + "}");
  ASSERT_TRUE(config.ok()) << config.error().message;
  const auto request = model::token_request(config.value(), {test::test_time});
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request.value().url, "https://oauth2.googleapis.com/token");
  EXPECT_EQ(request.value().redirects, net::Redirects::report);
  const std::string& body = request.value().body;
  const std::string jwt = body.substr(body.find("&assertion=") + sizeof("&assertion=") - 1);
  const std::size_t dot = jwt.rfind('.');
  const auto plain = [](std::string text) {
    std::replace(text.begin(), text.end(), '-', '+');
    std::replace(text.begin(), text.end(), '_', '/');
    return base64::decode(text).value_or("");
  };
  EXPECT_TRUE(verifies(key, jwt.substr(0, dot), plain(jwt.substr(dot + 1))));
  EXPECT_EQ(plain(jwt.substr(0, jwt.find('.'))), R"({"alg":"RS256","typ":"JWT","kid":"kid-1"})");
  EXPECT_EQ(plain(jwt.substr(jwt.find('.') + 1, dot - jwt.find('.') - 1)),
            R"({"iss":"robot@project.example",)"
            R"("scope":"https://www.googleapis.com/auth/cloud-platform",)"
            R"("aud":"https://oauth2.googleapis.com/token","iat":1440938160,"exp":1440941760})");
  EVP_PKEY_free(key);
}
#endif

TEST(VertexToken, IsASignedAssertionThatIsExchanged) {
  const auto config = model::read_config(
      R"({"provider":"vertexai","project":"p","apiKey":"{\"client_email\":\"a@b\",\"private_key\":\"no key\"}"})");
  ASSERT_TRUE(config.ok());
  ASSERT_TRUE(model::needs_token(config.value()));
  const auto request = model::token_request(config.value(), {test::test_time});
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().code_name(), "invalid_option");
  EXPECT_EQ(request.error().message.find("no key"), std::string::npos);

  const auto token = model::read_token(
      config.value(), 200, R"({"access_token":"t","expires_in":3600})", test::test_time);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(token.value().value, "t");
  EXPECT_EQ(token.value().refresh_at, test::test_time + std::chrono::seconds(3300));
  EXPECT_FALSE(model::read_token(config.value(), 401, "{}", test::test_time).ok());
}

TEST(CopilotToken, IsExchangedForTheGithubToken) {
  const auto config = model::read_config(R"({"provider":"copilot","apiKey":"gho_1"})");
  ASSERT_TRUE(config.ok());
  const auto request = model::token_request(config.value(), {test::test_time});
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request.value().url, "https://api.github.com/copilot_internal/v2/token");
  EXPECT_EQ(test::header_of(request.value(), "Authorization"), "token gho_1");
  const auto token = model::read_token(
      config.value(), 200,
      R"({"token":"t","expires_at":1440940000,"endpoints":{"api":"https://api.x"}})",
      test::test_time);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(token.value().base_url, "https://api.x");

  CountingIds ids("id-");
  const auto payload = model::read_payload(test::question("gpt-4o"), ids);
  ASSERT_TRUE(payload.ok());
  const auto built =
      model::build_chat(config.value(), payload.value(), ids,
                        {test::test_time, 0, token.value().value, token.value().base_url});
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(built.value().request.url, "https://api.x/chat/completions");
  EXPECT_EQ(test::header_of(built.value().request, "Authorization"), "Bearer t");
  // Without a token nothing is sent, least of all the GitHub token.
  const auto bare = model::build_chat(config.value(), payload.value(), ids, {test::test_time});
  ASSERT_FALSE(bare.ok());
  EXPECT_EQ(bare.error().code_name(), "authentication_failed");
}

}  // namespace
}  // namespace millrace
