// How the turns of a conversation go to the makers of Bedrock's models.
#include <gtest/gtest.h>

#include "model/build.hpp"

namespace millrace {
namespace {

constexpr std::string_view llama = "us.meta.llama4-maverick-17b-instruct-v1:0";
constexpr std::string_view sonnet = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
constexpr std::string_view nova = "us.amazon.nova-lite-v1:0";
constexpr std::string_view dot = R"({"role":"assistant","content":[{"text":"."}]},)";
constexpr std::string_view look_up =
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";

using test::converse;

// The body of a conversation in which a call `c1` is answered, and then comes `next`.
std::string behind_result(std::string_view model, std::string_view next) {
  std::string messages =
      R"([{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[)"
      R"({"id":"abcdefghi","type":"function","function":{"name":"f","arguments":"{}"}}]},)"
      R"({"role":"tool","tool_call_id":"abcdefghi","content":"r"},)";
  messages.append(next).append("]");
  return test::body_of(converse(model, messages, look_up));
}

constexpr std::string_view result_block =
    R"({"toolResult":{"toolUseId":"abcdefghi","content":[{"text":"r"}]}})";
constexpr std::string_view person_speaks = R"({"role":"user","content":"Go on"})";
constexpr std::string_view file_comes =
    R"({"role":"user","content":[{"type":"text","text":"Read"},{"type":"file","file":)"
    R"({"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}}]})";
constexpr std::string_view file_block =
    R"({"document":{"format":"pdf","name":"a-pdf","source":{"bytes":"AAAA"}}})";

std::string users(std::string_view blocks) {
  return R"({"role":"user","content":[)" + std::string(blocks) + "]}";
}

TEST(BedrockTurns, LeaveAResultAloneWhereItMustBe) {
  const std::string apart =
      users(result_block) + "," + std::string(dot) + users(R"({"text":"Go on"})") + "]";
  for (const std::string_view model : {llama, std::string_view("writer.palmyra-x5-v1:0"),
                                       std::string_view("mistral.pixtral-large-2502-v1:0")}) {
    EXPECT_TRUE(test::has(behind_result(model, person_speaks), apart))
        << behind_result(model, person_speaks);
  }
  const std::string together = users(std::string(result_block) + R"(,{"text":"Go on"})") + "]";
  for (const std::string_view model : {sonnet, nova}) {
    EXPECT_TRUE(test::has(behind_result(model, person_speaks), together))
        << behind_result(model, person_speaks);
  }
}

TEST(BedrockTurns, GiveAResultOfJsonAsItsTextWhereNoToolsAreOffered) {
  const std::string messages =
      R"([{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":)"
      R"({"toolUseId":"t1","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":)"
      R"({"toolUseId":"t1","content":[{"json":{"e":1}}]}}]}])";
  const std::string body =
      test::body_of(converse(nova, messages, R"("format":"bedrock_converse")"));
  EXPECT_TRUE(test::has(body, R"(answered:"},{"text":"{\"e\":1}"}])")) << body;
  EXPECT_FALSE(test::has(body, R"({"json":)")) << body;
}

TEST(BedrockTurns, PutNoFileBesideAResultForClaude) {
  const std::string read = R"({"text":"Read"},)" + std::string(file_block);
  const std::string apart = users(result_block) + "," + std::string(dot) + users(read) + "]";
  EXPECT_TRUE(test::has(behind_result(sonnet, file_comes), apart))
      << behind_result(sonnet, file_comes);
  // One turn goes on where nothing is refused.
  const std::string two = std::string(file_comes) + "," + std::string(person_speaks);
  EXPECT_TRUE(test::has(behind_result(sonnet, two), users(read + R"(,{"text":"Go on"})")))
      << behind_result(sonnet, two);
  EXPECT_TRUE(
      test::has(behind_result(nova, file_comes), users(std::string(result_block) + "," + read)))
      << behind_result(nova, file_comes);
}

TEST(BedrockTurns, BeginWithTheUserWhereTheyMust) {
  constexpr std::string_view greeted =
      R"([{"role":"assistant","content":"Hello!"},{"role":"user","content":"Bye"}])";
  constexpr std::string_view bare = R"("messages":[{"role":"assistant")";
  for (const std::string_view model :
       {llama, nova, std::string_view("mistral.pixtral-large-2502-v1:0"),
        std::string_view("openai.gpt-oss-120b-1:0")}) {
    const std::string body = test::body_of(converse(model, greeted));
    EXPECT_TRUE(test::has(body, R"("messages":[{"role":"user","content":[{"text":"."}]},)"
                                R"({"role":"assistant","content":[{"text":"Hello!"}]},)"))
        << body;
  }
  for (const std::string_view model :
       {sonnet, std::string_view("qwen.qwen3-32b-v1:0"), std::string_view("zai.glm-4.7"),
        std::string_view("moonshotai.kimi-k2.5")}) {
    const std::string body = test::body_of(converse(model, greeted));
    EXPECT_TRUE(test::has(body, bare)) << body;
  }
}

// "A conversation must have at least one message."
TEST(BedrockTurns, AreNeverNone) {
  for (const std::string_view model : {sonnet, llama, std::string_view("zai.glm-4.7")}) {
    const std::string body =
        test::body_of(converse(model, R"([{"role":"system","content":"Be brief."}])"));
    EXPECT_TRUE(
        test::has(body, R"({"messages":[{"role":"user","content":[{"text":"Be brief."}]}])"))
        << body;
  }
  // A beginning of the answer, which the model does not take, is all there was.
  const std::string begun = test::body_of(
      converse("us.anthropic.claude-opus-4-6-v1", R"([{"role":"assistant","content":"So"}])"));
  EXPECT_TRUE(test::has(begun, R"("messages":[{"role":"user","content":[{"text":"."}]}])"))
      << begun;
}

// "This model doesn't support the status field. Remove status and try again."
TEST(BedrockTurns, SayNoStatusToWriter) {
  constexpr std::string_view failed =
      R"([{"id":"1","role":"user","content":"q"},{"id":"2","role":"assistant","toolCalls":[)"
      R"({"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},)"
      R"({"id":"3","role":"tool","toolCallId":"a","content":"","error":"Broken"}])";
  const std::string more = std::string(look_up) + R"(,"format":"canonical")";
  const std::string writer = test::body_of(converse("writer.palmyra-x5-v1:0", failed, more));
  EXPECT_FALSE(test::has(writer, "status")) << writer;
  EXPECT_TRUE(test::has(writer, R"("content":[{"text":"Broken"}])")) << writer;
  EXPECT_TRUE(test::has(test::body_of(converse(llama, failed, more)), R"("status":"error")"));
}

// A conversation with a call that is answered by a text and by this medium.
std::string answered_by(std::string_view model, std::string_view medium) {
  std::string messages =
      R"([{"id":"1","role":"user","content":"q"},{"id":"2","role":"assistant","toolCalls":[)"
      R"({"id":"abcdefghi","type":"function","function":{"name":"f","arguments":"{}"}}]},)"
      R"({"id":"3","role":"tool","toolCallId":"abcdefghi","content":[)"
      R"({"type":"text","text":"r"},)";
  messages.append(medium).append("]}]");
  return test::body_of(
      converse(model, messages, std::string(look_up) + R"(,"format":"canonical")"));
}

TEST(BedrockTurns, KeepInAResultTheMediaThatMayStandThere) {
  constexpr std::string_view image =
      R"({"type":"image","source":{"type":"data","value":"AAAA","mimeType":"image/png"}})";
  constexpr std::string_view pdf =
      R"({"type":"document","source":{"type":"data","value":"AAAA","mimeType":"application/pdf"}})";
  constexpr std::string_view csv =
      R"({"type":"document","source":{"type":"data","value":"AAAA","mimeType":"text/csv"}})";
  constexpr std::string_view pixtral = "mistral.pixtral-large-2502-v1:0";
  constexpr std::string_view qwen = "qwen.qwen3-vl-235b-a22b";
  constexpr std::string_view kimi = "moonshotai.kimi-k2.5";
  constexpr std::string_view inside = R"("content":[{"text":"r"},{)";
  const auto stays = [&](std::string_view model, std::string_view medium) {
    return test::has(answered_by(model, medium), inside);
  };
  EXPECT_TRUE(stays(sonnet, image) && stays(sonnet, pdf));
  EXPECT_TRUE(stays(llama, image) && stays(llama, pdf));
  EXPECT_TRUE(stays(nova, image) && stays(nova, csv) && stays(pixtral, pdf));
  EXPECT_FALSE(stays(nova, pdf) || stays(pixtral, image) || stays(qwen, image) ||
               stays(kimi, image));
  constexpr std::string_view shown = R"({"image":{"format":"png","source":{"bytes":"AAAA"}}})";
  const std::string behind = users(std::string(result_block) + "," + std::string(shown)) + "]";
  EXPECT_TRUE(test::has(answered_by(qwen, image), behind)) << answered_by(qwen, image);
  const std::string apart = users(result_block) + "," + std::string(dot) + users(shown) + "]";
  EXPECT_TRUE(test::has(answered_by(pixtral, image), apart)) << answered_by(pixtral, image);
}

}  // namespace
}  // namespace millrace
