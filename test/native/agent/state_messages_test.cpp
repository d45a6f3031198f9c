#include "agent/state_messages.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/tree.hpp"

namespace millrace::agent {
namespace {

using json::Tree;
using test::tree;

// The messages of some rows as JSON, or what is wrong with them.
std::string read(const Tree& state_messages) {
  const auto messages = messages_of(state_messages);
  return messages ? message::to_json(messages.value()) : messages.error().message;
}

TEST(StateMessages, ReadsTextsAndCalls) {
  EXPECT_EQ(
      read(tree(
          R"([{"role":"system","content":"Be brief.","metadata":null},)"
          R"({"id":"u","role":"user","content":"Hi","name":"ada","meta":{"own":1}},)"
          R"({"id":"a","parentId":"u","role":"assistant","content":null,"usage":{"x":1},)"
          R"("tool_calls":[{"id":"c","type":"function",)"
          R"("function":{"name":"f","arguments":"{\"a\":1}"}}]},)"
          R"({"id":"t","role":"tool","content":"no","error":"it failed","tool_call_id":"c"}])")),
      R"([{"role":"system","content":"Be brief."},)"
      R"({"id":"u","role":"user","content":"Hi","name":"ada"},)"
      R"({"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function",)"
      R"("function":{"name":"f","arguments":"{\"a\":1}"}}]},)"
      R"({"id":"t","role":"tool","content":"no","toolCallId":"c","error":"it failed"}])");
}

TEST(StateMessages, ReadsWhatIsMoreThanText) {
  const std::string state_messages =
      R"([{"id":"u","role":"user","content":[{"type":"text","text":"Hi"}]},)"
      R"({"id":"a","role":"assistant","content":"x","encryptedValue":"e","metadata":{"k":[1]}},)"
      R"({"id":"b","role":"assistant","toolCalls":[{"id":"c","type":"function",)"
      R"("function":{"name":"f","arguments":"{}","more":1},"extra":true}]}])";
  EXPECT_EQ(read(state_messages_of(state_messages).value()), state_messages);
  // Arguments that are no text yet.
  EXPECT_EQ(read(tree(R"([{"role":"assistant","content":"","tool_calls":[{"id":"c",)"
                      R"("function":{"name":"f","arguments":{"a":1}}}]}])")),
            R"([{"role":"assistant","content":"","toolCalls":[{"id":"c",)"
            R"("type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}])");
}

TEST(StateMessages, MendsTextsThatJsonCannotCarry) {
  Tree state_messages = tree(R"([{"id":"u","role":"user","content":"\ud800 alone"}])");
  EXPECT_EQ(read(state_messages), R"([{"id":"u","role":"user","content":"\ud800 alone"}])");
  state_messages.items().front().set("content", std::string_view("cut \xE2\x82"));
  EXPECT_EQ(read(state_messages), "[{\"id\":\"u\",\"role\":\"user\",\"content\":\"cut \uFFFD\"}]");
}

TEST(StateMessages, NamesTheRowThatIsWrong) {
  const auto reads = [](const std::string& state_message) {
    return read(tree(R"([{"role":"user","content":"Hi"},)" + state_message + "]"));
  };
  EXPECT_NE(reads(R"({"role":"robot"})").find("messages[1].role must be"), std::string::npos);
  EXPECT_NE(reads(R"({"content":"x"})").find("messages[1].role must be"), std::string::npos);
  EXPECT_NE(reads(R"({"role":"tool","content":"x"})").find("messages[1].toolCallId is missing"),
            std::string::npos);
  EXPECT_EQ(reads(R"({"role":"user","content":"x","id":5})"),
            "messages[1].id must be a string, not 5.");
  EXPECT_EQ(reads(R"({"role":"assistant","tool_calls":[{"id":"c"}]})"),
            "messages[1].toolCalls[0].function must be an object, not nothing.");
  EXPECT_EQ(reads("7"), read(tree(R"([{"role":"user","content":"Hi"},{}])")));
}

TEST(StateMessages, GiveATurnBackWithTheCallsOfItsRow) {
  const Tree state_messages = tree(
      R"([{"id":"a","role":"assistant","content":"x","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"n\":2}"}}],)"
      R"("turn":[{"id":"r","role":"reasoning","content":"hm"},{"id":"a","role":"assistant","content":"x","toolCalls":[)"
      R"({"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},)"
      R"({"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]}]},)"
      R"({"id":"t","role":"tool","tool_call_id":"c1","content":"2","plugin":{}}])");
  EXPECT_EQ(read(state_messages),
            R"([{"id":"r","role":"reasoning","content":"hm"},)"
            R"({"id":"a","role":"assistant","content":"x","toolCalls":[)"
            R"({"id":"c1","type":"function","function":{"name":"f","arguments":"{\"n\":2}"}}]},)"
            R"({"id":"t","role":"tool","content":"2","toolCallId":"c1"}])");
}

}  // namespace
}  // namespace millrace::agent
