// Canonical messages: reading, writing, limits.

#include "message/message.hpp"

#include <gtest/gtest.h>

#include "message/parts.hpp"
#include "support/random_history.hpp"

using namespace millrace;

namespace {

std::string error_of(std::string_view json) {
  const auto messages = message::parse_messages(json);
  if (messages) return "no error";
  return std::string(messages.error().code_name()) + ": " + messages.error().message;
}

std::string again(std::string_view json) {
  const auto messages = message::parse_messages(json);
  return messages ? message::to_json(messages.value()) : messages.error().message;
}

}  // namespace

TEST(Message, NamesWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of("{}"),
            "invalid_messages: The messages must be an array of messages, not an object.");
  EXPECT_EQ(error_of("[1]"), "invalid_messages: messages[0] must be an object, not 1.");
  EXPECT_EQ(error_of(R"([{"role":"user","id":1}])"),
            "invalid_messages: messages[0].id must be a string, not 1.");
  EXPECT_EQ(error_of(R"([{"role":"assistant","toolCalls":{}}])"),
            "invalid_messages: messages[0].toolCalls must be an array, not an object.");
  EXPECT_EQ(error_of(R"([{"role":"tool","toolCallId":"c","error":true}])"),
            "invalid_messages: messages[0].error must be a string, not true.");
}

TEST(Message, KeepsOrderAndUnknownMembers) {
  const std::string json =
      R"([{"id":"1","role":"assistant","content":"a","metadata":{"z":1,"a":{"b":null}},"x":[1.0,"\ud800"]}])";
  EXPECT_EQ(again(json), json);
}

TEST(Message, ReadsBackWhatItWrites) {
  const unsigned seed = std::random_device{}();
  for (unsigned round = 0; round < 300; ++round) {
    test::RandomHistory random(seed + round, {.valid = false, .media = true});
    const std::string json = message::to_json(random.make());
    ASSERT_EQ(again(json), json) << "seed " << seed + round;
  }
}

TEST(Message, MayNestDeepButNotWithoutEnd) {
  const auto nested = [](std::size_t depth) {
    return R"([{"id":"1","role":"user","content":"a","x":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}]";
  };
  EXPECT_TRUE(message::parse_messages(nested(510)).ok());
  EXPECT_EQ(message::parse_messages(nested(511)).error().code, Errc::json_too_deep);
  EXPECT_EQ(message::parse_messages(nested(1000000)).error().code, Errc::json_too_deep);
}

TEST(Message, GivesProviderStateAFieldOfItsOwn) {
  const auto messages = message::parse_messages(
      R"([{"id":"1","role":"assistant","metadata":{"millrace":{"providerState":[)"
      R"({"provider":"p","kind":"k","state":{"s":1}}],"citations":["c"]}}}])");
  ASSERT_TRUE(messages.ok());
  const auto& metadata = messages.value().front().metadata;
  ASSERT_NE(metadata.find("p", "k"), nullptr);
  EXPECT_EQ(metadata.find("p", "k")->json, R"({"s":1})");
  EXPECT_EQ(metadata.find("p", "other"), nullptr);
  EXPECT_EQ(metadata.citations, std::vector<std::string>{"\"c\""});
}

TEST(Media, KnowsPartsOfEveryAge) {
  const auto kind_of = [](std::string_view json) -> std::string {
    json::Document document;
    const auto part = document.parse(json);
    message::Media media;
    if (!message::read_media(media, part.value())) return "none";
    return std::string(message::name_of(media.kind)) + " " + std::string(media.value);
  };
  EXPECT_EQ(kind_of(R"({"type":"binary","mimeType":"audio/wav","data":"QQ=="})"), "audio QQ==");
  EXPECT_EQ(kind_of(R"({"type":"binary","mimeType":"imagery","url":"u"})"), "document u");
  EXPECT_EQ(kind_of(R"({"type":"video","source":{"type":"file","value":"f"}})"), "video f");
  EXPECT_EQ(kind_of(R"({"type":"image","source":{"type":"odd","value":"f"}})"), "none");
  EXPECT_EQ(kind_of(R"({"type":"image","source":{"type":"url"}})"), "none");
  EXPECT_EQ(kind_of(R"({"type":"text","text":"a"})"), "none");
}

TEST(DataUrl, IsTakenApartOnlyWithBase64) {
  message::DataUrl url;
  EXPECT_TRUE(message::read_data_url(url, "data:image/png;base64,QUJD"));
  EXPECT_EQ(url.mime_type, "image/png");
  EXPECT_EQ(url.data, "QUJD");
  for (const char* other :
       {"data:image/png,x", "data:;base64,x", "data:image/png;base64", "http:"}) {
    EXPECT_FALSE(message::read_data_url(url, other)) << other;
  }
}
