// Runs the golden cases of the fold: `events` one a line, then the `messages` they make; the events
// are given at once and one by one.

#include "message/fold.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "support/golden.hpp"

using namespace millrace;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

std::string compact(std::string_view json) {
  json::Document document(message::depth_limit);
  const auto value = document.parse(json);
  return value ? value.value().to_json(json::Surrogates::keep) : "not JSON: " + std::string(json);
}

std::string array_of(const std::vector<std::string>& lines) {
  std::string array = "[";
  for (const auto& line : lines) array += (array.size() > 1 ? "," : "") + line;
  return array + "]";
}

class GoldenFold : public testing::TestWithParam<test::GoldenCase> {};

}  // namespace

TEST_P(GoldenFold, MakesTheExpectedMessages) {
  const std::string* events = GetParam().block("events");
  const std::string* expected = GetParam().block("messages");
  ASSERT_NE(events, nullptr);
  ASSERT_NE(expected, nullptr);
  const auto lines = lines_of(*events);
  CountingIds ids("id-");
  message::Folder whole(ids);
  const auto fed = whole.feed(array_of(lines));
  ASSERT_TRUE(fed.ok()) << fed.error().message;
  EXPECT_EQ(compact(whole.messages_json()), compact(*expected));
  CountingIds other_ids("id-");
  message::Folder single(other_ids);
  for (const auto& line : lines) {
    ASSERT_TRUE(single.feed("[" + line + "]").ok());
    (void)single.messages();
  }
  EXPECT_EQ(single.messages_json(), whole.messages_json()) << "one by one";
}

INSTANTIATE_TEST_SUITE_P(Fold, GoldenFold, testing::ValuesIn(test::golden_cases("message/fold.md")),
                         [](const testing::TestParamInfo<test::GoldenCase>& row) {
                           return std::regex_replace(row.param.name, std::regex("[^A-Za-z0-9]+"),
                                                     "_");
                         });

TEST(Fold, BeginsWithWhatStoodBefore) {
  CountingIds ids("id-");
  message::Folder folder(ids);
  folder.begin_with(message::parse_messages(
                        R"([{"id":"u","role":"user","content":"a"},{"id":"a","role":"assistant",)"
                        R"("toolCalls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},)"
                        R"({"id":"x","role":"user","content":"b"}])")
                        .value());
  ASSERT_TRUE(
      folder
          .feed(R"([{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c","content":"1"},)"
                R"({"type":"@reset","reason":"retry"}])")
          .ok());
  EXPECT_EQ(folder.messages().size(), 3U)
      << "a reset takes back what came since, not what stood before";
  ASSERT_TRUE(
      folder.feed(R"([{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c","content":"2"}])")
          .ok());
  ASSERT_EQ(folder.messages().size(), 4U);
  EXPECT_EQ(folder.messages()[2].content.text, "2");
}

TEST(Fold, RefusesWhatIsNoArray) {
  CountingIds ids("id-");
  message::Folder folder(ids);
  EXPECT_EQ(folder.feed("{}").error().code, Errc::invalid_argument);
  EXPECT_EQ(folder.feed("[").error().code, Errc::invalid_json);
  EXPECT_EQ(folder.messages_json(), "[]");
}

TEST(Fold, TakesAnyShapeWithoutACrash) {
  const std::string types[] = {"TEXT_MESSAGE_START",
                               "TEXT_MESSAGE_CONTENT",
                               "TEXT_MESSAGE_END",
                               "TEXT_MESSAGE_CHUNK",
                               "TOOL_CALL_START",
                               "TOOL_CALL_ARGS",
                               "TOOL_CALL_END",
                               "TOOL_CALL_CHUNK",
                               "TOOL_CALL_RESULT",
                               "REASONING_MESSAGE_CONTENT",
                               "REASONING_ENCRYPTED_VALUE",
                               "ACTIVITY_SNAPSHOT",
                               "ACTIVITY_DELTA",
                               "MESSAGES_SNAPSHOT",
                               "RUN_STARTED",
                               "CUSTOM",
                               "@provider_state",
                               "@citation",
                               "UNKNOWN"};
  const std::string members[] = {"messageId", "toolCallId", "delta", "content", "messages", "input",
                                 "metadata",  "patch",      "value", "name",    "subtype"};
  const std::string values[] = {"null",
                                "5",
                                "\"x\"",
                                "[]",
                                "{}",
                                "[{\"op\":\"add\"}]",
                                R"([{"role":"user"}])",
                                R"({"messages":[1]})"};
  CountingIds ids("id-");
  message::Folder folder(ids);
  for (const auto& type : types) {
    for (const auto& member : members) {
      for (const auto& value : values) {
        const std::string event = R"({"type":")" + type + "\",\"" + member + "\":" + value + "}";
        ASSERT_TRUE(folder.feed("[" + event + "]").ok()) << event;
      }
    }
  }
  EXPECT_TRUE(message::parse_messages(folder.messages_json()).ok());
}
