// What Claude's models take of a chat, on Anthropic's API, on Vertex AI and on Bedrock.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/build.hpp"
#include "model/schema/object.hpp"

namespace millrace {
namespace {

constexpr std::string_view aws =
    R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"test-secret")";
constexpr std::string_view bedrock_4_5 = "anthropic.claude-sonnet-4-5-20250929-v1:0";

std::string body_sent(std::string_view provider, std::string_view payload) {
  const bool signs = provider == "bedrock";
  const bool on_vertex = provider == "vertexai";
  return test::body_of(test::build(
      test::settings_of(provider, signs ? aws : (on_vertex ? R"("apiKey":"{}")" : "")), payload));
}

std::string requested(std::string_view provider, std::string_view model,
                      std::string_view more = {}) {
  return body_sent(provider, test::question(model, more));
}

std::string received(std::string_view provider, std::string_view model, std::string_view messages,
                     std::string_view more = {}) {
  std::string payload = "{";
  json::append_member(payload, "model", model);
  json::append_raw_member(payload, "messages", messages);
  payload.append(more.empty() ? "" : ",").append(more);
  return body_sent(provider, payload + "}");
}

TEST(Claude, WritesAsMuchAsTheModelsCardSays) {
  struct Row {
    std::string_view model;
    std::string_view more;
    std::string_view limit;
  };
  for (const Row& row : {
           Row{"claude-sonnet-4-5", "", "64000"},
           Row{"claude-sonnet-4-5-20250929", "", "64000"},
           Row{"claude-opus-5", "", "128000"},
           Row{"claude-opus-5-5", "", "128000"},
           Row{"claude-sonnet-5-5", "", "128000"},
           Row{"claude-haiku-5-5", "", "128000"},
           Row{"claude-3-haiku-20240307", "", "4096"},
           Row{"claude-3-haiku-20240307", R"("max_tokens":8192)", "4096"},
           Row{"claude-sonnet-4-5", R"("max_tokens":100)", "100"},
           Row{"claude-of-tomorrow", "", "32000"},
           Row{"claude-of-tomorrow", R"("thinking":{"type":"adaptive"})", "32000"},
           Row{"claude-of-tomorrow", R"("max_tokens":200000)", "200000"},
       }) {
    const std::string body = requested("anthropic", row.model, row.more);
    EXPECT_TRUE(test::has(body, "\"max_tokens\":" + std::string(row.limit) + ",")) << body;
  }
  const auto cut = test::build(test::settings_of("anthropic"),
                               test::question("claude-3-haiku", R"("max_tokens":5000)"));
  ASSERT_TRUE(cut);
  ASSERT_EQ(cut.value().notes.size(), 1U);
  EXPECT_EQ(cut.value().notes[0].what, "max_tokens");
}

constexpr std::string_view beginning =
    R"([{"role":"user","content":"q"},{"role":"assistant","content":"Pre: \n\t"}])";

TEST(Claude, GetsTheBeginningOfItsAnswerWithoutSpaceAtItsEnd) {
  EXPECT_TRUE(
      test::has(received("anthropic", "claude-sonnet-4-5", beginning), R"("text":"Pre:"})"));
  EXPECT_TRUE(test::has(received("bedrock", bedrock_4_5, beginning), R"({"text":"Pre:"})"));
  const std::string parts = received(
      "anthropic", "claude-sonnet-4-5",
      R"([{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"a "},)"
      R"({"type":"text","text":"b "}]}])");
  EXPECT_TRUE(test::has(parts, R"(b"})") && test::has(parts, "a ")) << parts;
  // Only the last message is a beginning.
  EXPECT_TRUE(
      test::has(received("anthropic", "claude-sonnet-4-5",
                         R"([{"role":"user","content":"q"},{"role":"assistant","content":"A "},)"
                         R"({"role":"user","content":"r "}])"),
                R"("text":"A "})"));
}

TEST(Claude, GetsNoBeginningOfItsAnswerWhileItThinks) {
  constexpr std::string_view thinking = R"("thinking":{"type":"enabled","budget_tokens":1024})";
  constexpr std::string_view reasoning_part =
      R"([{"id":"1","role":"user","content":"q"},{"id":"2","role":"reasoning","content":"t",)"
      R"("encryptedValue":"{\"anthropic\":{\"signature\":\"s\"},\"bedrock\":{\"signature\":\"s\"}}"},)"
      R"({"id":"3","role":"assistant","content":"half"}])";
  for (const std::string_view messages : {beginning, reasoning_part}) {
    for (const auto& [provider, model] :
         {std::pair<std::string_view, std::string_view>{"anthropic", "claude-sonnet-4-5"},
          {"bedrock", bedrock_4_5}}) {
      const std::string body = received(provider, model, messages, thinking);
      EXPECT_TRUE(test::has(body, R"("role":"user")")) << body;
      EXPECT_FALSE(test::has(body, R"("role":"assistant")")) << body;
    }
  }
  // Bedrock refuses what Anthropic refuses.
  EXPECT_FALSE(test::has(received("bedrock", "anthropic.claude-opus-4-6-v1", beginning), "Pre:"));
}

constexpr std::string_view claudes_tool =
    R"("tools":[{"type":"function","function":{"name":"w","strict":true,"parameters":{"type":)"
    R"("object","properties":{}}}}],"tool_choice":"required")";

TEST(Claude, IsNotMadeToCallWhereItAlwaysThinks) {
  EXPECT_TRUE(test::has(requested("bedrock", "us.anthropic.claude-opus-5-5-v1:0", claudes_tool),
                        R"("toolChoice":{"auto":{}})"));
  EXPECT_TRUE(
      test::has(requested("bedrock", bedrock_4_5, claudes_tool), R"("toolChoice":{"any":{}})"));
  const std::string is_thinking = std::string(claudes_tool) + R"(,"thinking":{"type":"enabled"})";
  EXPECT_TRUE(
      test::has(requested("bedrock", bedrock_4_5, is_thinking), R"("toolChoice":{"auto":{}})"));
}

// Sources: https://platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5,
// .../models/opus-5/overview, and AI SDK's table of Claude's models (2026-11).
TEST(Claude, IsToldNotToThinkAsItsModelTakesIt) {
  constexpr std::string_view demand =
      R"("tools":[{"name":"f","parameters":{"type":"object"}}],"tool_choice":"required")";
  constexpr std::string_view off = R"("thinking":{"type":"disabled"})";
  struct Row {
    std::string_view model;
    std::string_view thinking;
    bool is_made_to_call;
    std::string_view effort;
  };
  for (const Row& row : {
           Row{"claude-opus-5-5", "", false, "max"},
           Row{"claude-fable-5-1", "", false, "max"},
           Row{"claude-fable-5", "", true, "max"},
           Row{"claude-sonnet-5-5", "between_tools", false, "high"},
           Row{"claude-haiku-5-5", "disabled", true, "high"},
           Row{"claude-opus-5", "disabled", true, "high"},
           Row{"claude-opus-4-8", "disabled", true, "max"},
       }) {
    const std::string body = requested("anthropic", row.model, off);
    const std::string thinking = R"("thinking":{"type":")" + std::string(row.thinking) + "\"}";
    EXPECT_EQ(test::has(body, row.thinking.empty() ? R"("thinking")" : thinking),
              !row.thinking.empty())
        << body;
    const std::string called = requested("anthropic", row.model, demand);
    EXPECT_EQ(test::has(called, R"("tool_choice":{"type":"any")"), row.is_made_to_call) << called;
    const std::string hard =
        requested("anthropic", row.model, std::string(off) + R"(,"reasoning_effort":"max")");
    EXPECT_TRUE(test::has(hard, R"("effort":")" + std::string(row.effort) + '"')) << hard;
    EXPECT_TRUE(test::has(requested("anthropic", row.model, R"("reasoning_effort":"max")"),
                          R"("effort":"max")"));
  }
}

// A search without hits has a list, which a text in its place is not.
TEST(Claude, GetsTheEmptyResultOfItsOwnToolAsItCame) {
  const std::string body = body_sent(
      "anthropic",
      R"({"model":"claude-opus-5","format":"canonical","messages":[{"id":"q","role":"user","content":"a"},)"
      R"({"id":"a","role":"assistant","toolCalls":[{"id":"srvtoolu_1","type":"function","function":)"
      R"({"name":"web_search","arguments":"{}"},"metadata":{"millrace":{"providerState":[)"
      R"({"provider":"anthropic","kind":"server_tool","state":{"type":"server_tool_use"}},)"
      R"({"provider":"anthropic","kind":"server_tool_result","state":{"type":"web_search_tool_result",)"
      R"("content":[]}}]}}}]},)"
      R"({"id":"t","role":"tool","toolCallId":"srvtoolu_1","content":""},)"
      R"({"id":"z","role":"user","content":"go"}]})");
  EXPECT_TRUE(
      test::has(body, R"("type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[])"))
      << body;
  EXPECT_FALSE(test::has(body, "empty_content")) << body;
}

// A search that was cut off: Claude rejects the call where its answer cannot go on.
TEST(Claude, GetsAnOpenCallOfItsOwnToolOnlyInTheLastAnswer) {
  const std::string state = R"("metadata":{"millrace":{"providerState":[{"provider":"anthropic",)"
                            R"("kind":"server_tool","state":{"type":"server_tool_use"}}]}}})";
  const auto call = [&](std::string_view id) {
    return R"({"id":")" + std::string(id) + R"(","type":"function","function":{"name":)" +
           R"("web_search","arguments":"{}"},)" + state;
  };
  const std::string turn =
      R"({"model":"claude-opus-5","format":"canonical","messages":[{"id":"q","role":"user",)"
      R"("content":"a"},{"id":"a","role":"assistant","content":"Found.","toolCalls":[)" +
      call("srvtoolu_d") + "," + call("srvtoolu_a") +
      R"(]},{"id":"t","role":"tool","toolCallId":"srvtoolu_d","content":"hit"})";
  const std::string open = body_sent("anthropic", turn + "]}");
  EXPECT_TRUE(test::has(open, R"("id":"srvtoolu_a")")) << open;
  const auto built = test::build(test::settings_of("anthropic"),
                                 turn + R"(,{"id":"z","role":"user","content":"go"}]})");
  const std::string passed = test::body_of(built);
  EXPECT_TRUE(test::has(passed, R"("id":"srvtoolu_d")")) << passed;
  EXPECT_FALSE(test::has(passed, "srvtoolu_a")) << passed;
  ASSERT_TRUE(built.ok());
  EXPECT_TRUE(std::any_of(built.value().notes.begin(), built.value().notes.end(),
                          [](const model::Note& note) {
                            return test::has(note.sentence, "\"srvtoolu_a\" was left out");
                          }));
}

TEST(Claude, GetsStrictToolsWhereItTakesSchemas) {
  struct Row {
    std::string_view provider;
    std::string_view model;
    bool strict;
  };
  for (const Row& row : {
           Row{"anthropic", "claude-sonnet-4-5", true},
           Row{"anthropic", "claude-sonnet-5", true},
           Row{"anthropic", "claude-sonnet-4-20250514", false},
           Row{"bedrock", bedrock_4_5, true},
           Row{"bedrock", "us.anthropic.claude-sonnet-5-v1:0", false},
           Row{"bedrock", "anthropic.claude-3-haiku-20240307-v1:0", false},
           Row{"vertexai", "claude-sonnet-4-5", false},
       }) {
    const std::string body = requested(row.provider, row.model, claudes_tool);
    EXPECT_TRUE(test::has(body, R"("name":"w")")) << body;
    EXPECT_EQ(test::has(body, R"("strict":true)"), row.strict) << row.provider << ' ' << body;
  }
}

constexpr std::string_view format =
    R"("response_format":{"type":"json_schema","json_schema":{"name":"o","schema":{"type":)"
    R"("object","properties":{"a":{"type":"array","items":{"type":"string"},"maxItems":3}}}}})";

// Bounds and open objects are refused; what was a bound is told.
TEST(Claude, GetsASchemaThatItTakes) {
  const std::string body = requested("anthropic", "claude-sonnet-4-5", format);
  EXPECT_TRUE(test::has(body, R"("output_config":{"format":{"type":"json_schema","schema":)"))
      << body;
  EXPECT_TRUE(test::has(body, R"("additionalProperties":false)") &&
              test::has(body, "[maxItems: 3]"))
      << body;
  EXPECT_FALSE(test::has(body, R"("maxItems")")) << body;
  const std::string amazon = requested("bedrock", bedrock_4_5, format);
  EXPECT_TRUE(test::has(amazon, R"("outputConfig":{"textFormat")")) << amazon;
  EXPECT_TRUE(test::has(amazon, R"(\"additionalProperties\":false)")) << amazon;
}

TEST(Claude, IsToldOfASchemaThatItDoesNotTake) {
  constexpr std::string_view prompt = "Answer with one JSON value that follows this JSON Schema";
  for (const auto& [provider, model] :
       {std::pair<std::string_view, std::string_view>{"anthropic", "claude-sonnet-4-20250514"},
        {"anthropic", "claude-3-haiku"},
        {"vertexai", "claude-sonnet-4-5"},
        {"bedrock", "us.anthropic.claude-sonnet-5-v1:0"},
        {"bedrock", "anthropic.claude-3-haiku-20240307-v1:0"},
        {"bedrock", "amazon.nova-lite-v1:0"}}) {
    const std::string body = requested(provider, model, format);
    EXPECT_TRUE(test::has(body, prompt) && test::has(body, R"(\"maxItems\":3)")) << body;
    EXPECT_FALSE(test::has(body, "output_config") || test::has(body, "outputConfig")) << body;
  }
  // So is one that refers to itself, which the API does not take from any model.
  const std::string open = requested(
      "anthropic", "claude-sonnet-4-5",
      R"("response_format":{"type":"json_schema","json_schema":{"name":"o","schema":{"type":)"
      R"("object","properties":{"next":{"$ref":"#"}}}}})");
  EXPECT_TRUE(test::has(open, prompt) && !test::has(open, "output_config")) << open;
  // Behind the prompts of the conversation.
  const std::string both = received(
      "anthropic", "claude-3-haiku",
      R"([{"role":"system","content":"Be brief."},{"role":"user","content":"q"}])", format);
  EXPECT_LT(both.find("Be brief."), both.find(prompt)) << both;
  EXPECT_LT(both.find(prompt), both.find(R"("messages":[)")) << both;
}

std::string mode_of(std::string_view provider, std::string_view model) {
  auto config = model::read_config(test::settings_of(provider, provider == "bedrock" ? aws : ""));
  if (!config) return "refused";
  std::string request = "{";
  json::append_member(request, "model", model);
  json::append_raw_member(request, "schema",
                          R"({"type":"object","properties":{"a":{"type":"string"}}})");
  const auto plan = model::plan_object(config.value(), request + "}");
  json::Document document;
  if (!plan || !document.parse(plan.value())) return "refused";
  return std::string(document.parse(plan.value()).value()["mode"].string());
}

TEST(Claude, IsAskedForAnObjectByWordsWhereNoToolCanBeForced) {
  EXPECT_EQ(mode_of("bedrock", "us.anthropic.claude-opus-5-5-v1:0"), "json");
  EXPECT_EQ(mode_of("bedrock", "us.anthropic.claude-sonnet-5-v1:0"), "tool");
  EXPECT_EQ(mode_of("anthropic", "claude-opus-5-5"), "schema");
  EXPECT_EQ(mode_of("anthropic", "claude-sonnet-4-20250514"), "tool");
  EXPECT_EQ(mode_of("anthropic", "claude-sonnet-4-5"), "schema");
}

net::Request request_sent(std::string_view payload, std::string_view settings = {}) {
  auto built = test::build(test::settings_of("anthropic", settings), payload);
  return built ? std::move(built.value().request) : net::Request{};
}

std::string betas_of(std::string_view more, std::string_view settings = {}) {
  return test::header_of(request_sent(test::question("claude-opus-5", more), settings),
                         "anthropic-beta");
}

// Blocks of an answer that was made with a beta are known with it alone.
TEST(Claude, SendsTheBetasOfBlocksOfItsHistory) {
  struct Row {
    std::string_view blocks;
    std::string_view betas;
  };
  for (
      const Row& row : {
          Row{R"({"type":"text","text":"Yes."})", ""},
          Row{R"({"type":"fallback","from":{"model":"a"},"to":{"model":"b"}},)"
              R"({"type":"text","text":"Yes."})",
              "server-side-fallback-2026-07-01"},
          Row{R"({"type":"compaction","content":"Sum."},{"type":"text","text":"Yes."})",
              "compact-2026-01-12"},
          Row{R"({"type":"mcp_tool_use","id":"mcptoolu_1","name":"f","server_name":"s","input":{}},)"
              R"({"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[]})",
              "mcp-client-2025-11-20"},
          Row{R"({"type":"server_tool_use","id":"srvtoolu_1","name":"advisor","input":{}},)"
              R"({"type":"advisor_tool_result","tool_use_id":"srvtoolu_1","content":)"
              R"({"type":"advisor_result","text":"Do."}})",
              "advisor-tool-2026-03-01"},
      }) {
    std::string payload =
        R"({"model":"claude-opus-5","format":"anthropic","messages":[{"role":"user","content":"Hi"},)"
        R"({"role":"assistant","content":[)";
    payload.append(row.blocks).append(R"(]},{"role":"user","content":"Go on"}]})");
    EXPECT_EQ(test::header_of(request_sent(payload), "anthropic-beta"), row.betas) << row.blocks;
  }
}

// The API rejects a call of a program that the request does not have.
TEST(Claude, LeavesOutTheCallerOfACallWhoseProgramIsLeftOut) {
  const auto sent = [](std::string_view more) {
    std::string payload =
        R"({"model":"claude-opus-5","format":"anthropic","messages":[{"role":"user","content":"Hi"},)"
        R"({"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":)"
        R"("code_execution","input":{}},{"type":"tool_use","id":"toolu_1","name":"f","input":{},)"
        R"("caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}]},{"role":"user",)"
        R"("content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1"}]})";
    payload.append(more).append("]}");
    return request_sent(payload).body;
  };
  const std::string waiting = sent("");
  EXPECT_TRUE(test::has(waiting, R"("id":"srvtoolu_1")")) << waiting;
  EXPECT_TRUE(test::has(waiting, R"("tool_id":"srvtoolu_1")")) << waiting;
  const std::string further = sent(
      R"(,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"f","input":{},)"
      R"("caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}]},{"role":"user",)"
      R"("content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"2"}]})");
  EXPECT_TRUE(test::has(further, R"("id":"srvtoolu_1")")) << further;
  const std::string over = sent(R"(,{"role":"assistant","content":[{"type":"text","text":"So."}]},)"
                                R"({"role":"user","content":"Go on"})");
  EXPECT_FALSE(test::has(over, "srvtoolu_1")) << over;
  EXPECT_TRUE(test::has(over, R"("id":"toolu_1")")) << over;
}

// What is behind a beta header fails without it.
TEST(Claude, SendsTheBetasThatARequestNeeds) {
  struct Row {
    std::string_view more;
    std::string_view betas;
  };
  for (const Row& row : {
           Row{"", ""},
           Row{R"("mcp_servers":[{"type":"url","url":"https://e.com/mcp","name":"e"}])",
               "mcp-client-2025-11-20"},
           Row{R"("context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]})",
               "context-management-2025-06-27"},
           Row{R"("context_management":{"edits":[{"type":"compact_20260112"}]})",
               "context-management-2025-06-27,compact-2026-01-12"},
           Row{R"("tools":[{"type":"computer_20250124","name":"computer"}])",
               "computer-use-2025-01-24"},
           Row{R"("tools":[{"type":"web_search_20250305","name":"web_search"}])", ""},
           Row{R"("tools":[{"type":"advisor_20260301","name":"advisor"}])",
               "advisor-tool-2026-03-01"},
           Row{R"("thinking":{"type":"adaptive","display":"updates"})",
               "thinking-display-updates-2026-08-18"},
           Row{R"("thinking":{"type":"adaptive","display":"omitted"})", ""},
           Row{R"("container":{"skills":[{"type":"anthropic","skill_id":"pptx"}]})",
               "code-execution-2025-08-25,skills-2025-10-02"},
           Row{R"("output_config":{"task_budget":{"type":"tokens","total":20000}})",
               "task-budgets-2026-03-13"},
           Row{R"("fallbacks":[{"model":"claude-opus-4-8"}])", "server-side-fallback-2026-07-01"},
           Row{R"("fallback_credit_token":"t","betas":["fallback-credit-2026-06-01"])",
               "fallback-credit-2026-06-01"},
           Row{R"("fallback_credit_token":"t")", "fallback-credit-2026-07-01"},
           Row{R"("speed":"fast")", "fast-mode-2026-02-01"},
           Row{R"("betas":["a","b"],"anthropic_beta":["b","c"])", "a,b,c"},
       }) {
    EXPECT_EQ(betas_of(row.more), row.betas) << row.more;
  }
  const net::Request merged = request_sent(test::question("claude-opus-5", R"("betas":["b","c"])"),
                                           R"("headers":{"Anthropic-Beta":"a, b"})");
  EXPECT_EQ(test::header_of(merged, "Anthropic-Beta"), "a,b,c");
  EXPECT_FALSE(test::has(merged.body, "betas"));
  const net::Request file = request_sent(
      R"({"model":"claude-opus-5","messages":[{"role":"user","content":[
      {"type":"file","file":{"file_id":"file_1"}},{"type":"text","text":"Sum it up."}]}]})");
  EXPECT_TRUE(test::has(file.body, R"("source":{"type":"file","file_id":"file_1"})")) << file.body;
  EXPECT_EQ(test::header_of(file, "anthropic-beta"), "files-api-2025-04-14");
  const net::Request added = request_sent(
      R"({"model":"claude-opus-5","format":"anthropic","messages":[{"role":"user","content":"Hi"},
      {"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference",
      "name":"look"}}]},{"role":"user","content":"Go on"}]})");
  EXPECT_EQ(test::header_of(added, "anthropic-beta"), "mid-conversation-tool-changes-2026-07-01");
  const net::Request turn = request_sent(
      R"({"model":"claude-opus-5","format":"anthropic","messages":[{"role":"user","content":"Hi"},
      {"role":"system","content":"Be brief.","clear_at":"next_user_message"},
      {"role":"system","output_config":{"effort":"low"}},{"role":"user","content":"Go on"}]})");
  EXPECT_TRUE(test::has(turn.body, R"("content":"Be brief.","clear_at":"next_user_message"})"))
      << turn.body;
  EXPECT_TRUE(test::has(turn.body, R"({"role":"system","output_config":{"effort":"low"}})"))
      << turn.body;
  EXPECT_EQ(test::header_of(turn, "anthropic-beta"),
            "mid-conversation-system-clear-at-2026-08-21,"
            "mid-conversation-output-config-2026-07-01");
}

constexpr std::string_view reasoning_before = R"([{"role":"user","content":"Hi"},
    {"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"sig"},
    {"type":"text","text":"Hello"}]},{"role":"user","content":"And now?"}])";

// A changed instruction, a further tool or a shortened history before a thought is no failure.
TEST(Claude, LetsTheApiLeaveThoughtsOutThatAreBoundToAnotherHistory) {
  constexpr std::string_view drops = R"("block_binding":{"prefix_mismatch_behavior":"drop_block"})";
  for (const std::string_view model :
       {"claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"}) {
    std::string payload = R"({"model":")" + std::string(model) + R"(","messages":)";
    payload.append(reasoning_before).append("}");
    const net::Request request = request_sent(payload);
    EXPECT_TRUE(test::has(request.body, R"("signature":"sig")")) << request.body;
    EXPECT_TRUE(test::has(request.body, drops)) << request.body;
    EXPECT_EQ(test::header_of(request, "anthropic-beta"), "thinking-binding-controls-2026-08-01");
    EXPECT_FALSE(test::has(requested("anthropic", model), "block_binding"));
  }
  EXPECT_FALSE(
      test::has(received("anthropic", "claude-opus-5", reasoning_before), "block_binding"));
  const std::string chosen = received("anthropic", "claude-fable-5-1", reasoning_before,
                                      R"("thinking":{"type":"adaptive","display":"summarized",)"
                                      R"("block_binding":{"prefix_mismatch_behavior":"error"}})");
  EXPECT_TRUE(test::has(chosen, R"("thinking":{"type":"adaptive","display":"summarized",)"
                                R"("block_binding":{"prefix_mismatch_behavior":"error"}})"))
      << chosen;
}

}  // namespace
}  // namespace millrace
