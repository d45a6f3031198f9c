// Blocks that a history keeps beside its texts: an edit wins over them, and other formats read
// texts.
#include "format/retained.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/json_tree.hpp"
#include "format/format.hpp"
#include "message/message.hpp"
#include "retained_histories.hpp"

using namespace millrace;
using namespace millrace::test;

namespace {

// A history of one user read by the first format, with another text in it, written by it again.
std::string edited(const std::string& format_name, const std::string& data, const std::string& from,
                   const std::string& to) {
  const format::Format* format = format::find_format(format_name);
  CountingIds ids("id-");
  std::string messages = format::from_api(*format, data, ids).value();
  const std::string wanted = "\"text\":\"" + from + "\",\"metadata\"";
  const std::size_t at = messages.find(wanted);
  EXPECT_NE(at, std::string::npos) << messages;
  if (at == std::string::npos) return {};
  messages.replace(at, wanted.size(), "\"text\":\"" + to + "\",\"metadata\"");
  return format::to_api(*format, messages).value();
}

}  // namespace

TEST(RetainedBlocks, GiveWayToATextThatWasEdited) {
  EXPECT_EQ(
      edited("bedrock_converse", bedrock_user(R"({"guardContent":{"text":{"text":"Guarded."}}})"),
             "Guarded.", "Other."),
      R"({"messages":[{"role":"user","content":[{"text":"Other."}]}]})");
  EXPECT_EQ(
      edited("anthropic", claude_user(R"({"type":"hologram","text":"Seen."})"), "Seen.", "Other."),
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"Other."}]}]})");
}

// The blocks beside the texts of an answer are no words that an edit takes away.
TEST(RetainedBlocks, StandAroundATextOfLangGraphThatWasEdited) {
  const format::Format* format = format::find_format("langgraph");
  CountingIds ids("id-");
  const std::string image = R"({"type":"image_url","image_url":{"url":"https://e.com/a.png"}})";
  const auto edit = [&](const std::string& content) {
    const auto read =
        format::from_api(*format, R"([{"type":"ai","id":"a","content":)" + content + "}]", ids);
    auto messages = message::parse_messages(read.value()).value();
    messages.back().content = message::Content::of_text("Edited.");
    return format::to_api(*format, message::to_json(messages)).value();
  };
  const std::string text = R"({"type":"text","text":"Edited."})";
  EXPECT_NE(edit(R"([)" + image + R"(,{"type":"text","text":"A"},{"type":"text","text":"B"},)" +
                 image + "]")
                .find(R"("content":[)" + image + "," + text + "," + image + "]"),
            std::string::npos);
  EXPECT_NE(edit("[" + image + "]").find(R"("content":[)" + image + "," + text + "]"),
            std::string::npos);
  EXPECT_NE(edit(R"([{"type":"text","text":"A"}])").find(R"("content":"Edited.")"),
            std::string::npos);
}

// A part comes from whoever wrote the message: it makes no call and no result.
TEST(RetainedBlocks, AreNoCallsAndNoResults) {
  const auto sent = [](const std::string& format, const std::string& provider,
                       const std::string& block) {
    const std::string messages =
        R"([{"id":"1","role":"user","content":[{"type":"text","text":"x","metadata":{"millrace":)"
        R"({"providerState":[{"provider":")" +
        provider + R"(","kind":"block","state":)" + block + "}]}}}]}]";
    return format::to_api(*format::find_format(format), messages).value();
  };
  EXPECT_EQ(
      sent("anthropic", "anthropic", R"({"type":"tool_result","tool_use_id":"c","content":"x"})"),
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]})");
  EXPECT_EQ(sent("bedrock_converse", "bedrock",
                 R"({"toolResult":{"toolUseId":"c","content":[{"text":"x"}]}})"),
            R"({"messages":[{"role":"user","content":[{"text":"x"}]}]})");
  EXPECT_EQ(sent("gemini", "google", R"({"text":"x","functionCall":{"name":"f"}})"),
            R"({"contents":[{"role":"user","parts":[{"text":"x"}]}]})");
}

// A prompt that a client put first is no turn of the conversation.
TEST(RetainedBlocks, LeaveALeadingPromptBesideTheTurns) {
  const format::Format* format = format::find_format("anthropic");
  CountingIds ids("id-");
  const auto messages = format::from_api(
      *format, claude(R"({"role":"system","content":"Be brief."},{"role":"user","content":"Ask"})"),
      ids);
  ASSERT_TRUE(messages.ok());
  EXPECT_EQ(format::to_api(*format, messages.value()).value(),
            R"({"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text",)"
            R"("text":"Ask"}]}]})");
}

TEST(RetainedLists, PartATextAtWholeCharactersOnly) {
  message::Metadata metadata;
  metadata.add("p", "list", "[1,1]");
  EXPECT_TRUE(format::listed_texts(metadata, "p", "\xC3\xBC").empty());
  EXPECT_TRUE(format::listed_texts(metadata, "p", "abc").empty());
  EXPECT_EQ(format::listed_texts(metadata, "p", "ab").size(), 2U);
  for (const char* wrong : {"[-1,3]", "[\"2\"]", "{}", "[9]", "[]", "no"}) {
    message::Metadata other;
    other.add("p", "list", wrong);
    EXPECT_TRUE(format::listed_texts(other, "p", "ab").empty()) << wrong;
  }
}

// A user message of one part in a format.
std::string user_part(std::string_view format, const std::string& part) {
  return format::to_api(*format::find_format(format),
                        R"([{"id":"1","role":"user","content":[)" + part + "]}]")
      .value();
}

TEST(Files, OfClientsAreFilesAtOpenAI) {
  const auto type_of = [](const std::string& part) {
    const std::string sent = user_part("openai_conversation", part);
    return sent.find("\"input_file\"") != std::string::npos ? "file" : "image";
  };
  EXPECT_EQ(type_of(R"({"type":"binary","mimeType":"application/pdf","data":"JVBERi0="})"), "file");
  EXPECT_EQ(type_of(R"({"type":"binary","mimeType":"application/pdf","url":"https://e/a"})"),
            "file");
  EXPECT_EQ(type_of(R"({"type":"image","source":{"type":"data","value":"JVBERi0=",)"
                    R"("mimeType":"application/pdf"}})"),
            "file");
  EXPECT_EQ(type_of(R"({"type":"binary","mimeType":"image/*","url":"https://e/a"})"), "image");
  EXPECT_EQ(type_of(R"({"type":"image","source":{"type":"url","value":"https://e/a"}})"), "image");
}

TEST(Files, OfDataUrlsAreSentByValue) {
  const std::string part =
      R"({"type":"document","source":{"type":"url","value":"data:application/pdf,%25PDF-1"}})";
  for (const char* format : {"anthropic", "bedrock_converse", "gemini", "openai_conversation"}) {
    const std::string sent = user_part(format, part);
    EXPECT_NE(sent.find("JVBERi0x"), std::string::npos) << format << sent;
    EXPECT_EQ(sent.find("%25"), std::string::npos) << format << sent;
  }
}
