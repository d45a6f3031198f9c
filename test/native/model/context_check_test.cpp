// A conversation that surely is too long is refused before it is sent, and no other is.
#include "model/usage/context_check.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "model/build.hpp"
#include "model/call/retry.hpp"

namespace millrace::model {
namespace {

std::string times(std::string_view piece, std::size_t count) {
  std::string text;
  text.reserve(piece.size() * count);
  for (std::size_t i = 0; i < count; ++i) text.append(piece);
  return text;
}

Result<ChatRequest> request(std::string_view text, std::string_view model = "gpt-4o",
                            std::string_view settings = {}, std::string_view more = {}) {
  std::string payload = "{";
  json::append_member(payload, "model", model);
  payload.append(R"(,"messages":[{"role":"user","content":")").append(text).append(R"("}])");
  payload.append(more).append("}");
  return test::build(test::settings_of("openai", settings), payload);
}

TEST(ContextCheck, CountsNoTokenThatMayNotBe) {
  struct Row {
    std::string_view text;
    std::int64_t fewest;
    std::int64_t counted;  // by gpt-tokenizer 3, encoding o200k_base
  };
  constexpr std::array<Row, 10> rows{{{"", 0, 0},
                                      {"Hello, world!", 2, 4},
                                      {"The quick brown fox jumps over the lazy dog", 9, 9},
                                      {"const x=f(a1,b);", 6, 7},
                                      {"1234567", 3, 3},
                                      {"it's na\u00efve", 2, 3},
                                      {"\u65e5\u672c\u8a9e", 0, 2},
                                      {"1\u06632", 0, 3},
                                      {"a1b2c3", 6, 6},
                                      {"          ", 0, 1}}};
  for (const Row& row : rows) {
    EXPECT_EQ(fewest_tokens(row.text), row.fewest) << row.text;
    EXPECT_LE(fewest_tokens(row.text), row.counted) << row.text;
  }
}

TEST(ContextCheck, RefusesWhatSurelyDoesNotFit) {
  const std::string long_text = times("word ", 128'001);
  for (const std::string_view model : {"gpt-4o", "gpt-4o-2024-08-06"}) {
    const auto built = request(long_text, model);
    ASSERT_FALSE(built) << model;
    EXPECT_EQ(built.error().code, Errc::context_window_exceeded);
    EXPECT_EQ(built.error().retry(), RetryClass::no);
    EXPECT_TRUE(allows_fallback(built.error()));
    EXPECT_NE(built.error().message.find("more than 128001 tokens"), std::string::npos)
        << built.error().message;
    EXPECT_EQ(built.error().detail, R"({"type":"context_exceeded_pre_flight","model":")" +
                                        std::string(model) +
                                        R"(","ctx":128000,"promptTokens":128001,"shortBy":1,)"
                                        R"("suggestions":["fork_topic",)"
                                        R"("switch_to_larger_ctx_model"]})");
  }
}

TEST(ContextCheck, RefusesNothingElse) {
  const std::string long_text = times("word ", 128'001);
  EXPECT_TRUE(request(times("word ", 128'000)));
  EXPECT_TRUE(request(long_text, "gpt-5")) << "its window is larger";
  EXPECT_TRUE(request(long_text, "gpt-99")) << "its window is not known";
  EXPECT_TRUE(request(long_text, "gpt-4o", R"("baseURL":"https://e/v1")")) << "another server";
  EXPECT_TRUE(request(times("\u672c", 600'000))) << "nobody knows without a tokenizer";
  EXPECT_TRUE(request(long_text, "gpt-4o", {}, R"(,"apiMode":"responses","truncation":"auto")"))
      << "the server cuts it";
  EXPECT_TRUE(test::build(test::settings_of("anthropic"),
                          R"({"model":"claude-haiku-4-5","messages":[{"role":"user","content":")" +
                              long_text + long_text + R"("}]})"))
      << "how its tokens are made is not public";
}

}  // namespace
}  // namespace millrace::model
