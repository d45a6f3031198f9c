// System messages amid a conversation: an API that has them at its beginning changes their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "model/build.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view amid =
    R"([{"role":"system","content":"a"},{"role":"user","content":"b"},{"role":"system","content":"c"},)"
    R"({"role":"assistant","content":"d"},{"role":"developer","content":"e"},{"role":"system","content":" "},)"
    R"({"role":"user","content":"f"}])";
constexpr std::string_view before =
    R"([{"role":"system","content":"a"},{"role":"developer","content":"c"},{"role":"user","content":"b"}])";

std::string notes_of(std::string_view provider, std::string_view model, std::string_view messages) {
  std::string payload = "{";
  json::append_member(payload, "model", model);
  json::append_raw_member(payload, "messages", messages);
  const std::string_view keys =
      provider == "bedrock" ? R"("apiKey":"","accessKeyId":"A","secretAccessKey":"s")" : "";
  const auto built = test::build(test::settings_of(provider, keys), payload + "}");
  if (!built) return built.error().message;
  std::string text;
  for (const Note& note : built.value().notes) text.append(note.sentence).append(" ");
  return text;
}

TEST(MovedPrompts, AreNoted) {
  constexpr std::string_view sentence = "before all others: 2 went there.";
  for (const auto& [provider, model] :
       {std::pair{"anthropic", "claude-sonnet-4-5"}, std::pair{"google", "gemini-2.5-flash"},
        std::pair{"google", "gemma-3-27b-it"},
        std::pair{"bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"}}) {
    const std::string notes = notes_of(provider, model, amid);
    EXPECT_TRUE(test::has(notes, sentence)) << model << ": " << notes;
    EXPECT_EQ(notes_of(provider, model, before), "") << model;
  }
  EXPECT_EQ(notes_of("openai", "gpt-4o", amid), "");
}

}  // namespace
}  // namespace millrace::model
