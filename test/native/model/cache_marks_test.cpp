// The caller's own marks of what is to be cached.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/build.hpp"

namespace millrace {
namespace {

constexpr std::string_view marked =
    R"("messages":[{"role":"system","content":[{"type":"text","text":"S"},)"
    R"({"type":"text","text":"T","cache_control":{"type":"ephemeral","ttl":"1h"}}]},)"
    R"({"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},)"
    R"({"type":"image_url","image_url":{"url":"https://x.test/a.png","detail":"low"}},)"
    R"({"type":"text","text":"b"}]}])";

std::string marked_body(std::string_view provider, std::string_view more = "") {
  std::string payload = R"({"model":"claude-sonnet-4-5",)";
  payload.append(marked).append(more).append("}");
  return test::body_of(test::build(test::settings_of(provider), payload));
}

void expect_part(const std::string& body, std::string_view part) {
  EXPECT_NE(body.find(part), std::string::npos) << body;
}

std::size_t marks_in(const std::string& body) {
  std::size_t count = 0;
  for (std::size_t at = body.find("cache_control"); at != std::string::npos;
       at = body.find("cache_control", at + 1)) {
    ++count;
  }
  return count;
}

TEST(CacheMarks, GoToClaude) {
  for (const std::string_view more : {"", R"(,"enabledContextCaching":true)"}) {
    const std::string body = marked_body("anthropic", more);
    expect_part(body,
                R"({"type":"text","text":"ST","cache_control":{"type":"ephemeral","ttl":"1h"}})");
    expect_part(body, R"({"type":"text","text":"a","cache_control":{"type":"ephemeral"}})");
    EXPECT_EQ(marks_in(body), 2U) << body;
  }
}

TEST(CacheMarks, GoToProvidersThatReadThemInChats) {
  for (const std::string_view provider : {"openrouter", "qwen"}) {
    for (const std::string_view more : {"", R"(,"enabledContextCaching":true)"}) {
      const std::string body = marked_body(provider, more);
      expect_part(body, R"("role":"system","content":[{"type":"text","text":"ST","cache_control":)"
                        R"({"type":"ephemeral","ttl":"1h"}}])");
      expect_part(body, R"({"type":"text","text":"a","cache_control":{"type":"ephemeral"}},)");
      expect_part(body, R"("detail":"low")");
      EXPECT_EQ(marks_in(body), 2U) << body;
    }
  }
}

TEST(CacheMarks, AreLeftOutElsewhereAndThatIsSaid) {
  for (const std::string_view provider : {"togetherai", "google"}) {
    std::string payload = R"({"model":"m",)";
    payload.append(marked).append("}");
    const auto built = test::build(test::settings_of(provider), payload);
    const std::string body = test::body_of(built);
    ASSERT_TRUE(built.ok()) << body;
    EXPECT_EQ(marks_in(body), 0U) << body;
    const auto& notes = built.value().notes;
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const auto& note) {
      return note.what == "cache_control";
    })) << provider;
  }
}

}  // namespace
}  // namespace millrace
