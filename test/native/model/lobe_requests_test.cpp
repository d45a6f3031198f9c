// What requests look like where LobeHub's model-runtime and the vendors have a rule for a model or
// a vendor (2026-11).
#include <gtest/gtest.h>

#include "model/call/scope.hpp"
#include "model/expected_requests.hpp"
#include "model/provider/families.hpp"

namespace millrace {
namespace {

constexpr std::string_view lobe_tool =
    R"("tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object"}}}])";
constexpr std::string_view chat_path = "/chat/completions";
constexpr std::string_view responses_path = "/responses";

// Beside tools they think there alone; chat completions answer with an error.
TEST(NewerGpt, IsAskedByTheResponsesApi) {
  constexpr std::string_view address = R"("baseURL":"https://e.example/v1")";
  test::expect_requests({
      {"openai", "gpt-5.2", "", responses_path, ""},
      {"openai", "gpt-5.4-mini", std::string(lobe_tool), responses_path, ""},
      {"openai", "gpt-5.5", "", responses_path, ""},
      {"openai", "gpt-5.6-sol", "", responses_path, ""},
      {"openai", "gpt-5.9", "", responses_path, ""},
      {"openai", "gpt-6", "", responses_path, ""},
      {"openai", "gpt-5", "", chat_path, ""},
      {"openai", "gpt-5-mini", "", chat_path, ""},
      {"openai", "gpt-5.1", "", chat_path, ""},
      {"openai", "gpt-5.2-chat-latest", "", chat_path, ""},
      {"openai", "gpt-4o", "", chat_path, ""},
      {"openai", "gpt-5.5", R"("apiMode":"chat")", chat_path, ""},
      {"openai", "gpt-5.5", R"("apiMode":"chatCompletion")", chat_path, ""},
      {"openai", "gpt-5.5", R"("n":2)", chat_path, ""},
      {"openrouter", "openai/gpt-5.5", "", chat_path, ""},
      {"githubcopilot", "gpt-5.5", "", responses_path, ""},
      {"githubcopilot", "gpt-4o", "", chat_path, ""},
  });
  test::expect_requests({{"openai", "gpt-5.5", "", "https://e.example/v1/chat/completions", ""}},
                        address);
  constexpr std::string_view of_lobe =
      R"("baseURL":"https://e.example/v1","temperatureScale":"lobe")";
  test::expect_requests({{"openai", "gpt-5.5", "", "https://e.example/v1/responses", ""}}, of_lobe);
}

// docs/decisions/model-names.md
TEST(NewerGpt, KeepsItsRulesAtAnotherServer) {
  constexpr std::string_view address = R"("baseURL":"https://e.example/v1")";
  const std::string given = R"("temperature":0.2,"presence_penalty":1,"max_tokens":9)";
  const std::string thinking = given + R"(,"reasoning_effort":"high")";
  for (const std::string_view model : {"gpt-5.2", "openai/gpt-5.4-mini", "gpt-5.6-sol", "gpt-6"}) {
    test::expect_requests(
        {{"openai", model, thinking, R"("max_completion_tokens":9)", "temperature"},
         {"openai", model, thinking, R"("reasoning_effort":"high")", "penalty"}},
        address);
    const auto built =
        test::build(test::settings_of("openai", address), test::question(model, thinking));
    ASSERT_TRUE(built.ok());
    std::string notes;
    for (const auto& note : built.value().notes) notes.append(note.what).append(" ");
    EXPECT_TRUE(test::has(notes, "temperature ")) << notes;
    EXPECT_TRUE(test::has(notes, "presence_penalty ")) << notes;
  }
  test::expect_requests(
      {{"openai", "gpt-5.2", given + R"(,"reasoning_effort":"none")", R"("temperature":0.2)", ""},
       {"openai", "gpt-5.2", R"("reasoning_effort":"max")", R"("reasoning_effort":"xhigh")", ""}},
      address);
  // The two ways around it.
  test::expect_requests({{"openai", "gpt-5.2", thinking, R"("temperature":0.3)", ""}},
                        R"("baseURL":"https://e.example/v1","body":{"temperature":0.3})");
  test::expect_requests({{"openai", "mine", thinking, R"("temperature":0.2)", ""},
                         {"openai", "mine", thinking, R"("model":"gpt-5.2")", ""}},
                        R"("baseURL":"https://e.example/v1","deployments":{"mine":"gpt-5.2"})");
}

// What asks for it by name, or serves nothing else, is not kept from it.
TEST(NewerGpt, OfACodexGatewayHasNoOtherApi) {
  constexpr std::string_view address = R"("baseURL":"https://e.example/v1")";
  test::expect_requests(
      {
          {"openai", "codex/gpt-5.6-luna", R"("apiMode":"chatCompletion")", responses_path, ""},
          {"openai", "codex/gpt-5-mini", "", responses_path, ""},
          {"openai", "codex/gpt-5-chat-latest", "", chat_path, ""},
          {"openai", "codex/other", "", chat_path, ""},
      },
      address);
}

TEST(AzureRequests, GoToTheApiOfTheModel) {
  constexpr std::string_view resource = R"("baseURL":"https://r.openai.azure.com")";
  test::expect_requests(
      {
          {"azure", "gpt-5.5", "", "https://r.openai.azure.com/openai/v1/responses", ""},
          {"azure", "gpt-5-pro", "", "https://r.openai.azure.com/openai/v1/responses", ""},
          {"azure", "gpt-4o", R"("enabledSearch":true)", R"("tools":[{"type":"web_search"}])", ""},
          {"azure", "gpt-4o", "", "/openai/deployments/gpt-4o/chat/completions", ""},
          {"azure", "gpt-4o", std::string(lobe_tool), R"("tool_choice":"auto")", ""},
          {"azure", "gpt-4o", std::string(lobe_tool) + R"(,"tool_choice":"none")",
           R"("tool_choice":"none")", R"("auto")"},
          {"azure", "gpt-4o", "", "", "tool_choice"},
      },
      resource);
  // As Azure's portal shows it.
  for (const std::string_view tail : {"/openai/v1/", "/openai", "/openai/v1/chat/completions"}) {
    const std::string settings = test::settings_of(
        "azure", R"("baseURL":"https://r.openai.azure.com)" + std::string(tail) + "\"");
    for (const auto& [model, path] : {std::pair{"gpt-5.5", "/openai/v1/responses"},
                                      std::pair{"gpt-4o", "/openai/deployments/gpt-4o/chat/"}}) {
      const std::string text = test::url_and_body(settings, test::question(model));
      EXPECT_EQ(text.find(std::string("https://r.openai.azure.com") + path), 0U) << text;
    }
  }
}

// The Responses API takes none.
TEST(AudioRequests, GoToChatCompletions) {
  const std::string payload =
      R"({"model":"gpt-audio","apiMode":"responses","messages":[{"role":"user","content":[)"
      R"({"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}]}]})";
  for (const std::string& settings :
       {test::settings_of("openai"),
        test::settings_of("azure", R"("baseURL":"https://r.openai.azure.com")")}) {
    const std::string text = test::url_and_body(settings, payload);
    EXPECT_NE(text.find(chat_path), text.npos) << text;
    EXPECT_NE(text.find(R"("format":"wav")"), text.npos) << text;
  }
}

TEST(ProModels, ThinkHardWhereNoEffortIsGiven) {
  test::expect_requests({
      {"openai", "gpt-5-pro", "", R"("reasoning":{"effort":"high"})", ""},
      {"openai", "gpt-5.5-pro", "", R"("reasoning":{"effort":"high"})", ""},
      {"openai", "gpt-5.5-pro", R"("reasoning_effort":"medium")",
       R"("reasoning":{"effort":"medium"})", ""},
      {"openai", "gpt-5.5", "", "", R"("reasoning":{)"},
      {"openai", "o3-pro", "", "", R"("reasoning":{)"},
  });
}

TEST(SearchTools, AreThoseOfTheVendor) {
  const std::string search = R"("enabledSearch":true)";
  test::expect_requests({
      {"stepfun", "step-2-mini", search, R"("tools":[{"type":"web_search","function":{)", ""},
      {"baichuan", "Baichuan4-Turbo", search,
       R"("web_search":{"enable":true,"search_mode":"performance_first"})", ""},
      {"ai360", "360gpt-pro", search, R"("web_search":{"search_mode":"auto"})", R"("stream":true)"},
      {"ai360", "360gpt-pro", "", R"("stream":true)", ""},
      {"xiaomimimo", "mimo-v2.5-pro", search, R"("tools":[{"type":"web_search"}])", ""},
      {"xiaomimimo", "mimo-v2.5-pro", search, R"("webSearchEnabled":true)", ""},
  });
}

TEST(ReasoningRequests, KeepToWhatTheVendorTakes) {
  const std::string little = R"("thinking":{"type":"enabled","budget_tokens":50})";
  const std::string much = R"("thinking":{"type":"enabled","budget_tokens":90000})";
  const std::string keeping = R"("preserveThinking":true)";
  test::expect_requests({
      {"wenxin", "ernie-x1.1", little, R"("enable_thinking":true,"thinking_budget":100)", ""},
      {"wenxin", "ernie-x1.1", much, R"("thinking_budget":16384)", ""},
      {"siliconcloud", "Qwen/Qwen3-8B", little, R"("thinking_budget":128)", ""},
      {"siliconcloud", "Qwen/Qwen3-8B", much, R"("thinking_budget":32768)", ""},
      {"qwen", "qwen3-8b", much, R"("thinking_budget":90000)", ""},
      {"groq", "llama-3.3-70b-versatile", R"("reasoning_effort":"high")", "", "reasoning_effort"},
      {"groq", "openai/gpt-oss-20b", R"("reasoning_effort":"high")", R"("reasoning_effort":"high")",
       ""},
      {"moonshot", "kimi-k2.6", keeping, R"("thinking":{"type":"enabled","keep":"all"})", ""},
      {"moonshot", "kimi-k2.6", keeping + R"(,"thinking":{"type":"disabled"})",
       R"("thinking":{"type":"disabled"})", "keep"},
      {"moonshot", "kimi-k2.5", keeping, "", "keep"},
      {"moonshot", "kimi-k2-thinking-turbo", R"("thinking":{"type":"disabled"})", "",
       R"("thinking")"},
  });
}

TEST(SamplingRequests, KeepToWhatTheVendorTakes) {
  test::expect_requests({
      {"xiaomimimo", "mimo-v2-flash", R"("temperature":1.9,"top_p":0)",
       R"("temperature":1.5,"top_p":0.01)", ""},
      {"github", "openai/o1", "", R"("stream":false)", ""},
      {"github", "o3-mini", "", R"("stream":true)", ""},
      {"groq", "llama-3.3-70b-versatile", R"("temperature":0)", R"("temperature":0)", ""},
  });
  test::expect_requests(
      {{"groq", "llama-3.3-70b-versatile", R"("temperature":0)", "", "temperature"}},
      R"("temperatureScale":"lobe")");
}

TEST(SamplingRequests, KeepToLobeHubsScale) {
  const auto warm = [](std::string_view temperature) {
    return R"("temperature":)" + std::string(temperature);
  };
  test::expect_requests(
      {
          {"mistral", "mistral-large-latest", warm("1.4"), warm("0.7"), ""},
          {"taichu", "taichu_llm", warm("1"), warm("0.5"), ""},
          {"deepseek", "deepseek-chat", warm("1.4") + R"(,"apiMode":"anthropic")", warm("1.4"), ""},
          {"minimax", "MiniMax-M2", warm("1.4") + R"(,"apiMode":"anthropic")", warm("0.7"), ""},
      },
      R"("temperatureScale":"lobe")");
  test::expect_requests({
      {"mistral", "mistral-large-latest", warm("1.9"), warm("1.5"), ""},
      {"mistral", "mistral-large-latest", warm("1.2"), warm("1.2"), ""},
  });
}

TEST(BiasOfTokens, IsNotSentToModelsThatThink) {
  const std::string bias = R"("logit_bias":{"42":1})";
  test::expect_requests({
      {"openai", "o3", bias, "", "logit_bias"},
      {"openai", "gpt-5", bias, "", "logit_bias"},
      {"openai", "gpt-4o", bias, bias, ""},
  });
  const auto built = test::build(test::settings_of("openai"), test::question("o3", bias));
  ASSERT_TRUE(built);
  ASSERT_EQ(built.value().notes.size(), 1U);
  EXPECT_EQ(built.value().notes.front().what, "logit_bias");
}

TEST(ImageModels, AreAskedForImages) {
  test::expect_requests({
      {"openrouter", "openai/gpt-5-image", "", R"("modalities":["image","text"])", ""},
      {"openrouter", "acme/new-image", "", R"("modalities":["image","text"])", ""},
      {"openrouter", "black-forest-labs/flux.2-pro", "", R"("modalities":["image","text"])", ""},
      {"openrouter", "openai/gpt-4o", "", "", "modalities"},
  });
}

// Vendors that are told the type of an image compare it with the bytes.
TEST(ImageRequests, HaveTheTypeOfTheirBytes) {
  constexpr std::string_view png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
      "Jggg==";
  const auto image_of = [&](std::string_view type) {
    return R"({"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":)"
           R"({"url":"data:)" +
           std::string(type) + ";base64," + std::string(png) + R"("}}]}]})";
  };
  for (const std::string_view type : {"image/jpeg", "image/png", "image/webp"}) {
    const std::string claude = test::url_and_body(test::settings_of("anthropic"), image_of(type));
    EXPECT_NE(claude.find(R"("media_type":"image/png")"), claude.npos) << claude;
    const std::string gemini = test::url_and_body(test::settings_of("google"), image_of(type));
    EXPECT_NE(gemini.find(R"("mimeType":"image/png")"), gemini.npos) << gemini;
    const std::string gpt = test::url_and_body(test::settings_of("openai"), image_of(type));
    EXPECT_NE(gpt.find("data:image/png;base64,"), gpt.npos) << gpt;
  }
}

// Their models want it back, whichever of the two APIs it came by.
TEST(UnsignedReasoning, GoesBackToServersOfTheAnthropicApi) {
  const auto talk = [](std::string_view model) {
    return R"({"model":")" + std::string(model) +
           R"(","apiMode":"anthropic","messages":[{"role":"user","content":"a"},)"
           R"({"role":"assistant","content":"b","reasoning":{"content":"why"}},)"
           R"({"role":"user","content":"c"}]})";
  };
  for (const auto& [provider, model] :
       {std::pair{"deepseek", "deepseek-v4-pro"}, std::pair{"moonshot", "kimi-k2.5"},
        std::pair{"minimax", "MiniMax-M2.5"}, std::pair{"zhipu", "glm-5"}}) {
    const std::string text = test::url_and_body(test::settings_of(provider), talk(model));
    EXPECT_NE(text.find(R"("type":"thinking","thinking":"why")"), text.npos) << text;
  }
  for (const auto& [provider, model] : {std::pair{"anthropic", "claude-sonnet-5"},
                                        std::pair{"zenmux", "anthropic/claude-sonnet-5"}}) {
    const std::string text = test::url_and_body(test::settings_of(provider), talk(model));
    EXPECT_EQ(text.find("why"), text.npos) << text;
  }
}

// A conversation that another model began.
TEST(ForeignSignatures, DoNotGoToClaude) {
  const std::string talk =
      R"({"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"a"},)"
      R"({"role":"assistant","content":"b","reasoning":{"content":"why","signature":)"
      R"("340acffe-0000-4000-8000-0123456789ab"}},{"role":"user","content":"c"}]})";
  const std::string text = test::url_and_body(test::settings_of("anthropic"), talk);
  EXPECT_EQ(text.find("340acffe"), text.npos) << text;
  EXPECT_NE(text.find(R"("text":"b")"), text.npos) << text;
}

// They think only where each of their answers comes back with its reasoning.
TEST(UnsignedReasoning, IsASpaceWhereAnAnswerHasNone) {
  const auto talk = [](std::string_view more) {
    return R"({"model":"deepseek-v4-pro","apiMode":"anthropic","messages":[)"
           R"({"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":)"
           R"("c","type":"function","function":{"name":"t","arguments":"{}"}}]},)"
           R"({"role":"tool","tool_call_id":"c","content":"r"}],"reasoning_effort":"high")" +
           std::string(more) + "}";
  };
  constexpr std::string_view space = R"({"type":"thinking","thinking":" ")";
  const std::string on = test::url_and_body(test::settings_of("deepseek"), talk(""));
  EXPECT_NE(on.find(std::string(space)), on.npos) << on;
  EXPECT_NE(on.find(R"("output_config":{"effort":"high"})"), on.npos) << on;
  const std::string off =
      test::url_and_body(test::settings_of("deepseek"), talk(R"(,"thinking":{"type":"disabled"})"));
  EXPECT_EQ(off.find(std::string(space)), off.npos) << off;
  EXPECT_EQ(off.find("effort"), off.npos) << off;
}

TEST(CacheKeys, GoToModelsThatHaveThem) {
  const std::string user = R"("user":"u")";
  test::expect_requests({
      {"openai", "chat-latest", user, R"("prompt_cache_key":"millrace:u:chat-latest")", ""},
      {"moonshot", "kimi-k2.5", user, R"("prompt_cache_key":"millrace:u:kimi-k2.5")", ""},
      {"groq", "moonshotai/kimi-k2-instruct", user, "", "prompt_cache_key"},
  });
}

// What the client of LobeHub stored of an answer with images comes back part by part.
TEST(SignedParts, GoBackToGeminiAtTheirPlaces) {
  const auto talk = [](std::string_view signature) {
    return R"({"model":"gemini-3-pro-image","messages":[{"role":"user","content":"draw"},)"
           R"({"role":"assistant","content":[{"type":"text","text":"Here","googleThoughtSignature":"SA"},)"
           R"({"type":"image_url","image_url":{"detail":"auto","url":"data:image/png;base64,AAAA"},)"
           R"("googleThoughtSignature":")" +
           std::string(signature) +
           R"("},{"type":"text","text":"it is"}],"tool_calls":[{"id":"c1","type":"function",)"
           R"("function":{"name":"t","arguments":"{}"},"thoughtSignature":"SC"}]},)"
           R"({"role":"tool","tool_call_id":"c1","content":"done"}]})";
  };
  const std::string own = test::url_and_body(test::settings_of("google"), talk("SB"));
  EXPECT_TRUE(test::has(
      own, R"({"text":"Here","thoughtSignature":"SA"},{"inlineData":{"mimeType":"image/png",)"
           R"("data":"AAAA"},"thoughtSignature":"SB"},{"text":"it is"},{"functionCall":)"))
      << own;
  EXPECT_TRUE(test::has(own, R"("thoughtSignature":"SC")")) << own;
  const std::string wrapped = test::url_and_body(test::settings_of("google"),
                                                 talk(model::scoped_signature("google", "SB")));
  EXPECT_TRUE(test::has(wrapped, R"("data":"AAAA"},"thoughtSignature":"SB"})")) << wrapped;
  const std::string other = test::url_and_body(test::settings_of("anthropic"), talk("SB"));
  EXPECT_TRUE(test::has(other, "Here")) << other;
  EXPECT_FALSE(test::has(other, "SB")) << other;
}

// A setting that a vendor has no word for is in a note, by the member that has it.
TEST(ReasoningRequests, NameWhatTheVendorDoesNotTake) {
  struct Row {
    std::string_view provider;
    std::string_view model;
    std::string_view more;
    std::string_view named;
  };
  constexpr std::string_view budget = R"("thinkingBudget":2048)";
  constexpr std::string_view adaptive = R"("thinking":{"type":"adaptive"})";
  constexpr std::string_view both = R"("thinkingBudget":2048,"reasoning_effort":"high")";
  constexpr std::string_view forgets = R"("preserveThinking":false)";
  constexpr std::string_view display =
      R"("thinking":{"type":"enabled","display":"omitted","block_binding":{"a":1}})";
  for (
      const Row& row :
      {Row{"ollama", "llama3.2", budget, "thinking.budget_tokens"},
       Row{"ollama", "llama3.2", R"("reasoning_effort":"high")", "reasoning_effort"},
       Row{"ollama", "gpt-oss:20b", R"("reasoning_effort":"max")", "reasoning_effort"},
       Row{"deepseek", "deepseek-chat", R"("thinking":{"type":"enabled","budget_tokens":9})",
           "thinking.budget_tokens"},
       Row{"vllm", "m", budget, "thinking.budget_tokens"},
       Row{"nvidia", "m", R"("reasoning_effort":"high")", "reasoning_effort"},
       Row{"cohere", "command-a-03-2025", R"("reasoning_effort":"high")", "reasoning_effort"},
       Row{"cohere", "command-a-03-2025", adaptive, "thinking"},
       Row{"cohere", "command-a-03-2025", R"("logprobs":true,"top_logprobs":3)", "top_logprobs"},
       Row{"qwen", "qwen-plus", adaptive, "thinking"},
       Row{"openrouter", "openai/gpt-4o-mini", adaptive, "thinking"},
       Row{"openrouter", "openai/gpt-4o-mini", both, "reasoning_effort"},
       Row{"google", "gemini-2.5-flash", both, "reasoning_effort"},
       Row{"google", "gemini-3-pro", both, "thinkingBudget"},
       Row{"google", "gemini-3-pro", R"("reasoning_effort":"max")", "thinkingLevel"},
       Row{"google", "gemini-2.5-flash", R"("imageResolution":"2K")", "imageResolution"},
       Row{"groq", "llama-3.3-70b-versatile", budget, "thinking"},
       Row{"openai", "gpt-4o", forgets, "preserveThinking"},
       Row{"moonshot", "kimi-k2.6", forgets, "preserveThinking"},
       Row{"google", "gemini-3-pro", display, "thinking.display"},
       Row{"google", "gemini-3-pro", display, "thinking.block_binding"},
       Row{"anthropic", "claude-sonnet-4-5",
           R"("response_format":{"type":"json_schema","json_schema":{"name":"a","description":"d","schema":{"type":"object"}}})",
           "response_format.json_schema.description"}}) {
    const auto built =
        test::build(test::settings_of(row.provider), test::question(row.model, row.more));
    ASSERT_TRUE(built.ok()) << row.provider << " " << row.more << " " << built.error().message;
    bool is_named = false;
    for (const model::Note& note : built.value().notes) is_named |= note.what == row.named;
    EXPECT_TRUE(is_named) << row.provider << " " << row.more << " " << row.named;
  }
  const auto glm = test::build(
      test::settings_of("nvidia"),
      test::question("z-ai/glm5", R"("preserveThinking":false,"reasoning_effort":"none")"));
  ASSERT_TRUE(glm.ok());
  EXPECT_TRUE(test::has(glm.value().request.body, R"("clear_thinking":true)"));
  EXPECT_TRUE(glm.value().notes.empty());
}

// What a part of a name shows holds at every server, whatever stands around it.
TEST(Traits, AreShownByPartsOfNames) {
  using model::Trait;
  struct Row {
    std::string_view model;
    Trait trait;
    bool has;
  };
  for (const Row& row : {Row{"openai/GPT-OSS-20b", Trait::template_levels, true},
                         Row{"gpt-4o", Trait::template_levels, false},
                         Row{"deepseek-v4-pro", Trait::effort_with_switch, true},
                         Row{"deepseek-v3", Trait::effort_with_switch, false},
                         Row{"qwen3-235b-a22b-thinking-2507", Trait::thinks_by_name, true},
                         Row{"qwen3-235b-a22b", Trait::thinks_by_name, false},
                         Row{"z-ai/glm5", Trait::clears_reasoning, true},
                         Row{"magistral-medium-latest", Trait::reasoning_parts, true},
                         Row{"ep-doubao_seed_1_6", Trait::calls_in_text, true},
                         Row{"doubao-1-5-pro", Trait::calls_in_text, false},
                         Row{"gemini-2.0-flash-exp", Trait::safety_off, true},
                         Row{"gemini-2.0-flash-exp-image-generation", Trait::safety_off, false},
                         Row{"computer-use-preview", Trait::auto_truncation, true},
                         Row{"gpt-5.5", Trait::auto_truncation, false}}) {
    EXPECT_EQ(model::traits_of(row.model).has(row.trait), row.has) << row.model;
  }
}

}  // namespace
}  // namespace millrace
