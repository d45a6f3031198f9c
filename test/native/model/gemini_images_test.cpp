// Images in answers of a history that is sent to Gemini.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "model/expected_requests.hpp"

namespace millrace {
namespace {

// Nothing signed them: another vendor's, or those of a model before Gemini 3.
TEST(GeminiRequests, HaveImagesOfAnswersWithoutSignatures) {
  const auto talk = [](std::string_view model, std::string_view image = "image/png") {
    return R"({"model":")" + std::string(model) +
           R"(","messages":[{"role":"user","content":"Draw"},)"
           R"({"role":"assistant","content":[{"type":"text","text":"Here"},)"
           R"({"type":"image_url","image_url":{"url":"data:)" +
           std::string(image) +
           R"(;base64,AAAA"}},{"type":"text","text":"Like it?"}]},)"
           R"({"role":"user","content":"Bluer"}]})";
  };
  constexpr std::string_view plain =
      R"({"role":"model","parts":[{"text":"Here"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"text":"Like it?"}]})";
  for (const std::string_view provider : {"google", "vertexai"}) {
    for (const std::string_view model :
         {"gemini-2.5-flash-image", "gemini-2.5-flash", "gemini-3-flash-preview"}) {
      const auto built = test::build(test::credentials_of(provider), talk(model));
      ASSERT_TRUE(built.ok()) << built.error().message;
      EXPECT_TRUE(test::has(built.value().request.body, plain)) << built.value().request.body;
      EXPECT_TRUE(built.value().notes.empty()) << built.value().notes.front().sentence;
    }
  }
  // Those of Gemini 3 that make images reject what has none.
  const std::string excused =
      test::url_and_body(test::settings_of("google"), talk("gemini-3-pro-image-preview"));
  constexpr std::string_view excuse = R"("thoughtSignature":"skip_thought_signature_validator")";
  EXPECT_TRUE(test::has(excused, R"({"text":"Here",)" + std::string(excuse) + "}")) << excused;
  EXPECT_TRUE(test::has(excused, R"("data":"AAAA"},)" + std::string(excuse) + "}")) << excused;
  EXPECT_TRUE(test::has(excused, R"({"text":"Like it?"})")) << excused;
  const std::string words = test::url_and_body(
      test::settings_of("google"),
      R"({"model":"gemini-3.1-flash-image","messages":[{"role":"user","content":"Hi"},)"
      R"({"role":"assistant","content":"Hello"},{"role":"user","content":"Draw"}]})");
  EXPECT_TRUE(test::has(words, R"({"text":"Hello",)" + std::string(excuse) + "}")) << words;
  EXPECT_FALSE(test::has(words, R"({"text":"Draw",)")) << words;
  // What the API does not take is named as before.
  const auto drawing =
      test::build(test::settings_of("google"), talk("gemini-2.5-flash-image", "image/svg+xml"));
  ASSERT_TRUE(drawing.ok());
  EXPECT_FALSE(test::has(drawing.value().request.body, "inlineData"));
  ASSERT_FALSE(drawing.value().notes.empty());
  EXPECT_TRUE(test::has(drawing.value().notes.back().sentence, "openai_chat content"));
}

}  // namespace
}  // namespace millrace
