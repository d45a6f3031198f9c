// Secrets in what is shown of calls, and the limits of previews.

#include "chat/redaction.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "chat/job_rig.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

TEST(Redaction, KnowsNamesOfSecrets) {
  for (const std::string_view name : {"apikey",
                                      "Authorization",
                                      "auth_token",
                                      "bearerToken",
                                      "client-secret",
                                      "cookie",
                                      "credentials",
                                      "id_token",
                                      "password",
                                      "passwd",
                                      "private_key",
                                      "refresh_token",
                                      "secret",
                                      "SecretKey",
                                      "session-cookie",
                                      "session_id",
                                      "sessionToken",
                                      "Set-Cookie",
                                      "token",
                                      "x-api-key",
                                      "accessToken",
                                      "db_password",
                                      "AWS_SECRET_ACCESS_KEY",
                                      "my secret"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const std::string_view name :
       {"q", "max_tokens", "total_tokens", "tokenizer", "secretary", "cookies_accepted", "session",
        "next_page_token", "pageToken", "key", "", "detail", "author"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(Redaction, ReplacesSecretsInTexts) {
  struct Row {
    std::string_view text;
    std::string_view shown;
  };
  const std::vector<Row> rows{
      {"password=plain", "password=[redacted]"},
      {"Authorization: Bearer result-secret password=plain-secret and bearer "
       "abcdef0123456789abcdef",
       "Authorization: Bearer [redacted] password=[redacted] and bearer [redacted]"},
      {"authorization=abc,next", "authorization=[redacted],next"},
      {"Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"},
      {"a=1&api_key=k&b=2", "a=1&api_key=[redacted]&b=2"},
      {"API-KEY : k; rest", "API-KEY : [redacted]; rest"},
      {"access_token:t refresh_token:t id_token:t",
       "access_token:[redacted] "
       "refresh_token:[redacted] id_token:[redacted]"},
      {"db_password='hunter2'", "db_password='[redacted]'"},
      {"token=abc", "token=[redacted]"},
      {"A token: a small thing", "A token: a small thing"},
      {"Cookie: a=1; b=2; rest", "Cookie: [redacted]; rest"},
      {R"({"password":"hun ter,2","q":1)", R"({"password":"[redacted]","q":1)"},
      {R"({"text":"{\"password\":\"hunter2\"}","q)",
       R"({"text":"{\"password\":\"[redacted]\"}","q)"},
      {R"({"secret":{"a":"b","c":["d"]},"q":"shown)", R"({"secret":[redacted],"q":"shown)"},
      {R"({"password":"cut off)", R"({"password":"[redacted])"},
      {"{'token': 'abc'}", "{'token': '[redacted]'}"},
      {"bearer short", "bearer short"},
      {"forbearer abcdef0123456789abcdef", "forbearer [redacted]"},
      {"password=", "password="},
      {"password: ", "password: "},
      {"password", "password"},
      {"=:=:password=:", "=:=:password=[redacted]"},
      {"", ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(redact_text(row.text), row.shown);
    EXPECT_EQ(redact_text(row.shown), row.shown) << "again";
  }
}

TEST(Redaction, ReplacesMembersWithSecretNames) {
  Tree value = parsed(R"({"q":"test","api_key":"sk","headers":{"Authorization":"Bearer x"},
    "list":[{"token":1},"password=x"],"text":"{\"cookie\":\"sid=1\",\"q\":\"a\"}"})");
  redact(value);
  EXPECT_EQ(value.to_json(),
            R"({"q":"test","api_key":"[redacted]","headers":{"Authorization":"[redacted]"},)"
            R"("list":[{"token":"[redacted]"},"password=[redacted]"],)"
            R"("text":"{\"cookie\":\"[redacted]\",\"q\":\"a\"}"})");
}

TEST(Redaction, MakesPreviewsOfOneLine) {
  EXPECT_EQ(preview(parsed(R"({ "a" : [1, true, "é"] })")), R"({"a":[1,true,"é"]})");
  EXPECT_EQ(preview(parsed(R"("a   b\n\tc　d")")), "a b c d");
  EXPECT_EQ(preview(parsed(R"("{\"a\": 1}")")), R"({"a": 1})");
  EXPECT_EQ(preview(Tree()), "");
  EXPECT_EQ(preview(parsed("0")), "0");
  EXPECT_EQ(preview(parsed("false")), "false");
  EXPECT_EQ(preview(parsed("[]")), "[]");
}

TEST(Redaction, CutsPreviewsBehindTheLastCharacterThatFits) {
  std::string umlauts;
  for (int count = 0; count < 801; ++count) umlauts += "ä";
  EXPECT_EQ(preview(Tree::text(umlauts)), umlauts.substr(0, 1600) + "...");
  EXPECT_EQ(preview(Tree::text(umlauts.substr(2))), umlauts.substr(2));
  // A secret is replaced before it is cut.
  const std::string text = std::string(790, 'x') + " password=hunter2hunter2";
  EXPECT_EQ(preview(Tree::text(text)), std::string(790, 'x') + " password=...");
}

}  // namespace
}  // namespace millrace::chat
