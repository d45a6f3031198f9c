// What models take that came after the vendors' pages were read, and what newer models need to be
// sent: the requests that the tests of AI SDK and LobeHub's model-runtime expect (2026-11).
#include <gtest/gtest.h>

#include "model/expected_requests.hpp"

namespace millrace {
namespace {

constexpr std::string_view offered_tool =
    R"("tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object"}}}],)";

constexpr std::string_view summarized = R"("thinking":{"type":"adaptive","display":"summarized"})";
constexpr std::string_view adaptive = R"("thinking":{"type":"adaptive"})";
constexpr std::string_view switched_off = R"("thinking":{"type":"disabled"})";

// They bill what they think and send none of it by themselves.
TEST(LaterClaude, IsAskedForTheReasoningThatItDoesNotSendByItself) {
  test::expect_requests({
      {"anthropic", "claude-sonnet-5", "", summarized, ""},
      {"anthropic", "claude-opus-5", "", summarized, ""},
      {"anthropic", "claude-fable-5", "", summarized, ""},
      {"anthropic", "claude-opus-5-6", "", summarized, ""},
      {"bedrock", "us.anthropic.claude-sonnet-5-v1:0", "", summarized, ""},
      {"vertexai", "claude-opus-5", "", summarized, ""},
      {"anthropic", "claude-opus-4-8", "", "", R"("thinking")"},
      {"anthropic", "claude-opus-4-8", adaptive, summarized, ""},
      {"anthropic", "claude-opus-4-7", adaptive, summarized, ""},
      {"anthropic", "claude-opus-4-6", adaptive, adaptive, ""},
      {"anthropic", "claude-sonnet-4-6", "", "", R"("thinking")"},
      {"anthropic", "claude-sonnet-5", R"("thinking":{"type":"adaptive","display":"omitted"})",
       R"("display":"omitted")", "summarized"},
      {"anthropic", "claude-fable-5", switched_off, "", R"("thinking")"},
      {"anthropic", "claude-sonnet-5", switched_off, switched_off, "display"},
      {"bedrock", "us.anthropic.claude-sonnet-5-v1:0", switched_off, switched_off, "display"},
      {"bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", switched_off, "", "thinking"},
  });
}

// A demand goes through as it did before.
TEST(LaterClaude, IsNotToldToThinkWhereACallIsDemanded) {
  const std::string demand = std::string(offered_tool) + R"("tool_choice":"required")";
  test::expect_requests({{"anthropic", "claude-sonnet-5", demand, R"("tool_choice":{"type":"any")",
                          R"("thinking")"}});
}

TEST(LaterClaude, DoesNotThinkAtTheEffortNone) {
  constexpr std::string_view none = R"("reasoning_effort":"none")";
  test::expect_requests({
      {"anthropic", "claude-sonnet-5", none, switched_off, "effort"},
      {"anthropic", "claude-opus-5", none, switched_off, "effort"},
      {"bedrock", "anthropic.claude-opus-5-v1:0", none, switched_off, "effort"},
      {"anthropic", "claude-fable-5", none, R"("output_config":{"effort":"low"})", "summarized"},
      {"anthropic", "claude-mythos-preview", none, R"("effort":"low")", "summarized"},
      {"anthropic", "claude-sonnet-4-5", none, switched_off, "effort"},
      {"bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", none, "", "thinking"},
      {"anthropic", "claude-opus-5", R"("reasoning_effort":"minimal")", R"("effort":"low")", ""},
  });
}

TEST(LaterClaude, TakesWhatTheNewestModelTakes) {
  constexpr std::string_view sampled = R"("temperature":0.5,"top_k":20)";
  test::expect_requests({
      {"anthropic", "claude-future-9", sampled, R"("max_tokens":32000)", "temperature"},
      {"bedrock", "us.anthropic.claude-future-9-20990101-v1:0", sampled, "", "temperature"},
      {"anthropic", "claude-future-9", "", "", R"("thinking")"},
      {"bedrock", "anthropic.claude-v2:1", sampled, R"("temperature":0.5)", ""},
      {"anthropic", "claude-4-sonnet", sampled, R"("temperature":0.5)", ""},
  });
}

TEST(LaterOpenAi, IsCalledAsItsFamilyIs) {
  constexpr std::string_view sampled =
      R"("temperature":0.2,"top_p":0.8,"frequency_penalty":0.1,"max_tokens":64)";
  constexpr std::string_view chat =
      R"("apiMode":"chatCompletion","temperature":0.2,"max_tokens":64)";
  constexpr std::string_view limit = R"("max_completion_tokens":64)";
  test::expect_requests({
      {"openai", "gpt-5.6-pro", "", R"("input":)", R"("messages")"},
      {"openai", "gpt-5.7-codex", "", R"("input":)", R"("messages")"},
      {"openai", "gpt-6-pro", "", R"("input":)", R"("messages")"},
      {"openai", "o5-pro", "", R"("input":)", R"("messages")"},
      {"openai", "gpt-6", chat, limit, "temperature"},
      {"openai", "gpt-6-sol", chat, limit, "temperature"},
      {"openai", "gpt-99-mini", chat, limit, "temperature"},
      {"openai", "o5", chat, limit, "temperature"},
      {"openai", "o99-2099-01-01", chat, limit, "temperature"},
      {"openai", "gpt-5.7", R"("temperature":0.2,"reasoning_effort":"none")", "temperature", ""},
      {"openai", "gpt-4o-search-2024", sampled, "", "temperature"},
      {"openai", "gpt-4o-search-2024", sampled, "", "penalty"},
      {"openai", "gpt-4.1-2025-04-14", chat, R"("temperature":0.2)", ""},
      {"openai", "acme-gpt-99-proxy", chat, R"("temperature":0.2)", ""},
      {"openai", "computer-use-preview", R"("temperature":0.2)", R"("input":)", "temperature"},
  });
}

TEST(LaterGemini, ThinksAtTheLevelsThatItKnows) {
  constexpr std::string_view minimal = R"("reasoning_effort":"minimal")";
  constexpr std::string_view low = R"("thinkingLevel":"low")";
  constexpr std::string_view least = R"("thinkingLevel":"minimal")";
  test::expect_requests({
      {"google", "gemini-3.8-flash", minimal, low, ""},
      {"google", "gemini-3.10-flash-preview", minimal, low, ""},
      {"google", "gemini-4.0-flash", minimal, low, ""},
      {"google", "gemini-flash-latest", minimal, low, ""},
      {"google", "gemini-3.5-pro", minimal, low, ""},
      {"google", "gemini-3.5-flash", minimal, least, ""},
      {"google", "gemini-3.6-flash", minimal, least, ""},
      {"google", "gemini-3.5-flash-lite", minimal, least, ""},
      {"google", "gemini-flash-lite-latest", minimal, least, ""},
      {"google", "gemma-4-31b-it", R"("reasoning_effort":"high")", R"("thinkingLevel":"high")", ""},
      {"google", "gemma-4-31b-it", "", "", "thinkingConfig"},
  });
}

TEST(Gemini, IsGivenABudgetThatItTakes) {
  test::expect_requests({
      {"google", "gemini-2.5-pro", R"("thinkingBudget":50)", R"("thinkingBudget":128)", ""},
      {"google", "gemini-2.5-pro", R"("thinkingBudget":99999)", R"("thinkingBudget":32768)", ""},
      {"google", "gemini-2.5-pro", R"("thinkingBudget":-1)", R"("thinkingBudget":-1)", ""},
      {"google", "gemini-2.5-flash", R"("thinkingBudget":99999)", R"("thinkingBudget":24576)", ""},
      {"google", "gemini-2.5-flash-lite", R"("thinkingBudget":100)", R"("thinkingBudget":512)", ""},
      {"google", "gemini-2.5-flash-lite", "", R"("thinkingConfig":{"thinkingBudget":0})", ""},
      {"google", "gemini-2.5-flash-lite", R"("thinking":{"type":"enabled"})",
       R"("includeThoughts":true,"thinkingBudget":-1)", ""},
      {"google", "gemini-3-flash-preview", R"("thinkingBudget":50)", R"("thinkingBudget":50)", ""},
      {"google", "gemini-3-flash-preview", R"("thinkingBudget":0)",
       R"("includeThoughts":false,"thinkingLevel":"minimal")", "thinkingBudget"},
      {"google", "gemini-3.1-pro-preview", R"("thinkingBudget":0)",
       R"("includeThoughts":false,"thinkingLevel":"low")", "thinkingBudget"},
  });
}

TEST(Efforts, ReachModelsOfWhichNoListIsKnown) {
  constexpr std::string_view max = R"("reasoning_effort":"max")";
  test::expect_requests({
      {"deepseek", "deepseek-v4-pro", max, max, ""},
      {"zhipu", "glm-5.2", max, max, ""},
      {"volcengine", "deepseek-v4-pro-260425", max, max, ""},
      {"volcengine", "deepseek-v4-pro-260425", R"("reasoning_effort":"max","apiMode":"responses")",
       R"("effort":"high")", ""},
      {"volcengine", "deepseek-v4-pro-260425", R"("thinking":{"type":"disabled"})",
       R"("thinking":{"type":"disabled"},"reasoning_effort":"minimal")", ""},
      {"volcengine", "GLM-5-2-260601", R"("thinking":{"type":"enabled"})",
       R"("thinking":{"type":"enabled"},"reasoning_effort":"high")", ""},
      {"volcengine", "glm-5-2-260601", R"("reasoning_effort":"low")",
       R"("thinking":{"type":"enabled"},"reasoning_effort":"low")", ""},
      {"volcengine", "deepseek-v4-pro-260425",
       R"("thinking":{"type":"enabled"},"apiMode":"responses")",
       R"("thinking":{"type":"enabled"},"reasoning":{"effort":"high"})", ""},
      {"volcengine", "deepseek-v3-1", R"("thinking":{"type":"enabled","budget_tokens":9})",
       R"("thinking":{"type":"enabled"})", "reasoning_effort"},
      {"openrouter", "anthropic/claude-opus-4.6", max, R"("reasoning":{"effort":"max"})", ""},
  });
}

TEST(Qwen, IsSwitchedByAKindOfThinkingNotByItsBudget) {
  constexpr std::string_view on =
      R"("reasoning_effort":"high","thinking":{"type":"enabled","budget_tokens":2048})";
  constexpr std::string_view budget = R"("thinking":{"budget_tokens":2048})";
  test::expect_requests({
      {"qwen", "deepseek-v4-pro", on,
       R"("enable_thinking":true,"thinking_budget":2048,"reasoning_effort":"high")", ""},
      {"qwen", "deepseek-v4-flash", R"("reasoning_effort":"high","thinking":{"type":"disabled"})",
       R"("enable_thinking":false)", "reasoning_effort"},
      {"qwen", "deepseek-r1-0528", budget, R"("thinking_budget":2048)", "enable_thinking"},
      {"qwen", "qwen3-235b-a22b-thinking-2507", budget,
       R"("enable_thinking":true,"thinking_budget":2048)", ""},
      {"qwen", "qwen3-max", R"("reasoning_effort":"high")", R"("enable_thinking":true)",
       "reasoning_effort"},
      {"qwen", "qwen3.7-max-2026-06-08", R"("preserveThinking":true)",
       R"("preserve_thinking":true)", ""},
      {"qwen", "qwen3-max", R"("preserveThinking":true)", "", "preserve_thinking"},
      {"qwen", "qwen3.7-max-2026-06-08", R"("preserveThinking":false)",
       R"("preserve_thinking":false)", ""},
  });
  const auto built = test::build(test::settings_of("qwen"),
                                 test::question("qwen3-max", R"("reasoning_effort":"high")"));
  ASSERT_TRUE(built);
  ASSERT_EQ(built.value().notes.size(), 1U);
  EXPECT_EQ(built.value().notes.front().what, "reasoning_effort");
}

TEST(MiniMax, IsSwitchedWhereItCanBe) {
  test::expect_requests({
      {"minimax", "MiniMax-M3", R"("thinking":{"type":"enabled","budget_tokens":1024})", adaptive,
       ""},
      {"minimax", "MiniMax-M3", switched_off, switched_off, ""},
      {"minimax", "MiniMax-M3", R"("reasoning_effort":"none")", switched_off, ""},
      {"minimax", "MiniMax-M3", R"("max_tokens":4096,"temperature":0,"top_p":1)",
       R"("max_completion_tokens":4096,"temperature":0,"top_p":1)", ""},
      {"minimax", "MiniMax-M2.7", switched_off, "", R"("thinking")"},
      {"minimax", "MiniMax-M2.7", "", R"("max_tokens":131072)", ""},
      {"minimax", "MiniMax-M2.7", R"("max_tokens":9)", R"("max_tokens":9)", "131072"},
      {"minimax", "MiniMax-M2.7", R"("max_tokens":4096,"temperature":0)", R"("max_tokens":4096)",
       "temperature"},
  });
}

TEST(Glm, KeepsWhatItThoughtWhereThePayloadSaysSo) {
  constexpr std::string_view preserves = R"("preserveThinking":true)";
  test::expect_requests({
      {"zhipu", "glm-5", R"("preserveThinking":true,"thinking":{"type":"enabled"})",
       R"("thinking":{"type":"enabled","clear_thinking":false})", ""},
      {"zhipu", "glm-5", preserves, R"("thinking":{"clear_thinking":false})", ""},
      {"zhipu", "glm-5", "", "", R"("thinking")"},
      {"cerebras", "zai-glm-4.7", preserves, R"("clear_thinking":false)", ""},
      {"zhipu", "glm-5", R"("preserveThinking":false)", R"("thinking":{"clear_thinking":true})",
       ""},
      {"nvidia", "z-ai/glm-5.1", R"("thinking":{"type":"enabled"})",
       R"("enable_thinking":true,"clear_thinking":false)", ""},
      {"nvidia", "qwen/qwen3.5-122b-a10b", R"("thinking":{"type":"enabled"})",
       R"("enable_thinking":true)", "clear_thinking"},
  });
}

TEST(Glm, StaysInItsLimits) {
  test::expect_requests({
      {"zhipu", "glm-4v", R"("max_tokens":2000)", R"("max_tokens":1024)", ""},
      {"zhipu", "glm-4v", R"("max_tokens":512)", R"("max_tokens":512)", ""},
      {"zhipu", "glm-zero-preview", R"("max_tokens":20000)", R"("max_tokens":15300)", ""},
      {"zhipu", "glm-4", R"("max_tokens":4000)", R"("max_tokens":4000)", ""},
      {"zhipu", "glm-4-alltools", R"("temperature":0,"top_p":1)",
       R"("temperature":0.01,"top_p":0.99)", ""},
      {"zhipu", "glm-4", R"("enabledSearch":true)",
       R"("search_engine":"search_std","search_result":true,"result_sequence":"before")", ""},
  });
}

TEST(OpenRouter, NamesTheSizesOfImagesItself) {
  constexpr std::string_view model = "google/gemini-3.1-flash-image";
  test::expect_requests({
      {"openrouter", model, R"("imageResolution":"512","imageAspectRatio":"auto")",
       R"("image_config":{"image_size":"0.5K"})", ""},
      {"openrouter", model, R"("imageAspectRatio":"auto")", R"("modalities")", "image_config"},
      {"openrouter", model, R"("imageResolution":"2K","imageAspectRatio":"16:9")",
       R"("image_config":{"aspect_ratio":"16:9","image_size":"2K"})", ""},
  });
}

// One answer with reasoning and one without.
std::string talk_with(std::string_view provider, std::string_view model) {
  return test::body_of(test::build(
      test::credentials_of(provider),
      R"({"model":")" + std::string(model) +
          R"(","max_tokens":64,"frequency_penalty":0.5,"messages":[{"role":"user","content":"a"},)"
          R"({"role":"assistant","content":"b","reasoning":{"content":"r"}},{"role":"user",)"
          R"("content":"c"},{"role":"assistant","content":"d"},{"role":"user","content":"e"}]})"));
}

TEST(Reasoning, GoesWithTheAnswersOfModelsThatWantIt) {
  for (const std::string_view model : {"kimi-k3", "kimi-k2.7"}) {
    const std::string body = talk_with("moonshot", model);
    EXPECT_NE(body.find(R"("reasoning_content":"r")"), body.npos) << body;
    EXPECT_NE(body.find(R"("reasoning_content":" ")"), body.npos) << body;
  }
  EXPECT_NE(talk_with("moonshot", "kimi-k3").find(R"("max_completion_tokens":64)"),
            std::string::npos);
  const std::string hunyuan = talk_with("hunyuan", "hy3-preview");
  EXPECT_NE(hunyuan.find(R"("reasoning_content":"r")"), hunyuan.npos) << hunyuan;
  EXPECT_NE(hunyuan.find(R"("reasoning_content":"")"), hunyuan.npos) << hunyuan;
  EXPECT_EQ(hunyuan.find("penalty"), hunyuan.npos) << hunyuan;
  const std::string nvidia = talk_with("nvidia", "deepseek-ai/deepseek-r1");
  EXPECT_NE(nvidia.find(R"("reasoning_content":"r")"), nvidia.npos) << nvidia;
}

}  // namespace
}  // namespace millrace
