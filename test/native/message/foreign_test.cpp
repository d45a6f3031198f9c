// Messages of other libraries' shapes.

#include "message/foreign.hpp"

#include <gtest/gtest.h>

#include <random>

#include "message/message.hpp"
#include "support/random_history.hpp"

using namespace millrace;

namespace {

std::string adopted(std::string_view rows) {
  json::Document document;
  const auto parsed = document.parse(rows);
  if (!parsed) return "not JSON";
  const auto made = message::adopt_foreign(parsed.value());
  if (!made) return std::string(made.error().code_name()) + ": " + made.error().message;
  return made.value();
}

std::string user(std::string_view parts) {
  return R"([{"role":"user","content":[)" + std::string(parts) + "]}]";
}

}  // namespace

TEST(Foreign, ReadsRowsOfOpenAi) {
  EXPECT_EQ(
      adopted(
          R"([{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}])"),
      R"([{"role":"assistant","content":null,"toolCalls":[{"id":"c","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","toolCallId":"c","content":"r"}])");
  EXPECT_EQ(adopted(R"([{"role":"tool","toolCallId":"a","tool_call_id":"b"}])"),
            R"([{"role":"tool","toolCallId":"a","tool_call_id":"b"}])");
}

TEST(Foreign, ReadsTextDocumentsOfAnthropic) {
  EXPECT_EQ(
      adopted(user(R"({"type":"document","title":"Terms","source":{"type":"text","media_type":)"
                   R"("text/plain","data":"The words."}})")),
      user(R"({"type":"document","source":{"type":"data","value":"VGhlIHdvcmRzLg==","mimeType":)"
           R"("text/plain"},"metadata":{"filename":"Terms"}})"));
  EXPECT_EQ(adopted(user(R"({"type":"document","source":{"type":"text","data":1}})")).substr(0, 17),
            "invalid_messages:");
}

TEST(Foreign, KeepsUnknownPartsOnRequest) {
  const std::string rows = user(
      R"({"type":"text","text":"q"},{"type":"hologram","x":1},{"type":"image","source":{"type":"blob"}})");
  EXPECT_EQ(adopted(rows).substr(0, 17), "invalid_messages:");
  json::Document document;
  const auto retained =
      message::adopt_foreign(document.parse(rows).value(), message::UnknownParts::retained);
  ASSERT_TRUE(retained.ok());
  EXPECT_EQ(retained.value(), rows);
}

TEST(Foreign, ReadsRowsOfTheAiSdk) {
  EXPECT_EQ(
      adopted(
          R"([{"id":"1","role":"user","parts":[{"type":"text","text":"see"},{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AAAA","filename":"a.png"}]}])"),
      R"([{"id":"1","role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"data","value":"AAAA","mimeType":"image/png"},"metadata":{"filename":"a.png"}}]}])");
  EXPECT_EQ(
      adopted(
          R"([{"id":"2","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},{"type":"text","text":"yes"}]}])"),
      R"([{"id":"2","role":"assistant","content":[{"type":"text","text":"yes"}]}])");
}

TEST(Foreign, ReadsMediaOfThreeShapes) {
  const std::string png =
      R"({"type":"image","source":{"type":"data","value":"AAAA","mimeType":"image/png"}})";
  for (const std::string_view part :
       {R"({"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}})",
        R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}})",
        R"({"type":"image","image":"data:image/png;base64,AAAA"})",
        R"({"type":"image","image":"AAAA","mediaType":"image/png"})",
        R"({"type":"file","data":"AAAA","mediaType":"image/png"})"}) {
    EXPECT_EQ(adopted(user(part)), user(png)) << part;
  }
  EXPECT_EQ(adopted(user(R"({"type":"image","source":{"type":"url","url":"https://x.test/a"}})")),
            user(R"({"type":"image","source":{"type":"url","value":"https://x.test/a"}})"));
  EXPECT_EQ(adopted(user(R"({"type":"file","file":{"file_id":"f1"}})")),
            user(R"({"type":"document","source":{"type":"file","value":"f1"}})"));
}

TEST(Foreign, NamesWhatCannotBeRead) {
  EXPECT_EQ(adopted(R"([{"role":"user"}])"),
            "invalid_messages: messages[0].content is missing: give a string or a list of parts.");
  const std::string unknown = adopted(
      R"([{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c"}]}])");
  EXPECT_TRUE(unknown.starts_with(
      R"(invalid_messages: messages[1].content[0] has the type "tool-call", which is not supported)"))
      << unknown;
  for (const std::string_view part :
       {R"({"type":"image","image":"AAAA"})", R"({"type":"file","data":"x"})",
        R"({"type":"image","source":{"type":"nope","value":"x"}})",
        R"({"type":"image_url","image_url":{}})", R"({"type":"video","source":{}})"}) {
    const std::string reported = adopted(user(part));
    EXPECT_TRUE(
        reported.starts_with("invalid_messages: messages[0].content[0] has no known source"))
        << part << reported;
  }
  EXPECT_EQ(adopted(user(R"({"type":"text"})")),
            "invalid_messages: messages[0].content[0].text must be a string, not nothing.");
}

TEST(Foreign, LeavesCanonicalMessagesAlone) {
  const unsigned seed = std::random_device{}();
  for (unsigned round = 0; round < 300; ++round) {
    test::RandomHistory random(seed + round, {.valid = false, .media = true});
    const std::string json = message::to_json(random.make());
    ASSERT_EQ(adopted(json), json) << "seed " << seed + round;
  }
}
