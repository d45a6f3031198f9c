// Reasoning between tags in a text, at its beginning and between its words.
#include "adapter/tagged_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace millrace::adapter {
namespace {

// Reasoning in braces, other text as it is.
class Reader final : public TaggedReader {
 public:
  void on_text(std::string_view text) override { out.append(text); }
  void on_reasoning_part(std::string_view text) override {
    const bool goes_on = out.ends_with('}');
    if (goes_on) out.pop_back();
    out.append(goes_on ? "" : "{").append(text).push_back('}');
  }
  bool on_call(std::string_view content) override {
    out.append("<call ").append(content).append(">");
    return true;
  }
  std::string out;
};

std::string read(const std::vector<std::string_view>& pieces,
                 TaggedText::Tags tags = TaggedText::Tags::between_words,
                 TaggedText::Calls calls = TaggedText::Calls::as_text) {
  Reader reader;
  TaggedText text(tags, calls);
  for (const std::string_view piece : pieces) text.feed(piece, reader);
  text.flush(reader);
  return reader.out;
}

// Source: langchain-ai/langchainjs, `chat_models_reasoning.test.ts` of its package for DeepSeek.
TEST(LateReasoning, StandsBetweenWords) {
  EXPECT_EQ(read({"Start ", "<think>", "Reason 1", "</think>", " Middle ", "<think>", "Reason 2",
                  "</think>", " End"}),
            "Start {Reason 1} Middle {Reason 2} End");
  EXPECT_EQ(read({"Well.\n<think>why</think>\nEnd"}), "Well.\n{why}\nEnd");
  EXPECT_EQ(read({"<think>a</think>\n\n<think>b</think>Yes"}), "{ab}Yes");
}

TEST(LateReasoning, HasTagsInPieces) {
  EXPECT_EQ(read({"Well. ", "<th", "ink", ">why</thi", "nk> End"}), "Well. {why} End");
  EXPECT_EQ(read({"Well.\n<", "think>why</think> End"}), "Well.\n{why} End");
  EXPECT_EQ(read({"Well. ", "<", "<think>", "x"}), "Well. <<think>x");
  EXPECT_EQ(read({"Well. ", "<th"}), "Well. <th");
  EXPECT_EQ(read({"Well. <", "think>x"}), "Well. <think>x");
}

TEST(LateReasoning, IsNoWordAboutTheTag) {
  for (const std::string_view text : {"The tag <think> opens it.", "Well.\n`<think>` opens it.",
                                      "Well.\n```\n<think>x</think>\n```"}) {
    EXPECT_EQ(read({text}), text);
  }
  EXPECT_EQ(read({"The `", "<think>", "` tag"}), "The `<think>` tag");
  EXPECT_EQ(read({"The \"", "<think>", "\" tag"}), "The \"<think>\" tag");
  EXPECT_EQ(read({"```html\n", "<think>", "\n```\n", "<think>", "y"}),
            "```html\n<think>\n```\n{y}");
}

TEST(LateReasoning, IsTextOfOtherModels) {
  const std::vector<std::string_view> pieces{"Start ", "<think>", "x", "</think>", " End"};
  EXPECT_EQ(read(pieces, TaggedText::Tags::at_start), "Start <think>x</think> End");
  EXPECT_EQ(read(pieces, TaggedText::Tags::as_text), "Start <think>x</think> End");
}

TEST(LateReasoning, StandsBesideCalls) {
  EXPECT_EQ(read({"A ", "<think>", "x", "</think>", "<tool_call>{}</tool_call>", "<think>", "y"},
                 TaggedText::Tags::between_words, TaggedText::Calls::local_models),
            "A {x}<call {}>{y}");
}

// In proportion to the text: each tag is looked at once.
TEST(LateReasoning, ReadsManyWordsAboutTheTag) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text.append("`<think>");
  EXPECT_EQ(read({text}), text);
  std::string blocks;
  for (int i = 0; i < 100'000; ++i) blocks.append("\n<think>x</think>");
  EXPECT_EQ(read({"a", blocks}).size(), 1U + 100'000U * 4U);
}

}  // namespace
}  // namespace millrace::adapter
