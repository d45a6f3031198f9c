// What another provider ran is text that names the tool, at the place of the call; to the provider
// itself it is its own block or item.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "message/part_order.hpp"
#include "model/build.hpp"

using namespace millrace;
using test::body_of;
using test::build;
using test::has;
using test::settings_of;

namespace {

Result<model::ChatRequest> vendor_calls_sent(std::string_view provider, std::string_view format,
                                             std::string_view messages,
                                             std::string_view model = "test-model") {
  std::string payload = "{";
  json::append_member(payload, "model", model);
  json::append_raw_member(payload, "messages", messages);
  json::append_member(payload, "format", format);
  const std::string keys = R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"s")";
  return build(settings_of(provider, provider == "bedrock" ? keys : ""), payload + "}");
}

std::vector<std::string> notes_of_calls(const Result<model::ChatRequest>& built) {
  std::vector<std::string> found;
  if (!built) return found;
  for (const model::Note& note : built.value().notes) {
    if (has(note.sentence, "another provider ran")) found.push_back(note.sentence);
  }
  return found;
}

struct RanCase {
  std::string format;
  std::string own;  // the provider
  std::string answer;
  std::vector<std::string> names;
  std::vector<std::string> words;
  std::vector<std::string> secret;
};

std::string turns(const RanCase& row) {
  if (row.format == "openai_conversation") {
    return R"([{"type":"message","role":"user","content":"Ask"},)" + row.answer +
           R"(,{"type":"message","role":"user","content":"Go on"}])";
  }
  if (row.format == "gemini") {
    return R"([{"role":"user","parts":[{"text":"Ask"}]},{"role":"model","parts":[)" + row.answer +
           R"(]},{"role":"user","parts":[{"text":"Go on"}]}])";
  }
  const bool is_bedrock = row.format == "bedrock_converse";
  const std::string ask = is_bedrock ? R"([{"text":"Ask"}])" : R"([{"type":"text","text":"Ask"}])";
  return R"([{"role":"user","content":)" + ask + R"(},{"role":"assistant","content":[)" +
         row.answer + R"(]},{"role":"user","content":)" + ask + "}]";
}

const RanCase ran_cases[] = {
    {"anthropic",
     "anthropic",
     R"({"type":"text","text":"First."},{"type":"server_tool_use","id":"srvtoolu_1","name":)"
     R"("web_search","input":{"query":"rain"}},{"type":"web_search_tool_result","tool_use_id":)"
     R"("srvtoolu_1","content":[{"type":"web_search_result","url":"https://rain.example","title":)"
     R"("Rain","encrypted_content":"SECRET1"}]},{"type":"server_tool_use","id":"srvtoolu_2",)"
     R"("name":"web_fetch","input":{"url":"https://f.example"}},{"type":"web_fetch_tool_result",)"
     R"("tool_use_id":"srvtoolu_2","content":{"type":"web_fetch_result","url":)"
     R"("https://f.example","content":{"type":"document","source":{"type":"base64","media_type":)"
     R"("application/pdf","data":"SECRET2="}}}},{"type":"server_tool_use","id":"srvtoolu_3",)"
     R"("name":"bash_code_execution","input":{"command":"ls"}},{"type":)"
     R"("bash_code_execution_tool_result","tool_use_id":"srvtoolu_3","content":{"type":)"
     R"("bash_code_execution_tool_result_error","error_code":"too_long"}},{"type":"mcp_tool_use",)"
     R"("id":"mcptoolu_1","name":"ask","server_name":"wiki","input":{"q":"x"}},{"type":)"
     R"("mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[{"type":"text",)"
     R"("text":"answered"}]},{"type":"text","text":"Last."})",
     {"web_search", "web_fetch", "bash_code_execution", "ask"},
     {"First.", "rain.example", "https://f.example", "too_long", "of the server wiki", "answered",
      "Last."},
     {"SECRET", "encrypted_content"}},
    {"openai_conversation",
     "openai",
     R"({"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search",)"
     R"("query":"snow"}},{"type":"file_search_call","id":"fs_1","status":"completed","queries":)"
     R"(["terms"],"results":[{"file_id":"f","filename":"n","score":0.5,"text":"passage"}]},)"
     R"({"type":"mcp_call","id":"mcp_1","server_label":"deep","name":"ask","arguments":)"
     R"("{\"q\":1}","output":"answered","error":null},{"type":"shell_call","id":"sh_1",)"
     R"("call_id":"c1","status":"completed","action":{"commands":["ls"]},"environment":{"type":)"
     R"("container_reference","container_id":"cntr_1"}},{"type":"shell_call_output","id":"so_1",)"
     R"("call_id":"c1","output":[{"stdout":"files","stderr":"","outcome":{"type":"exit",)"
     R"("exit_code":0}}]})",
     {"web_search", "file_search", "ask", "shell"},
     {"snow", "terms", "passage", "of the server deep", "answered", "ls", "files"},
     {}},
    {"gemini",
     "google",
     R"({"text":"First."},{"executableCode":{"id":"e1","language":"PYTHON","code":"2**5"}},)"
     R"({"codeExecutionResult":{"id":"e1","outcome":"OUTCOME_OK","output":"thirty-two"}},)"
     R"({"toolCall":{"id":"t1","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["hail"]}},)"
     R"("thoughtSignature":"U0VDUkVU"},{"toolResponse":{"id":"t1","toolType":)"
     R"("GOOGLE_SEARCH_WEB","response":{"hits":1}}},{"text":"Last."})",
     {"code_execution", "GOOGLE_SEARCH_WEB"},
     {"First.", "2**5", "thirty-two", "hail", "hits", "Last."},
     {"U0VDUkVU"}},
    {"bedrock_converse",
     "bedrock",
     R"({"toolUse":{"toolUseId":"tu1","name":"nova_code_interpreter","input":{"snippet":"1+1"},)"
     R"("type":"server_tool_use"}},{"toolResult":{"toolUseId":"tu1","type":"nova_result",)"
     R"("content":[{"json":{"stdOut":"two"}},{"document":{"format":"pdf","name":"plan","source":)"
     R"({"s3Location":{"uri":"s3://b/plan"}}}},{"image":{"format":"png","source":{"bytes":"AAAA"},)"
     R"("error":{"message":"blurred"}}}]}},{"text":"Last."})",
     {"nova_code_interpreter"},
     {"1+1", "stdOut", "two", "document plan s3://b/plan", "blurred", "Last."},
     {}},
};

constexpr std::string_view ran = " ran at the provider.)";

// Whether the words stand in the text in this order.
bool are_in_order(std::string_view text, const std::vector<std::string>& words) {
  std::size_t at = 0;
  for (const std::string& word : words) {
    at = text.find(word, at);
    if (at == std::string_view::npos) return false;
  }
  return true;
}

}  // namespace

TEST(VendorCalls, AreTextThatNamesTheToolToOthers) {
  for (const RanCase& row : ran_cases) {
    for (const char* other :
         {"openai", "anthropic", "google", "bedrock", "mistral", "cohere", "ollama", "groq"}) {
      if (row.own == other) continue;
      const auto built = vendor_calls_sent(other, row.format, turns(row));
      ASSERT_TRUE(built.ok()) << body_of(built);
      const std::string body = body_of(built);
      EXPECT_TRUE(are_in_order(body, row.words)) << row.own << " to " << other << ": " << body;
      for (const std::string& secret : row.secret) EXPECT_FALSE(has(body, secret)) << body;
      for (const char* call : {"tool_calls", "\"tool_use", "functionCall", "toolUse"}) {
        EXPECT_FALSE(has(body, call)) << call << " to " << other << ": " << body;
      }
      const auto notes = notes_of_calls(built);
      ASSERT_EQ(notes.size(), 1U) << other;
      for (const std::string& name : row.names) {
        EXPECT_TRUE(has(body, "(The tool " + name)) << other << ": " << body;
        EXPECT_TRUE(has(notes[0], name)) << notes[0];
      }
    }
  }
}

TEST(VendorCalls, AreTheirOwnBlocksToTheirProvider) {
  for (const RanCase& row : ran_cases) {
    const std::string model = row.own == "openai" ? "gpt-5-pro" : "test-model";
    const auto built = vendor_calls_sent(row.own, row.format, turns(row), model);
    ASSERT_TRUE(built.ok()) << body_of(built);
    EXPECT_FALSE(has(body_of(built), ran)) << body_of(built);
    EXPECT_TRUE(notes_of_calls(built).empty()) << row.own;
  }
}

// The same API at another provider is another provider.
TEST(VendorCalls, AreTextWhereAnotherProviderIssuedThem) {
  const std::string messages =
      R"([{"id":"u","role":"user","content":"Ask"},{"id":"a","role":"assistant","content":"One.",)"
      R"("toolCalls":[{"id":"s1","type":"function","function":{"name":"web_search","arguments":)"
      R"("{}"},"metadata":{"millrace":{"providerState":[{"provider":"millrace","kind":"issuer",)"
      R"("state":"anthropic"},{"provider":"anthropic","kind":"server_tool","state":{"type":)"
      R"("server_tool_use"}}]}}}]},{"id":"r","role":"tool","toolCallId":"s1","content":"found"}])";
  const std::string own = body_of(vendor_calls_sent("anthropic", "canonical", messages));
  EXPECT_TRUE(has(own, R"("type":"server_tool_use")")) << own;
  const auto built = vendor_calls_sent("vertexai", "canonical", messages, "claude-sonnet-4-5");
  EXPECT_TRUE(has(body_of(built), "One.\\n\\n(The tool web_search ran")) << body_of(built);
  EXPECT_FALSE(has(body_of(built), "tool_use")) << body_of(built);
}

// What was said between two calls stands between their texts, also where a call of the host is.
TEST(VendorCalls, StandAtTheirPlaceInARecordedOrder) {
  const auto hash = [](std::string_view text) { return message::PartHash(text); };
  using Kind = message::PartKind;
  std::string order = "[";
  message::append_entry(order, {Kind::text, "a", hash("One.")});
  message::append_entry(order, {Kind::call, "s1", hash("{}")});
  message::append_entry(order, {Kind::result, "s1"});
  message::append_entry(order, {Kind::text, "a", hash("Two.")});
  message::append_entry(order, {Kind::call, "h1", hash("{}")});
  message::append_entry(order, {Kind::text, "a", hash("Three.")});
  message::append_entry(order, {Kind::call, "s2", hash("{}")});
  const std::string state =
      R"("metadata":{"millrace":{"providerState":[{"provider":"anthropic","kind":"server_tool",)"
      R"("state":{"type":"server_tool_use"}}]}})";
  const std::string function =
      R"(,"type":"function","function":{"name":"search","arguments":"{}"})";
  const std::string messages =
      R"([{"id":"u","role":"user","content":"Ask"},{"id":"a","role":"assistant","content":)"
      R"("One.Two.Three.","toolCalls":[{"id":"s1")" +
      function + "," + state + R"(},{"id":"h1","type":"function","function":{"name":"look",)" +
      R"("arguments":"{}"}},{"id":"s2")" + function + "," + state +
      R"(}],"metadata":{"millrace":{"order":)" + order +
      R"(]}}},{"id":"r1","role":"tool","toolCallId":"s1","content":"found"},)" +
      R"({"id":"r2","role":"tool","toolCallId":"h1","content":"looked"}])";
  const auto built = vendor_calls_sent("google", "canonical", messages);
  EXPECT_TRUE(
      are_in_order(body_of(built), {"One.", "(The tool search", "found", "Two.", R"("name":"look")",
                                    "Three.", "(The tool search", "looked"}))
      << body_of(built);
  ASSERT_TRUE(built.ok());
  for (const model::Note& note : built.value().notes) {
    EXPECT_FALSE(has(note.sentence, "recorded order")) << note.sentence;
  }
  // A record that does not fit does not move anything.
  std::string edited = messages;
  edited.replace(edited.find("One.Two"), 3, "Uno");
  const auto other = vendor_calls_sent("google", "canonical", edited);
  EXPECT_TRUE(are_in_order(body_of(other), {"Uno.Two.Three.", "(The tool search", "found",
                                            R"("name":"look")", "looked"}))
      << body_of(other);
}

TEST(VendorCalls, AreCutWhereTheyAreLong) {
  const std::string messages =
      R"([{"type":"message","role":"user","content":"Ask"},{"type":"code_interpreter_call","id":)"
      R"("ci_1","status":"completed","code":"1","container_id":"c","outputs":[{"type":"logs",)"
      R"("logs":")" +
      std::string(100'000, 'x') + R"("}]}])";
  const auto built = vendor_calls_sent("anthropic", "openai_conversation", messages);
  EXPECT_LT(body_of(built).size(), 40'000U);
  EXPECT_TRUE(has(body_of(built), "x (cut)"));
  const auto notes = notes_of_calls(built);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(has(notes[0], "32768 bytes")) << notes[0];
}

// An image that a call made is shown to models that look at images, and named to others.
TEST(VendorCalls, ShowTheImagesThatTheyMade) {
  const std::string call =
      R"([{"type":"message","role":"user","content":"Draw"},{"type":"image_generation_call","id":)"
      R"("ig_1","status":"completed","revised_prompt":"a cat","result":"iVBORw0KGgo="})";
  const std::string messages = call + R"(,{"type":"message","role":"user","content":"Go on"}])";
  for (const char* other : {"anthropic", "google", "openai"}) {
    const auto built = vendor_calls_sent(other, "openai_conversation", messages);
    EXPECT_TRUE(
        are_in_order(body_of(built), {"image_generation", "a cat", "iVBORw0KGgo=", "Go on"}))
        << body_of(built);
    EXPECT_TRUE(has(notes_of_calls(built).at(0), "message of the user: 1.")) << other;
  }
  for (const char* other : {"deepseek", "groq", "mistral", "cohere", "ollama"}) {
    const auto built = vendor_calls_sent(other, "openai_conversation", messages);
    EXPECT_TRUE(are_in_order(body_of(built), {"image_generation", "a cat", "Images: 1", "Go on"}));
    EXPECT_FALSE(has(body_of(built), "iVBORw0KGgo=")) << other;
    EXPECT_TRUE(has(notes_of_calls(built).at(0), "left out: 1.")) << other;
  }
  // Nobody speaks behind it.
  const auto last = vendor_calls_sent("anthropic", "openai_conversation", call + "]");
  EXPECT_FALSE(has(body_of(last), "iVBORw0KGgo=")) << body_of(last);
  EXPECT_TRUE(has(notes_of_calls(last).at(0), "left out: 1."));
}

// The Interactions API has calls that no part of a content shows.
TEST(VendorCalls, WhatTheInteractionsApiRanIsTextForGemini) {
  const std::string messages =
      R"([{"id":"u","role":"user","content":"Ask"},{"id":"a","role":"assistant","content":"Said.",)"
      R"("toolCalls":[{"id":"c1","type":"function","function":{"name":"google_search","arguments":)"
      R"("{\"queries\":[\"hail\"]}"},"metadata":{"millrace":{"providerState":[{"provider":)"
      R"("google","kind":"server_tool","state":{"type":"google_search_call","arguments":{"queries":)"
      R"(["hail"]}}}]}}}]},{"id":"t","role":"tool","toolCallId":"c1","content":"Hail falls."},)"
      R"({"id":"v","role":"user","content":"Go on"}])";
  const auto built = vendor_calls_sent("google", "canonical", messages);
  const std::string body = body_of(built);
  EXPECT_TRUE(has(body, "(The tool google_search ran at the provider.)")) << body;
  EXPECT_TRUE(has(body, "Hail falls.")) << body;
  EXPECT_FALSE(has(body, "executableCode")) << body;
  EXPECT_FALSE(has(body, "functionCall")) << body;
}
