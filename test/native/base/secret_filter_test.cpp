// Secrets in what servers echo.
#include "base/secret_filter.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/base64.hpp"

namespace millrace {
namespace {

TEST(SecretFilter, TakesOutEveryLongRunOfASecret) {
  const std::string key = "Zx81-Quick_brown.fox/jumps+over";
  const SecretFilter filter({key});
  EXPECT_EQ(filter.clean("the key " + key + "."), "the key [redacted].");
  EXPECT_EQ(filter.clean("key zx81-quick_BROWN.FOX/jumps+over!"), "key [redacted]!");
  EXPECT_EQ(filter.clean("it ends in fox/jumps+over, no?"), "it ends in [redacted], no?");
  EXPECT_EQ(filter.clean("it begins with Zx81-Quick_brown***"), "it begins with [redacted]***");
  // Eleven characters and less are no secret: words would be gone.
  EXPECT_EQ(filter.clean("a quick_brown fox/jumps"), "a quick_brown fox/jumps");
}

TEST(SecretFilter, KnowsTheBase64OfASecret) {
  const std::string key = "Zx81-Quick_brown.fox/jumps+over";
  const SecretFilter filter({key});
  for (const std::string_view before : {"", "u", "us", "user:"}) {
    const std::string header = base64::encode(std::string(before) + key + ":");
    const std::string shown = filter.clean("Basic " + header);
    // At most the characters at both ends, which belong to their neighbours as well, are left.
    EXPECT_LT(shown.size(), std::string("Basic [redacted]").size() + 16) << shown;
    EXPECT_NE(shown.find("[redacted]"), std::string::npos) << shown;
    EXPECT_EQ(shown.find(header.substr(12, 8)), std::string::npos) << shown;
  }
}

TEST(SecretFilter, KnowsTheBase64OfAShortSecret) {
  for (const std::string secret : {"hunter2", "s3cret", "Pass12345"}) {
    const SecretFilter filter({secret});
    for (const std::string_view before : {"", "u", "us", "user:", "ada:", "my-user:"}) {
      const std::string header = base64::encode(std::string(before) + secret);
      const std::string shown = filter.clean("Basic " + header + " is wrong");
      EXPECT_NE(shown.find("[redacted]"), std::string::npos) << secret << ": " << shown;
    }
    EXPECT_EQ(filter.clean("The user is wrong"), "The user is wrong");
  }
}

TEST(SecretFilter, KnowsTheSecretsOfAQueryWithoutTheirEscapes) {
  std::vector<std::string> secrets;
  add_query_secrets(secrets, "q=plain%20words&token=ab%2Bcd%2Fefgh&&key&api_key=8-letters");
  const SecretFilter filter(secrets);
  for (const std::string_view shown : {"ab%2Bcd%2Fefgh", "ab+cd/efgh", "8-letters"}) {
    EXPECT_EQ(filter.clean("you sent " + std::string(shown)), "you sent [redacted]");
  }
  EXPECT_EQ(filter.clean("plain words"), "plain words");
}

TEST(SecretFilter, LeavesWordsOfAServiceAccountAlone) {
  const std::string account =
      R"({"type":"service_account","private_key_id":"0123456789abcdef0123",)"
      R"("private_key":"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",)"
      R"("token_uri":"https://oauth2.googleapis.com/token"})";
  const SecretFilter filter({account});
  EXPECT_EQ(filter.clean("https://oauth2.googleapis.com/token refused it"),
            "https://oauth2.googleapis.com/token refused it");
  EXPECT_EQ(filter.clean("bad MIIEvQIBADANBgkqhkiG9w0B..."), "bad [redacted]...");
  EXPECT_EQ(filter.clean("id 0123456789abcdef0123"), "id [redacted]");
}

TEST(SecretFilter, TakesShortSecretsAsTheyAre) {
  const SecretFilter filter({"key", "word", "my-own-k"});
  EXPECT_EQ(filter.clean("key word Word MY-OWN-K"), "key [redacted] Word [redacted]");
}

TEST(SecretFilter, KnowsASecretBehindEscapes) {
  const SecretFilter filter({"p@ss/w\"o\\rd+0="});
  for (const std::string_view echo :
       {R"(p@ss/w\"o\\rd+0=)", R"(p@ss\/w\"o\\rd\u002B0=)",
        R"(\u0070\u0040\u0073\u0073\u002f\u0077\u0022\u006f\u005c\u0072\u0064\u002b\u0030\u003d)",
        "p%40ss%2Fw%22o%5Crd%2B0%3D", "p%40ss/w%22o%5crd%2b0=", R"(p@ss&#x2F;w&quot;o\rd+0=)",
        R"(p@ss&#47;w&#34;o\rd&#43;0=)"}) {
    EXPECT_EQ(filter.clean("<" + std::string(echo) + ">"), "<[redacted]>") << echo;
  }
  // What is no escape, or of another text, stays.
  for (const std::string_view plain :
       {"100% of &c; \\u12 %zz &#x; &#99999999; \\", "%", "&", "\\u"}) {
    EXPECT_EQ(filter.clean(plain), plain);
  }
}

TEST(SecretFilter, CleansTextsInsideJson) {
  const SecretFilter filter({"name", "my-\"own\"-key"});
  EXPECT_EQ(filter.clean_json(R"({"name":["my-\"own\"-key",1.50,null],"a":{"b":"name!"}})"),
            R"({"name":["[redacted]",1.50,null],"a":{"b":"[redacted]!"}})");
  EXPECT_EQ(filter.clean_json("{name"), "{[redacted]");
}

TEST(SecretFilter, FindsSecretsByTheNamesThatCarryThem) {
  std::vector<std::string> found;
  add_carried_secrets(found, "Authorization", "Token abcdefgh");
  add_carried_secrets(found, "SERVICE_API_KEY", "0123456789");
  add_carried_secrets(found, "X-Key-Id", "not-a-secret");
  EXPECT_EQ(found, (std::vector<std::string>{"abcdefgh", "0123456789"}));
}

}  // namespace
}  // namespace millrace
