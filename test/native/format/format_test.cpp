// The table of formats, and what all formats have in common.

#include "format/format.hpp"

#include <gtest/gtest.h>

#include "format/anthropic.hpp"
#include "format/openai.hpp"

using namespace millrace;

TEST(Formats, AreFoundByNameWithEitherMark) {
  EXPECT_NE(format::find_format("openai_conversation"), nullptr);
  EXPECT_EQ(format::find_format("openai_conversation"), format::find_format("openai-conversation"));
  EXPECT_EQ(format::find_format("open-ai"), nullptr);
  EXPECT_EQ(format::find_format(""), nullptr);
}

TEST(Formats, ReplaceLoneSurrogatesOnlyForProviders) {
  const std::string messages =
      R"([{"id":"1","role":"user","content":[{"type":"text","text":"\ud800"}]},)"
      R"({"id":"2","role":"assistant","toolCalls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":\"\\ud800\"}"}}]}])";
  for (const format::Format& format : format::formats()) {
    const auto retained = format::to_api(format, messages);
    ASSERT_TRUE(retained.ok()) << format.name;
    EXPECT_NE(retained.value().find("\\ud800"), std::string::npos) << format.name;
    const auto replaced = format::to_api(format, messages, json::Surrogates::replace);
    ASSERT_TRUE(replaced.ok()) << format.name;
    EXPECT_EQ(replaced.value().find(R"("text":"\ud800)"), std::string::npos) << format.name;
  }
}

TEST(Formats, RefuseWhatIsTooDeepAndNeverCrash) {
  for (const format::Format& format : format::formats()) {
    CountingIds ids("id-");
    const std::string deep(1000000, '[');
    EXPECT_EQ(format::from_api(format, deep, ids).error().code, Errc::json_too_deep);
    EXPECT_EQ(format::to_api(format, deep).error().code, Errc::json_too_deep);
    for (const char* odd : {"null", "5", "\"x\"", "{}", ""}) {
      EXPECT_FALSE(format::from_api(format, odd, ids).ok()) << format.name << " " << odd;
      EXPECT_FALSE(format::to_api(format, odd).ok()) << format.name << " " << odd;
    }
    EXPECT_EQ(format::from_api(format, "[]", ids).value(), "[]") << format.name;
  }
}

// What nothing prepares a reader for: every member of a message replaced by every kind of value.
TEST(Formats, TakeAnyShapeWithoutACrash) {
  const std::string values[] = {"null",
                                "true",
                                "5",
                                "\"x\"",
                                "[]",
                                "{}",
                                "[null,5,\"x\",[],{}]",
                                R"({"type":"x","url":5,"data":[],"id":{}})"};
  const std::string members[] = {"role",         "type",    "content",   "tool_calls", "id",
                                 "tool_call_id", "summary", "source",    "input",      "image_url",
                                 "output",       "kwargs",  "arguments", "system",     "messages"};
  const std::string heads[] = {R"("role":"user")",        R"("role":"assistant")",
                               R"("role":"tool")",        R"("type":"ai")",
                               R"("type":"constructor")", R"("type":"reasoning")",
                               R"("type":"mcp_call")",    R"("type":"function_call_output")"};
  for (const format::Format& format : format::formats()) {
    for (const auto& head : heads) {
      for (const auto& member : members) {
        for (const auto& value : values) {
          CountingIds ids("id-");
          const std::string item = "{" + head + ",\"" + member + "\":" + value + "}";
          (void)format::from_api(format, "[" + item + "]", ids);
          (void)format::from_api(format,
                                 R"([{"role":"assistant","content":[)" + item + "]," +
                                     R"("tool_calls":[)" + item + "]}]",
                                 ids);
          (void)format::from_api(format, R"([{"role":"user","content":[)" + item + "]}]", ids);
          (void)format::to_api(format, "[" + item + "]");
        }
      }
    }
  }
}

// These APIs take bytes alone, and such an address has no base64.
TEST(Formats, SendTheBytesOfAnAddressThatHoldsThemAsText) {
  for (const char* name : {"ollama", "anthropic", "gemini", "bedrock_converse"}) {
    const format::Format* format = format::find_format(name);
    ASSERT_NE(format, nullptr) << name;
    const auto sent = format::to_api(
        *format, R"([{"id":"1","role":"user","content":[{"type":"image","source":{"type":"url",)"
                 R"("value":"data:image/png,%3Cpng%2F%3E"}}]}])");
    ASSERT_TRUE(sent.ok()) << name;
    EXPECT_NE(sent.value().find("PHBuZy8+"), std::string::npos) << name << sent.value();
    EXPECT_EQ(sent.value().find("%3C"), std::string::npos) << name << sent.value();
  }
}

TEST(AnthropicFormat, GivesSystemAndMessagesApart) {
  const auto messages = message::parse_messages(
      R"([{"id":"1","role":"system","content":"s"},{"id":"2","role":"user","content":"u"}])");
  message::JsonBuilder out;
  out.open_object();
  out.text("model", "m");
  format::write_anthropic_messages(out, messages.value());
  format::write_anthropic_system(out, messages.value());
  out.close_object();
  EXPECT_EQ(out.take(),
            R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"u"}]}],)"
            R"("system":"s"})");
}

TEST(OpenAiFormat, GivesReasoningBackToServersThatDemandIt) {
  const auto messages = message::parse_messages(
      R"([{"id":"1","role":"reasoning","content":"a"},{"id":"2","role":"reasoning","content":"b"},)"
      R"({"id":"3","role":"assistant","content":"c"},{"id":"4","role":"assistant","content":"d"}])");
  message::JsonBuilder out;
  format::write_openai(out, messages.value(), format::OpenAiWriteOptions{"reasoning_content"});
  EXPECT_EQ(out.take(), R"([{"role":"assistant","content":"c","reasoning_content":"ab"},)"
                        R"({"role":"assistant","content":"d"}])");
}

// Each API refers to messages by its own ids alone.
TEST(OpenAiConversation, IdsOfClaudeAreNoItems) {
  const auto written = [](const std::string& id) {
    const auto text =
        format::to_api(*format::find_format("openai_conversation"),
                       R"([{"id":")" + id + R"(","role":"assistant","content":"Said."}])");
    return text ? text.value() : text.error().message;
  };
  for (const char* id : {"msg_01XFDUDYJgAACzvnptvVoYEL", "msg_bdrk_01XFDUDYJgAACzvnptvVoYEL",
                         "msg_vrtx_01XFDUDYJgAACzvnptvVoYEL"}) {
    EXPECT_EQ(written(id).find("msg_"), std::string::npos) << written(id);
    EXPECT_NE(written(id).find("Said."), std::string::npos) << written(id);
  }
  const std::string own = "msg_01ccd2bed1ec8190b14f964abc05";
  EXPECT_NE(written(own).find(own), std::string::npos) << written(own);
}

// Ollama reads the images of every message.
TEST(Ollama, ImagesOfEveryMessageGoBack) {
  const format::Format& ollama = *format::find_format("ollama");
  const std::string history =
      R"([{"role":"system","content":"Look.","images":["iVBORw0KGgo="]},)"
      R"({"role":"user","content":"Draw"},)"
      R"({"role":"assistant","content":"Here","images":["iVBORw0KGgo=","R0lGODlh"]},)"
      R"({"role":"user","content":"Go on"}])";
  CountingIds ids("id-");
  const auto read = format::from_api(ollama, history, ids);
  ASSERT_TRUE(read.ok());
  const auto written = format::to_api(ollama, read.value());
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written.value(), history);
}

TEST(Anthropic, AMarkOfTheWrongTypeGoesBackAsItCame) {
  const format::Format& anthropic = *format::find_format("anthropic");
  for (const char* mark : {R"("x")", "true", "7", "[]"}) {
    const std::string history =
        R"([{"role":"user","content":[{"type":"text","text":"Hi","cache_control":)" +
        std::string(mark) + "}]}]";
    CountingIds ids("id-");
    const auto read = format::from_api(anthropic, history, ids);
    ASSERT_TRUE(read.ok()) << mark;
    const auto written = format::to_api(anthropic, read.value());
    ASSERT_TRUE(written.ok()) << mark;
    EXPECT_EQ(written.value(), R"({"messages":)" + history + "}");
  }
}
