#include "api/sessions.hpp"

#include <gtest/gtest.h>

#include "api/callback_secrets.hpp"
#include "base/base64.hpp"
#include "model/auth/crypto.hpp"

namespace {

namespace api = millrace::api;
namespace crypto = millrace::model::crypto;
namespace http = millrace::http;

TEST(Sessions, KnowTheKeyOfATokenUntilItsEnd) {
  api::Sessions sessions("");
  const auto one = sessions.begin("hash one");
  const auto two = sessions.begin("hash two");
  EXPECT_NE(one.token, two.token);
  EXPECT_EQ(sessions.key_of(one.token), "hash one");
  EXPECT_EQ(sessions.key_of(two.token), "hash two");
  EXPECT_FALSE(sessions.key_of(""));
  EXPECT_FALSE(sessions.key_of(one.token + "x"));
  sessions.end(one.token);
  EXPECT_FALSE(sessions.key_of(one.token));
  EXPECT_EQ(sessions.key_of(two.token), "hash two");
}

TEST(Sessions, KnowWithWhichPasswordTheyBegan) {
  api::Sessions sessions("");
  const std::string by_password = sessions.begin("hash", "encoded one").token;
  const std::string by_key = sessions.begin("hash").token;
  EXPECT_FALSE(sessions.has_old_password(by_password, "encoded one"));
  EXPECT_TRUE(sessions.has_old_password(by_password, "encoded two"));
  EXPECT_TRUE(sessions.has_old_password(by_password, ""));
  EXPECT_FALSE(sessions.has_old_password(by_key, "encoded two"));
}

TEST(Sessions, AreBounded) {
  api::Sessions sessions("");
  constexpr int more = 5000;
  const std::string first = sessions.begin("hash").token;
  std::string last;
  for (int count = 0; count < more; ++count) last = sessions.begin("hash").token;
  EXPECT_EQ(sessions.key_of(last), "hash");
  EXPECT_FALSE(sessions.key_of(first));
}

TEST(Sessions, ReadTheirCookieAmongOthers) {
  const auto token = [](const char* cookie) {
    return std::string(api::session_token(http::Headers{{"Cookie", cookie}}));
  };
  EXPECT_EQ(token("millrace_session=abc"), "abc");
  EXPECT_EQ(token("a=b; millrace_session=abc; c=d"), "abc");
  EXPECT_EQ(token("a=millrace_session=x"), "");
  EXPECT_EQ(token("xmillrace_session=abc"), "");
  EXPECT_EQ(token(";;  ;"), "");
  EXPECT_EQ(token("millrace_session"), "");
  EXPECT_EQ(api::session_token({}), "");
}

TEST(Sessions, CountOnAPageOfTheirServer) {
  const auto is_own = [](http::Headers headers, bool changes) {
    headers.add("Host", "chat.example:8788");
    return api::is_own_page(headers, changes);
  };
  EXPECT_TRUE(is_own({{"Sec-Fetch-Site", "same-origin"}}, true));
  EXPECT_TRUE(is_own({{"Sec-Fetch-Site", "none"}}, false));
  EXPECT_FALSE(is_own({{"Sec-Fetch-Site", "none"}}, true));
  EXPECT_FALSE(is_own({{"Sec-Fetch-Site", "same-site"}}, false));
  EXPECT_TRUE(is_own({{"Origin", "https://chat.example:8788"}}, true));
  EXPECT_FALSE(is_own({{"Origin", "https://chat.example"}}, true));
  EXPECT_FALSE(is_own({{"Origin", "null"}}, false));
  EXPECT_FALSE(is_own({{"Origin", ""}}, true));
  EXPECT_FALSE(is_own({}, true));
  EXPECT_TRUE(is_own({}, false));
}

// Source: RFC 7914, section 12.
TEST(Sessions, CheckPasswordsByScrypt) {
  const std::string salt = millrace::base64::encode("SodiumChloride");
  const auto hash = crypto::scrypt("pleaseletmein", "SodiumChloride", {16384, 8, 1}, 64);
  ASSERT_TRUE(hash);
  EXPECT_EQ(crypto::hex_text(*hash).substr(0, 32), "7023bdcb3afd7348461c06cd81fd38eb");
  const std::string encoded = "scrypt$16384$8$1$" + salt + "$" + millrace::base64::encode(*hash);
  EXPECT_TRUE(api::is_password(encoded, "pleaseletmein"));
  EXPECT_FALSE(api::is_password(encoded, "pleaseletmeout"));
  for (const char* wrong : {"", "$", "scrypt$0$0$0$$", "scrypt$3$8$1$AAAA$AAAA",
                            "scrypt$1099511627776$8$1$AAAA$AAAA", "plain$1$1$1$AAAA$AAAA"}) {
    EXPECT_FALSE(api::is_password(wrong, "")) << wrong;
  }
}

TEST(Seal, OpensWithItsKeyAndContextAlone) {
  const std::string key(crypto::aes_key_bytes, 'k');
  const std::string sealed = crypto::seal(key, "a secret", "context");
  EXPECT_EQ(sealed.find("a secret"), std::string::npos);
  EXPECT_NE(sealed, crypto::seal(key, "a secret", "context"));
  EXPECT_EQ(crypto::unseal(key, sealed, "context"), "a secret");
  EXPECT_EQ(crypto::unseal(key, crypto::seal(key, "", ""), ""), "");
  EXPECT_FALSE(crypto::unseal(key, sealed, "another"));
  EXPECT_FALSE(crypto::unseal(std::string(crypto::aes_key_bytes, 'x'), sealed, "context"));
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(crypto::unseal(key, changed, "context")) << at;
    EXPECT_FALSE(crypto::unseal(key, sealed.substr(0, at), "context")) << at;
  }
}

TEST(CallbackSecrets, BelongToOneMessage) {
  api::CallbackSecrets secrets("");
  millrace::json::Tree headers = millrace::json::Tree::object();
  headers.set("Authorization", "Bearer planted");
  const auto sealed = secrets.seal(headers, "msg_1");
  ASSERT_TRUE(sealed);
  EXPECT_EQ(sealed.value().find("planted"), std::string::npos);
  const auto opened = secrets.open(sealed.value(), "msg_1");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened.value()["Authorization"].string(), "Bearer planted");
  EXPECT_FALSE(secrets.open(sealed.value(), "msg_2"));
  EXPECT_FALSE(secrets.open("nonsense", "msg_1"));
}

}  // namespace
