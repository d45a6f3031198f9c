#include "model/payload/tool_names.hpp"

#include <gtest/gtest.h>

#include "message/tool_name.hpp"

namespace millrace::model {
namespace {

TEST(ToolNames, AreWhatEveryProviderTakes) {
  for (const std::string name : {"a.b", "größe", "...", "a b", "\xff", "名前"}) {
    const std::string sent = message::sendable_name(name);
    EXPECT_TRUE(message::is_sendable_name(sent)) << sent;
    EXPECT_NE(sent, name);
    EXPECT_EQ(sent.find("____"), std::string::npos) << sent;
    EXPECT_EQ(message::sendable_name(sent), sent);
  }
  EXPECT_EQ(message::sendable_name(std::string(65, 'x')).size(), 64U);
  EXPECT_EQ(message::sendable_name(std::string(64, 'x')), std::string(64, 'x'));
  EXPECT_EQ(message::sendable_name("look-up_2"), "look-up_2");
}

TEST(ToolNames, AreChangedInAllPlacesOfAPayloadOrInNone) {
  ChatPayload payload;
  payload.tools.resize(2);
  payload.tools[0].name = "fine";
  payload.tools[1].name = "a.b";
  payload.tool_choice = {ToolChoice::Kind::tool, "a.b", {}};
  payload.messages.edit().resize(1);
  payload.messages.edit()[0].tool_calls.resize(2);
  payload.messages.edit()[0].tool_calls[0].name = "a.b";
  payload.messages.edit()[0].tool_calls[1].name = "fine";
  const auto sent = with_sent_tool_names(payload);
  ASSERT_TRUE(sent);
  const std::string name = message::sendable_name("a.b");
  EXPECT_EQ(sent->tools[1].name, name);
  EXPECT_EQ(sent->tool_choice.name, name);
  EXPECT_EQ(sent->messages[0].tool_calls[0].name, name);
  EXPECT_EQ(sent->messages[0].tool_calls[1].name, "fine");
  EXPECT_FALSE(with_sent_tool_names(*sent));

  EXPECT_EQ(given_tool_name(payload.tools, name), "a.b");
  EXPECT_EQ(given_tool_name(payload.tools, "fine"), "fine");
  EXPECT_EQ(given_tool_name(payload.tools, "other"), "other");
}

}  // namespace
}  // namespace millrace::model
