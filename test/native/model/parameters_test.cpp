// Parameters of a payload and of settings: each reaches the body of the vendor that documents it,
// or is noted.
#include <gtest/gtest.h>

#include <array>

#include "model/expected_requests.hpp"

using namespace millrace;
using test::has;

namespace {

std::string sent(std::string_view provider, std::string_view model, std::string_view more,
                 std::string_view settings = {}) {
  return test::body_of(
      test::build(test::settings_of(provider, settings), test::question(model, more)));
}

std::string noted(const Result<model::ChatRequest>& built) {
  if (!built) return built.error().message;
  std::string text;
  for (const model::Note& note : built.value().notes) {
    text.append(note.what).append(": ").append(note.sentence).append("\n");
  }
  return text;
}

Result<model::ChatRequest> fallback(std::string_view provider, std::string_view payload) {
  CountingIds ids("id-");
  auto config = model::read_config(test::settings_of(provider));
  auto read = model::read_payload(payload, ids);
  return model::build_chat(config.value(), read.value(), ids, {test::test_time, 0, "token"}, true);
}

struct Row {
  std::string_view provider;
  std::string_view model;
  std::string_view given;
  std::string_view sent;
};

TEST(Parameters, OfTheVendorsTypesReachItsBody) {
  constexpr std::array rows{
      Row{"anthropic", "claude-sonnet-4-5", R"("output_config":{"task_budget":{"total":9}})",
          R"("output_config":{"task_budget":{"total":9}})"},
      Row{"anthropic", "claude-sonnet-4-5", R"("speed":"fast")", R"("speed":"fast")"},
      Row{"anthropic", "claude-sonnet-4-5", R"("stop_sequences":["x"])",
          R"("stop_sequences":["x"])"},
      Row{"openai", "gpt-4.1", R"("prompt_cache_options":{"mode":"implicit"})",
          R"("prompt_cache_options":{"mode":"implicit"})"},
      Row{"gemini", "gemini-3-pro-preview", R"("serviceTier":"flex")", R"("serviceTier":"flex")"},
      Row{"gemini", "gemini-3-pro-preview", R"("mediaResolution":"MEDIA_RESOLUTION_LOW")",
          R"("mediaResolution":"MEDIA_RESOLUTION_LOW")"},
      Row{"gemini", "gemini-3-pro-preview",
          R"("toolConfig":{"retrievalConfig":{"languageCode":"de"}})",
          R"("toolConfig":{"retrievalConfig":{"languageCode":"de"}})"},
      Row{"gemini", "gemini-3-pro-preview",
          R"("temperature":0.5,"generationConfig":{"temperature":0.1,"seed":3})",
          R"("generationConfig":{"temperature":0.5,)"},
      Row{"ollama", "llama3", R"("temperature":0.5,"options":{"mirostat":2})",
          R"("options":{"temperature":0.5,"mirostat":2})"},
      Row{"ollama", "llama3", R"("think":true)", R"("think":true)"},
      Row{"bedrock", "anthropic.claude-opus-4-6-v1", R"("serviceTier":{"type":"flex"})",
          R"("serviceTier":{"type":"flex"})"},
      Row{"bedrock", "openai.gpt-oss-120b-1:0", R"("outputConfig":{"effort":"low"})",
          R"("outputConfig":{"effort":"low"})"},
      Row{"mistral", "mistral-large", R"("guardrails":[])", R"("guardrails":[])"},
      Row{"gemini", "gemini-2.5-pro", R"("topP":0.5,"stopSequences":["x"])",
          R"("topP":0.5,"stopSequences":["x"])"},
      Row{"gemini", "gemini-2.5-pro", R"("thinkingConfig":{"includeThoughts":false})",
          R"("thinkingConfig":{"includeThoughts":false})"},
      Row{"gemini", "gemini-2.5-pro",
          R"("tools":[{"googleSearch":{},"functionDeclarations":[{"name":"look"}]}])",
          R"("tools":[{"googleSearch":{},"functionDeclarations":[{"name":"look"}]}])"},
      Row{"openai", "gpt-4.1-mini", R"("apiMode":"chatCompletion","top_logprobs":2)",
          R"("logprobs":true,"top_logprobs":2)"},
      Row{"anthropic", "claude-sonnet-4-5", R"("system":"Be brief.")", R"("system":"Be brief.")"},
      Row{"anthropic", "claude-sonnet-4-5",
          R"("system":[{"type":"text","text":"A","cache_control":{"type":"ephemeral","ttl":"1h"}}])",
          R"("system":[{"type":"text","text":"A","cache_control":{"type":"ephemeral","ttl":"1h"}}])"},
      Row{"anthropic", "claude-sonnet-4-5", R"("diagnostics":{"previous_message_id":"m"})",
          R"("diagnostics":{"previous_message_id":"m"})"},
      Row{"anthropic", "claude-sonnet-4-5", R"("user_profile_id":"u")", R"("user_profile_id":"u")"},
      Row{"anthropic", "claude-sonnet-4-5", R"("workspace_id":"w")", R"("workspace_id":"w")"},
      Row{"anthropic", "claude-sonnet-5-5", R"("thinking":{"type":"between_tools"})",
          R"("thinking":{"type":"between_tools"})"},
      Row{"anthropic", "claude-sonnet-4-5",
          R"("tools":[{"type":"web_search_20250305","name":"web_search"}],)"
          R"("tool_choice":{"type":"tool","name":"web_search"})",
          R"("tool_choice":{"type":"tool","name":"web_search"})"},
      Row{"gemini", "gemini-3-pro-preview",
          R"("responseModalities":["AUDIO"],"speechConfig":{"languageCode":"de"})",
          R"("responseModalities":["AUDIO"],"speechConfig":{"languageCode":"de"})"},
      Row{"gemini", "gemini-3-pro-preview", R"("imageConfig":{"imageSize":"1K"})",
          R"("imageConfig":{"imageSize":"1K"})"},
      Row{"gemini", "gemini-3-pro-preview", R"("modelArmorConfig":{"promptTemplateName":"p"})",
          R"("modelArmorConfig":{"promptTemplateName":"p"})"},
      Row{"gemini", "gemini-3-pro-preview",
          R"("tools":[{"mcpServers":[{"name":"m","streamableHttpTransport":{"url":"u"}}]}])",
          R"("tools":[{"mcpServers":[{"name":"m","streamableHttpTransport":{"url":"u"}}]}])"},
      Row{"gemini", "gemini-3-pro-preview",
          R"("tools":[{"functionDeclarations":[{"name":"f","behavior":"NON_BLOCKING",)"
          R"("response":{"type":"OBJECT"}}]}])",
          R"([{"name":"f","behavior":"NON_BLOCKING","response":{"type":"OBJECT"}}])"},
      Row{"ollama", "llama3", R"("options":{"num_thread":2})", R"("options":{"num_thread":2})"},
      Row{"openai", "gpt-4.1-mini", R"("apiMode":"chatCompletion","system":"Be brief.")",
          R"("messages":[{"role":"system","content":"Be brief."},)"},
  };
  for (const Row& row : rows) {
    const std::string body = sent(row.provider, row.model, row.given);
    EXPECT_TRUE(has(body, row.sent)) << row.provider << ": " << row.given << "\n" << body;
  }
}

TEST(Parameters, OfResponsesReachItsBody) {
  constexpr std::string_view mode = R"("apiMode":"responses",)";
  constexpr std::array rows{
      Row{"openai", "gpt-5", R"("prompt":{"id":"p"})", R"("prompt":{"id":"p"})"},
      Row{"openai", "gpt-5", R"("reasoning":{"effort":"low","context":"auto"})",
          R"("reasoning":{"effort":"low","context":"auto"})"},
      Row{"openai", "gpt-5", R"("reasoning":{"effort":"low","generate_summary":"auto"})",
          R"("reasoning":{"effort":"low","generate_summary":"auto"})"},
      Row{"openai", "gpt-4.1", R"("top_logprobs":3)", R"("top_logprobs":3)"},
      Row{"openai", "gpt-5",
          R"("text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}})",
          R"("text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}})"},
  };
  for (const Row& row : rows) {
    const std::string body =
        sent(row.provider, row.model, std::string(mode) + std::string(row.given));
    EXPECT_TRUE(has(body, row.sent)) << row.given << "\n" << body;
  }
}

TEST(Parameters, OfOtherVendorsAreNoted) {
  const auto built = test::build(test::settings_of("anthropic"),
                                 test::question("claude-sonnet-4-5", R"("safetySettings":[])"));
  EXPECT_FALSE(has(test::body_of(built), "safetySettings"));
  EXPECT_TRUE(has(noted(built), "safetySettings: The member belongs to another API"))
      << noted(built);
}

TEST(Parameters, ThatNoVendorDocumentsGoToTheFirstProviderAlone) {
  const std::string payload = test::question("gpt-4.1", R"("brand_new":{"a":1})");
  EXPECT_TRUE(has(test::body_of(test::build(test::settings_of("openai"), payload)),
                  R"("brand_new":{"a":1})"));
  const auto second = fallback("openai", payload);
  EXPECT_FALSE(has(test::body_of(second), "brand_new"));
  EXPECT_TRUE(has(noted(second), "brand_new: No API documents the member")) << noted(second);
}

TEST(Parameters, ThinkingBetweenCallsIsNoneWhereAModelCannot) {
  constexpr std::string_view between = R"("thinking":{"type":"between_tools"})";
  const auto haiku =
      test::build(test::settings_of("anthropic"), test::question("claude-haiku-5-5", between));
  EXPECT_TRUE(has(test::body_of(haiku), R"("thinking":{"type":"disabled"})"));
  EXPECT_TRUE(has(noted(haiku), "thinking: The model does not think between its calls alone."));
  const auto glm = test::build(test::settings_of("zhipu"), test::question("glm-4.6", between));
  EXPECT_TRUE(has(test::body_of(glm), R"("thinking":{"type":"disabled"})")) << test::body_of(glm);
  EXPECT_TRUE(has(noted(glm), "thinking: Only models of Anthropic")) << noted(glm);
}

TEST(Parameters, OfThinkingThatNoApiKnowsAreNoted) {
  constexpr std::string_view more = R"("thinking":{"type":"enabled","keep":"all","effort":"low"})";
  const auto kimi = test::build(test::settings_of("moonshot"), test::question("kimi-k2.6", more));
  EXPECT_TRUE(has(noted(kimi), "thinking.keep: ")) << noted(kimi);
  const auto claude = test::build(
      test::settings_of("anthropic"),
      test::question("claude-sonnet-5-5", R"("thinking":{"type":"adaptive","effort":"low"})"));
  EXPECT_TRUE(has(test::body_of(claude), R"("effort":"low")")) << test::body_of(claude);
  EXPECT_FALSE(has(noted(claude), "thinking.effort")) << noted(claude);
}

TEST(Parameters, OfTheWrongTypeAreRejected) {
  for (const std::string_view wrong :
       {R"("thinking":"adaptive")", R"("reasoning":"low")", R"("text":5)",
        R"("thinkingBudget":"x")", R"("parallel_tool_calls":"x")", R"("logprobs":"x")",
        R"("temperature":"hot")", R"("tools":[5])", R"("stop":5)", R"("stream":"x")"}) {
    CountingIds ids("id-");
    const auto read = model::read_payload(test::question("gpt-4.1", wrong), ids);
    ASSERT_FALSE(read.ok()) << wrong;
    EXPECT_EQ(read.error().code, Errc::invalid_body) << wrong;
  }
}

TEST(Parameters, ThatAreOverruledAreNoted) {
  struct Overruled {
    std::string_view provider;
    std::string_view model;
    std::string_view given;
    std::string_view note;
  };
  constexpr std::array rows{
      Overruled{"gemini", "gemini-3-pro-preview",
                R"("temperature":0.5,"generationConfig":{"temperature":0.1})",
                "generationConfig.temperature: "},
      Overruled{"ollama", "llama3", R"("think":true,"reasoning_effort":"none")", "think: "},
      Overruled{"gemini", "gemini-2.5-flash-image",
                R"("imageAspectRatio":"1:1","imageConfig":{"imageSize":"1K"})", "imageConfig: "},
      Overruled{"anthropic", "claude-sonnet-4-5", R"("reasoning":{"context":"auto"})",
                "reasoning: "},
  };
  for (const Overruled& row : rows) {
    const auto built =
        test::build(test::settings_of(row.provider), test::question(row.model, row.given));
    EXPECT_TRUE(has(noted(built), row.note)) << row.given << "\n" << noted(built);
  }
  const auto same =
      test::build(test::settings_of("gemini"),
                  test::question("gemini-3-pro-preview",
                                 R"("temperature":0.5,"generationConfig":{"temperature":0.50})"));
  EXPECT_EQ(noted(same), "");
}

TEST(Parameters, OfTwoSpellingsAreBothRead) {
  const std::string body =
      sent("anthropic", "claude-sonnet-4-5", R"("stop":"a","stop_sequences":["b"])");
  EXPECT_TRUE(has(body, R"("stop_sequences":["a","b"])")) << body;
  const auto both =
      test::build(test::settings_of("openai"),
                  test::question("gpt-5", R"("response_format":{"type":"json_object"},)"
                                          R"("text":{"format":{"type":"json_object"}})"));
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().code, Errc::invalid_body);
}

TEST(Parameters, MisspeltOnesAreNotSent) {
  const auto built =
      test::build(test::settings_of("openai"), test::question("gpt-4.1", R"("maxTokens":9)"));
  EXPECT_FALSE(has(test::body_of(built), "maxTokens"));
  EXPECT_TRUE(has(noted(built), "It is called `max_tokens`.")) << noted(built);
}

TEST(Parameters, DisablingParallelCallsInAToolChoiceCounts) {
  const std::string tools = R"("tools":[{"name":"t","input_schema":{"type":"object"}}],)"
                            R"("tool_choice":{"type":"auto","disable_parallel_tool_use":true})";
  const std::string claude = sent("anthropic", "claude-sonnet-4-5", tools);
  EXPECT_TRUE(has(claude, R"("disable_parallel_tool_use":true)")) << claude;
  const std::string gpt = sent("openai", "gpt-4.1", tools);
  EXPECT_TRUE(has(gpt, R"("parallel_tool_calls":false)")) << gpt;
}

TEST(ToolMembers, ReachTheVendorThatDocumentsThem) {
  const std::string anthropic =
      R"("tools":[{"name":"t","input_schema":{"type":"object"},"defer_loading":true,)"
      R"("allowed_callers":["direct"],"input_examples":[{"a":1}],"eager_input_streaming":true}])";
  const std::string claude = sent("anthropic", "claude-sonnet-4-5", anthropic);
  for (const std::string_view member :
       {R"("defer_loading":true)", R"("allowed_callers":["direct"])",
        R"("input_examples":[{"a":1}])", R"("eager_input_streaming":true)"}) {
    EXPECT_TRUE(has(claude, member)) << member << "\n" << claude;
  }
  const std::string responses =
      R"("apiMode":"responses","tools":[{"type":"function","name":"t","parameters":{"type":"object"},)"
      R"("defer_loading":true,"output_schema":{"type":"string"},"async":true},)"
      R"({"type":"custom","name":"c","defer_loading":true}])";
  const std::string gpt = sent("openai", "gpt-5", responses);
  EXPECT_TRUE(has(gpt, R"("output_schema":{"type":"string"})")) << gpt;
  EXPECT_TRUE(has(gpt, R"("async":true)")) << gpt;
  EXPECT_TRUE(has(gpt, R"({"type":"custom","name":"c","defer_loading":true})")) << gpt;
  const auto other = test::build(test::settings_of("openai"), test::question("gpt-4.1", anthropic));
  EXPECT_FALSE(has(test::body_of(other), "defer_loading"));
  EXPECT_TRUE(has(noted(other), "tools.defer_loading: ")) << noted(other);
}

TEST(GeminiTools, RunBesideFunctionsWhereTheRequestSaysSo) {
  constexpr std::string_view tools =
      R"("tools":[{"type":"function","function":{"name":"f"}},{"googleSearch":{}}])";
  constexpr std::string_view member = R"("includeServerSideToolInvocations":true)";
  EXPECT_TRUE(has(sent("gemini", "gemini-3-pro-preview", tools), member));
  EXPECT_FALSE(has(sent("gemini", "gemini-2.5-pro", tools), member));
  EXPECT_FALSE(has(sent("vertexai", "gemini-3-pro-preview", tools), member));
  EXPECT_FALSE(
      has(sent("gemini", "gemini-3-pro-preview", R"("tools":[{"googleSearch":{}}])"), member));
}

// A note has the name of the member that is left out, each of its own.
TEST(Parameters, AreNotedByTheirNames) {
  struct Named {
    std::string_view provider;
    std::string_view model;
    std::string_view given;
    std::array<std::string_view, 3> names;
  };
  constexpr std::string_view both = R"("frequency_penalty":1,"presence_penalty":1)";
  constexpr std::string_view thinking =
      R"("thinking":{"type":"enabled","budget_tokens":2048},"temperature":1,"top_p":0.9,"top_k":3)";
  constexpr std::array<std::string_view, 2> penalties{"frequency_penalty", "presence_penalty"};
  constexpr std::array<std::string_view, 3> sampling{"temperature", "top_p", "top_k"};
  for (const auto& [provider, model, given, names] :
       {Named{"anthropic", "claude-sonnet-4", both, {penalties[0], penalties[1]}},
        Named{"bedrock", "amazon.nova-lite-v1:0", both, {penalties[0], penalties[1]}},
        Named{
            "openai", "gpt-4.1", R"("apiMode":"responses","frequency_penalty":1)", {penalties[0]}},
        Named{"openai", "gpt-4.1", R"("apiMode":"responses","presence_penalty":1)", {penalties[1]}},
        Named{"anthropic", "claude-sonnet-4", thinking, {sampling[0], sampling[1], sampling[2]}},
        Named{"bedrock",
              "anthropic.claude-sonnet-4-v1:0",
              thinking,
              {sampling[0], sampling[1], sampling[2]}},
        Named{"bedrock",
              "amazon.nova-2-lite-v1:0",
              R"("reasoning_effort":"high","temperature":1,"top_p":0.9,"max_tokens":9)",
              {sampling[0], sampling[1], "max_tokens"}},
        Named{"moonshot",
              "kimi-k2.5",
              R"("top_p":0.5,"presence_penalty":1)",
              {sampling[1], penalties[1]}},
        Named{"google", "gemini-2.5-flash-image", R"("temperature":1.5)", {sampling[0]}},
        Named{"anthropic", "claude-sonnet-4", R"("user":"u","metadata":{"user_id":"v"})", {"user"}},
        Named{"openai",
              "gpt-4.1",
              R"("apiMode":"responses","user":"u","safety_identifier":"v")",
              {"user"}},
        Named{"openrouter",
              "m",
              R"("imageAspectRatio":"1:1","imageResolution":"1K","image_config":{"a":1})",
              {"imageAspectRatio", "imageResolution"}}}) {
    const std::string notes =
        noted(test::build(test::credentials_of(provider), test::question(model, given)));
    SCOPED_TRACE(std::string(provider).append(" ").append(given).append("\n").append(notes));
    for (const std::string_view name : names) {
      EXPECT_TRUE(name.empty() || has(notes, std::string(name) + ": ")) << name;
    }
    EXPECT_FALSE(has(notes, "penalties: "));
    EXPECT_EQ(has(notes, "temperature: "), names[0] == sampling[0]);
  }
}

TEST(Temperature, IsSentAsGiven) {
  for (const auto& [provider, model] :
       {std::pair{"anthropic", "claude-sonnet-4-5"}, std::pair{"cohere", "command-a"},
        std::pair{"ollama", "llama3"}, std::pair{"zhipu", "glm-4"}}) {
    const std::string body = sent(provider, model, R"("temperature":1)");
    EXPECT_TRUE(has(body, R"("temperature":1)")) << body;
  }
  EXPECT_TRUE(has(sent("ollama", "llama3", R"("temperature":1.5)"), R"("temperature":1.5)"));
}

TEST(Temperature, OfLobeHubsScaleIsHalved) {
  for (const auto& [provider, model] :
       {std::pair{"anthropic", "claude-sonnet-4-5"}, std::pair{"cohere", "command-a"},
        std::pair{"ollama", "llama3"}, std::pair{"zhipu", "glm-4"}}) {
    const std::string body =
        sent(provider, model, R"("temperature":1)", R"("temperatureScale":"lobe")");
    EXPECT_TRUE(has(body, R"("temperature":0.5)")) << body;
  }
  const auto wrong = model::read_config(test::settings_of("openai", R"("temperatureScale":"x")"));
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Errc::invalid_option);
}

// A payload may come from a client.
TEST(BodyPatch, IsNoMemberOfAPayload) {
  CountingIds ids("id-");
  const auto read = model::read_payload(test::question("gpt-4.1", R"("body":{"store":true})"), ids);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Errc::invalid_body);
  EXPECT_TRUE(has(read.error().message, "`body`")) << read.error().message;
}

TEST(BodyPatch, ChangesTheBodyOfEveryRequest) {
  const std::string body =
      sent("openai", "gpt-4.1", R"("temperature":0.5,"metadata":{"a":"1","b":"2"})",
           R"("body":{"temperature":null,"metadata":{"b":null,"c":"3"},"new":[1,null]})");
  EXPECT_FALSE(has(body, "temperature")) << body;
  EXPECT_TRUE(has(body, R"("metadata":{"a":"1","c":"3"})")) << body;
  EXPECT_TRUE(has(body, R"("new":[1,null])")) << body;
}

TEST(BodyPatch, CannotChangeWhatTheCallDependsOn) {
  for (const std::string_view patch :
       {R"({"stream":false})", R"({"stream":null})", R"({"stream_options":null})",
        R"({"stream_options":{"include_usage":false}})",
        R"({"stream_options":{"include_usage":null}})", R"("text")", R"([1])"}) {
    const auto config =
        model::read_config(test::settings_of("openai", "\"body\":" + std::string(patch)));
    ASSERT_FALSE(config.ok()) << patch;
    EXPECT_EQ(config.error().code, Errc::invalid_option) << patch;
  }
}

}  // namespace
