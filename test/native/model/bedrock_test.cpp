// What Bedrock's Converse refuses of a chat, and what is sent instead.
#include <gtest/gtest.h>

#include "model/build.hpp"

namespace millrace {
namespace {

constexpr std::string_view claude = "anthropic.claude-sonnet-4-5-20250929-v1:0";

using test::converse;

std::string sent(std::string_view model, std::string_view messages, std::string_view more = {}) {
  return test::body_of(converse(model, messages, more));
}

constexpr std::string_view hello = R"([{"role":"user","content":"Hi"}])";
constexpr std::string_view history =
    R"([{"role":"user","content":"Weather?"},{"role":"assistant","content":"I look.","tool_calls":)"
    R"([{"id":"c1","type":"function","function":{"name":"w","arguments":"{\"c\":\"Oslo\"}"}}]},)"
    R"({"role":"tool","tool_call_id":"c1","content":"Rain"},{"role":"user","content":"Sum up."}])";

// "The toolConfig field must be defined when using toolUse and toolResult content blocks."
TEST(BedrockBody, TellsOfCallsInWordsWhereThereAreNoTools) {
  const auto request = converse(claude, history);
  const std::string body = test::body_of(request);
  EXPECT_FALSE(test::has(body, "toolUse") || test::has(body, "toolResult") ||
               test::has(body, "toolConfig"))
      << body;
  EXPECT_TRUE(test::has(body,
                        R"({"role":"assistant","content":[{"text":"I look."}]},{"role":"user",)"
                        R"("content":[{"text":"The tool w was called with {\"c\":\"Oslo\"} and )"
                        R"(answered:\nRain"},{"text":"Sum up."}]})"))
      << body;
  ASSERT_EQ(request.value().notes.size(), 1U);
  EXPECT_EQ(request.value().notes[0].what, "messages");
  const std::string with_tools = sent(
      claude, history,
      R"("tools":[{"type":"function","function":{"name":"w","parameters":{"type":"object"}}}])");
  EXPECT_TRUE(test::has(with_tools, "toolUse") && test::has(with_tools, "toolResult"))
      << with_tools;
}

TEST(BedrockBody, TellsOfCallsThatHaveNoResult) {
  const std::string body = sent(
      claude,
      R"([{"role":"user","content":"q"},{"role":"assistant","content":"I look.","tool_calls":)"
      R"([{"id":"a","type":"function","function":{"name":"f","arguments":"{\"c\":\"Oslo\"}"}},)"
      R"({"id":"b","type":"function","function":{"name":"g","arguments":""}}]}])");
  EXPECT_TRUE(test::has(body,
                        R"({"role":"assistant","content":[{"text":"I look."}]},{"role":"user",)"
                        R"("content":[{"text":"The tool f was called with {\"c\":\"Oslo\"} and )"
                        R"(failed:\nThe call was interrupted."},{"text":"The tool g was called )"
                        R"(with {} and failed:\nThe call was interrupted."}]})"))
      << body;
}

TEST(BedrockBody, TellsOfSilentCallsFailuresAndImages) {
  const std::string body = sent(
      claude,
      R"([{"id":"1","role":"user","content":"q"},{"id":"2","role":"reasoning","content":"t",)"
      R"("encryptedValue":"{\"bedrock\":{\"signature\":\"s\"}}"},{"id":"3","role":"assistant",)"
      R"("toolCalls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}},)"
      R"({"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},)"
      R"({"id":"4","role":"tool","toolCallId":"a","content":"","error":"Broken"},)"
      R"({"id":"5","role":"tool","toolCallId":"b","content":[{"type":"image","source":)"
      R"({"type":"data","value":"AAAA","mimeType":"image/png"}}]}])",
      R"("format":"canonical")");
  EXPECT_TRUE(test::has(body, R"(The tool f was called with {} and failed:\nBroken)")) << body;
  EXPECT_TRUE(test::has(body, R"(The tool g was called with {} and answered:"},{"image":)"))
      << body;
  // Thoughts that led to a call only would stand alone.
  EXPECT_FALSE(test::has(body, "reasoningContent") || test::has(body, R"("role":"assistant")"))
      << body;
}

// "Messages can't contain duplicate document names", in whichever turns they stand.
TEST(BedrockBody, NamesEachDocumentOnce) {
  constexpr std::string_view file =
      R"({"type":"file","file":{"filename":"report.pdf","file_data":"data:application/pdf;base64,AAAA"}})";
  constexpr std::string_view bare =
      R"({"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA"}})";
  std::string messages = R"([{"role":"user","content":[{"type":"text","text":"a"},)";
  messages.append(file).append(",").append(file).append(",").append(bare);
  messages.append(R"(]},{"role":"assistant","content":"b"},{"role":"user","content":[)");
  messages.append(bare).append(",").append(file).append(R"(,{"type":"text","text":"c"}]}])");
  const std::string body = sent(claude, messages);
  for (const std::string_view name :
       {"report-pdf", "report-pdf-2", "report-pdf-3", "document", "document-2"}) {
    const std::string member = "\"name\":\"" + std::string(name) + "\"";
    EXPECT_TRUE(test::has(body, member)) << member << body;
    EXPECT_EQ(body.find(member), body.rfind(member)) << member << body;
  }
}

TEST(BedrockBody, SendsADocumentWithAText) {
  const std::string body =
      sent(claude, R"([{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf",)"
                   R"("file_data":"data:application/pdf;base64,AAAA"}}]}])");
  EXPECT_TRUE(test::has(body, R"("text":"The document is attached.")")) << body;
  const std::string image = sent(
      claude,
      R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}])");
  EXPECT_FALSE(test::has(image, R"("text")")) << image;
}

TEST(BedrockBody, SendsNovaWhatItTakes) {
  constexpr std::string_view settings =
      R"("max_tokens":100,"temperature":0.5,"top_p":0.5,"top_k":5,"reasoning_effort":)";
  const auto with = [&](std::string_view effort) {
    return sent("us.amazon.nova-2-lite-v1:0", hello, std::string(settings) + std::string(effort));
  };
  const std::string high = with(R"("high")");
  EXPECT_FALSE(test::has(high, "maxTokens") || test::has(high, "temperature") ||
               test::has(high, "topP"))
      << high;
  EXPECT_TRUE(test::has(high, R"("maxReasoningEffort":"high")")) << high;
  const std::string low = with(R"("low")");
  EXPECT_TRUE(test::has(low, R"("maxTokens":100,"temperature":0.5,"topP":0.5)")) << low;
  EXPECT_TRUE(test::has(low, R"("inferenceConfig":{"topK":5})")) << low;
  EXPECT_FALSE(test::has(low, "top_k")) << low;
  EXPECT_TRUE(test::has(sent(claude, hello, R"("top_k":5)"), R"("top_k":5)"));
}

TEST(BedrockBody, SendsOpenAiItsEffort) {
  const auto with = [&](std::string_view effort) {
    return sent("openai.gpt-oss-120b-1:0", hello,
                R"("reasoning_effort":")" + std::string(effort) + "\"");
  };
  EXPECT_TRUE(
      test::has(with("high"), R"("additionalModelRequestFields":{"reasoning_effort":"high"})"))
      << with("high");
  EXPECT_FALSE(test::has(with("xhigh"), "additionalModelRequestFields")) << with("xhigh");
  EXPECT_FALSE(
      test::has(sent(claude, hello, R"("reasoning_effort":"high")"), R"("reasoning_effort":)"));
}

TEST(BedrockBody, SendsOpenAiNoStopSequences) {
  EXPECT_FALSE(
      test::has(sent("openai.gpt-oss-120b-1:0", hello, R"("stop":["x"])"), "stopSequences"));
  EXPECT_TRUE(test::has(sent(claude, hello, R"("stop":["x"])"), R"("stopSequences":["x"])"));
}

// The maker's own settings go along; what is made of the payload's members holds.
TEST(BedrockBody, GivesTheMakerOfAModelItsOwnFields) {
  constexpr std::string_view fields = R"("additionalModelRequestFields":)";
  const std::string merged =
      sent(claude, hello,
           R"("thinking":{"type":"enabled","budget_tokens":2048},"anthropic_beta":["x","y"],)"
           R"("additionalModelRequestFields":{"anthropic_beta":["y","z"],"top_k":3,)"
           R"("thinking":{"type":"disabled","display":"omitted"}})");
  EXPECT_TRUE(test::has(merged, std::string(fields) +
                                    R"({"thinking":{"type":"enabled","budget_tokens":2048,)"
                                    R"("display":"omitted"},"anthropic_beta":["x","y","z"],)"
                                    R"("top_k":3})"))
      << merged;
  const std::string nova =
      sent("amazon.nova-lite-v1:0", hello,
           R"("top_k":5,"additionalModelRequestFields":{"inferenceConfig":{"topK":9,"x":1}})");
  EXPECT_TRUE(test::has(nova, std::string(fields) + R"({"inferenceConfig":{"topK":5,"x":1}})"))
      << nova;
  const auto odd = converse("amazon.nova-lite-v1:0", hello,
                            R"("anthropic_beta":["x"],"additionalModelRequestFields":[1])");
  // The API takes any value of JSON.
  EXPECT_TRUE(test::has(test::body_of(odd), R"("additionalModelRequestFields":[1])"));
  EXPECT_EQ(odd.value().notes.size(), 1U);
}

constexpr std::string_view two_tools =
    R"("tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":)"
    R"({"type":"object","properties":{}}}},{"type":"function","function":{"name":"g",)"
    R"("parameters":{"type":"object","properties":{}}}}],"tool_choice":)";
constexpr std::string_view one_tool =
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],)"
    R"("tool_choice":)";
constexpr std::string_view named_tool = R"({"type":"function","function":{"name":"f"}})";

// "This model doesn't support the toolConfig.toolChoice.any field."
TEST(BedrockBody, DemandsCallsOfThoseWhoTakeIt) {
  const auto choice = [&](std::string_view model, std::string_view tools, std::string_view wish) {
    const auto request = converse(model, hello, std::string(tools) + std::string(wish));
    json::Document document;
    const auto body = document.parse(test::body_of(request));
    const json::Value sent = body.value()["toolConfig"]["toolChoice"];
    if (!sent.is_nothing()) return sent.to_json();
    return request.value().notes.empty() ? std::string() : request.value().notes.back().what;
  };
  constexpr std::string_view required = R"("required")";
  constexpr std::string_view any = R"({"any":{}})";
  for (const std::string_view model : {claude, std::string_view("us.amazon.nova-pro-v1:0"),
                                       std::string_view("moonshot.kimi-k2-thinking"),
                                       std::string_view("zai.glm-4.7"), std::string_view("mine")}) {
    EXPECT_EQ(choice(model, one_tool, required), any) << model;
    EXPECT_EQ(choice(model, one_tool, named_tool), R"({"tool":{"name":"f"}})") << model;
    EXPECT_EQ(choice(model, one_tool, R"("auto")"), R"({"auto":{}})") << model;
  }
  for (const std::string_view model : {"mistral.mistral-large-2407-v1:0", "deepseek.v3-v1:0"}) {
    EXPECT_EQ(choice(model, one_tool, required), any) << model;
    EXPECT_EQ(choice(model, one_tool, named_tool), any) << model;
    EXPECT_EQ(choice(model, two_tools, named_tool), "tool_choice") << model;
  }
  for (const std::string_view model :
       {"us.meta.llama4-maverick-17b-instruct-v1:0", "writer.palmyra-x5-v1:0",
        "openai.gpt-oss-120b-1:0", "cohere.command-r-v1:0", "us.deepseek.r1-v1:0"}) {
    EXPECT_EQ(choice(model, one_tool, required), "tool_choice") << model;
    EXPECT_EQ(choice(model, one_tool, named_tool), "tool_choice") << model;
    EXPECT_EQ(choice(model, one_tool, R"("auto")"), "") << model;
  }
}

TEST(BedrockBody, HoldsThoseToSchemasWhoCanBeHeld) {
  constexpr std::string_view schema =
      R"("response_format":{"type":"json_schema","json_schema":{"name":"a","schema":)"
      R"({"type":"object","properties":{"b":{"type":"string"}}}}})";
  const std::string strict = std::string(two_tools) + R"("auto")";
  for (const std::string_view model :
       {claude, std::string_view("qwen.qwen3-32b-v1:0"), std::string_view("deepseek.v3.2"),
        std::string_view("mistral.mistral-large-3-675b-instruct"),
        std::string_view("openai.gpt-oss-120b-1:0"), std::string_view("mine")}) {
    EXPECT_TRUE(test::has(sent(model, hello, schema), R"("outputConfig":{"textFormat")")) << model;
    EXPECT_TRUE(test::has(sent(model, hello, strict), R"("strict":true)")) << model;
  }
  for (const std::string_view model :
       {"us.meta.llama4-maverick-17b-instruct-v1:0", "us.deepseek.r1-v1:0",
        "mistral.mistral-large-2407-v1:0", "cohere.command-r-v1:0", "us.amazon.nova-2-lite-v1:0",
        "us.anthropic.claude-opus-4-1-20250805-v1:0"}) {
    const std::string reported = sent(model, hello, schema);
    EXPECT_FALSE(test::has(reported, "outputConfig")) << reported;
    EXPECT_TRUE(test::has(reported, R"("system":[{"text":"Answer with one JSON value)"))
        << reported;
    EXPECT_FALSE(test::has(sent(model, hello, strict), "strict")) << model;
  }
}

TEST(BedrockBody, SendsTopKToThoseWhoKnowIt) {
  const auto request = converse("us.meta.llama4-maverick-17b-instruct-v1:0", hello, R"("top_k":5)");
  EXPECT_FALSE(test::has(test::body_of(request), "additionalModelRequestFields"));
  ASSERT_EQ(request.value().notes.size(), 1U);
  EXPECT_EQ(request.value().notes[0].what, "top_k");
  EXPECT_TRUE(test::has(sent("mine", hello, R"("top_k":5)"), R"("top_k":5)"));
}

TEST(BedrockBody, SendsQwenItsEffort) {
  const auto with = [&](std::string_view wish) { return sent("qwen.qwen3-32b-v1:0", hello, wish); };
  constexpr std::string_view fields = R"("additionalModelRequestFields":{"reasoning_config":")";
  const std::string low = std::string(fields) + "low\"}";
  const std::string high = std::string(fields) + "high\"}";
  EXPECT_TRUE(test::has(with(R"("reasoning_effort":"low")"), low));
  EXPECT_TRUE(test::has(with(R"("reasoning_effort":"minimal")"), low));
  EXPECT_TRUE(test::has(with(R"("reasoning_effort":"medium")"), high));
  EXPECT_TRUE(test::has(with(R"("thinking":{"type":"enabled"})"), high));
  EXPECT_FALSE(test::has(with(R"("reasoning_effort":"none")"), "additionalModelRequestFields"));
  EXPECT_EQ(
      converse("qwen.qwen3-32b-v1:0", hello, R"("reasoning_effort":"none")").value().notes.size(),
      1U);
}

// Nova's own tools, beside the caller's.
TEST(BedrockBody, OffersToolsThatBedrockRuns) {
  const std::string body =
      sent("us.amazon.nova-2-lite-v1:0", hello,
           R"("tools":[{"systemTool":{"name":"nova_code_interpreter"}},{"type":"function",)"
           R"("function":{"name":"f","parameters":{"type":"object"}}}])");
  EXPECT_TRUE(test::has(body, R"("tools":[{"systemTool":{"name":"nova_code_interpreter"}},)"
                              R"({"toolSpec":{"name":"f",)"))
      << body;
}

}  // namespace
}  // namespace millrace
