// Each quirk changes the request that it is about, and only when it is set.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "model/build.hpp"
#include "model/usage/usage.hpp"

namespace millrace {
namespace {

constexpr std::string_view tool =
    R"("tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object"}}}])";
constexpr std::string_view schema =
    R"("response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}})";
constexpr std::string_view thinking = R"("thinking":{"type":"enabled","budget_tokens":2048})";
constexpr std::string_view file =
    R"([{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AA=="}}]}])";
constexpr std::string_view begun =
    R"([{"role":"user","content":"Hi"},{"role":"assistant","content":"It is","prefix":true}])";
constexpr std::string_view search = R"("enabledSearch":true)";

// `with` and `without` are what URL, body or error hold when the flag is set and when it is not; ""
// says that the other one's text is missing.
struct Case {
  std::string_view quirk;
  std::string payload;
  std::string_view with;
  std::string_view without;
  std::string_view beside = {};  // a flag that is set in both
};

std::string request(std::string_view more, std::string_view model = "m") {
  return test::question(model, more);
}

std::string talk(std::string_view messages, std::string_view more = {}) {
  std::string text = R"({"model":"m","messages":)" + std::string(messages);
  if (!more.empty()) text.append(",").append(more);
  return text + "}";
}

std::string many_tools() {
  constexpr int count = 129;
  std::string text = R"("tools":[)";
  for (int i = 0; i < count; ++i) {
    if (i > 0) text.push_back(',');
    text.append(R"({"name":"t)").append(std::to_string(i)).append(R"("})");
  }
  return text + "]";
}

// What is about messages and the media in them.
std::vector<Case> message_cases() {
  return {
      {"no_audio",
       talk(
           R"([{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}]}])"),
       "it takes no audio", "input_audio"},
      {"audio_urls",
       talk(
           R"([{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}]}])"),
       R"("data:;base64,AA==")", R"("AA==")"},
      {"prefix_member", talk(begun), R"("content":"It is","prefix":true)", ""},
      {"partial_member", talk(begun), R"("content":"It is","partial":true)", ""},
      {"no_files", talk(file), "it takes no files", R"("file_data")"},
      {"file_url_parts", talk(file), R"("file_url":{"url":"AA=="},"file_name":"a.pdf")",
       R"("file_data")"},
      {"files_by_address", talk(file), "files go by address", R"("file_data")"},
  };
}

std::string limit(int tokens, std::string_view model) {
  return request(R"("max_tokens":)" + std::to_string(tokens), model);
}

std::string parameters(std::string_view property, std::string_view more = {}) {
  return request(
      R"("tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object","properties":{"a":)" +
      std::string(property) + "}}" + std::string(more) + "}}]");
}

// Rules of one vendor's server, or for some of its models.
std::vector<Case> vendor_cases() {
  constexpr std::string_view off = R"("thinking":{"type":"disabled"})";
  constexpr std::string_view low_budget = R"("thinking":{"type":"enabled","budget_tokens":1})";
  constexpr std::string_view preserves = R"("preserveThinking":true)";
  const std::string reasoning =
      R"([{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"t"},{"role":"user","content":"c"}])";
  return {
      {"default_limit_131072", request("", "MiniMax-M2.5"), R"("max_tokens":131072)", ""},
      {"limit_1024", limit(2000, "glm-4v-plus"), R"("max_tokens":1024)", R"("max_tokens":2000)"},
      {"limit_15300", limit(20'000, "glm-zero-preview"), R"("max_tokens":15300)",
       R"("max_tokens":20000)"},
      {"strict_no_lookaround",
       parameters(R"({"type":"string","pattern":"(?=a)b"})", R"(,"strict":true)"), "",
       R"("pattern":"(?=a)b")"},
      {"prefix_items", parameters(R"({"type":"array","items":[{"type":"string"}]})"),
       R"("prefixItems":[{"type":"string"}])", R"("items":[{"type":"string"}])"},
      {"image_names", request("", "flux.2-pro"), R"("modalities":["image","text"])", "",
       "image_config"},
      {"few_reasoning_back", talk(reasoning), "", R"("reasoning":"t")", "reasoning_member"},
      {"auto_thinking", request(R"("thinking":{"type":"adaptive"})"),
       R"("thinking":{"type":"auto"})", "", "thinking_object"},
      {"thinking_keep", request(preserves, "kimi-k2.6"),
       R"("thinking":{"type":"enabled","keep":"all"})", "", "thinking_object"},
      {"preserve_thinking", request(preserves, "qwen3.7-max"), R"("preserve_thinking":true)", ""},
      {"budget_128_to_32768", request(low_budget), R"("thinking_budget":128)",
       R"("thinking_budget":1})", "enable_thinking"},
      {"budget_100_to_16384", request(low_budget), R"("thinking_budget":100)",
       R"("thinking_budget":1})", "enable_thinking"},
      {"template_clearing", request(thinking, "z-ai/glm5"), R"("clear_thinking":false)", "",
       "template_thinking"},
      {"template_effort", request(R"("reasoning_effort":"low")"), R"("reasoning_effort":"low")", "",
       "template_thinking"},
      {"few_efforts", request(R"("reasoning_effort":"low")", "llama-3.3-70b"), "",
       R"("reasoning_effort":"low")"},
      {"mandatory_reasoning", request(off, "gemini-3-pro"), R"("reasoning":{"effort":"low"})",
       R"("reasoning":{"enabled":false})", "reasoning_object"},
      {"mandatory_names", request(off, "deepseek/deepseek-r1"), "",
       R"("reasoning":{"enabled":false})", "reasoning_object"},
      {"responses_thinking", request(R"("apiMode":"responses","thinking":{"type":"enabled"})"),
       R"("thinking":{"type":"enabled"})", "", "responses_api"},
      {"few_parallel_calls", request(tool, "doubao-seed-1-6"), R"("parallel_tool_calls":true)", ""},
      {"switch_with_effort", request(R"("reasoning_effort":"low")", "deepseek-v4"),
       R"("thinking":{"type":"enabled"},"reasoning_effort":"low")", "", "thinking_object"},
      {"responses_videos",
       talk(
           R"([{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://v.example/a.mp4"}}]}])",
           R"("apiMode":"responses")"),
       R"("type":"input_video")", "it takes no videos", "responses_api"},
      {"openai_server", talk(R"([{"role":"user","content":[{"type":"text","text":"a","x":1}]}])"),
       R"("x":1)", ""},
  };
}

// NOLINTNEXTLINE(readability-function-size): a table
std::vector<Case> member_cases() {
  return {
      {"no_top_k", request(R"("top_k":5)"), "", R"("top_k":5)"},
      {"image_config", request(R"("imageAspectRatio":"1:1")"),
       R"("image_config":{"aspect_ratio":"1:1"})", ""},
      {"no_stream_options", request(""), "", R"("stream_options")"},
      {"no_user", request(R"("user":"u")"), "", R"("user":"u")"},
      {"developer_role", talk(R"([{"role":"developer","content":"d"}])"), R"("role":"developer")",
       R"("role":"system")"},
      {"max_completion_tokens", request(R"("max_tokens":9)"), R"("max_completion_tokens":9)",
       R"("max_tokens":9)"},
      {"max_new_tokens", request(R"("max_tokens":9)"), R"("max_new_tokens":9)",
       R"("max_tokens":9)"},
      {"prompt_cache_key", request(R"("user":"u")", "gpt-4o"),
       R"("prompt_cache_key":"millrace:u:gpt-4o")", ""},
      {"parallel_tool_calls", request(tool), R"("parallel_tool_calls":true)", ""},
      {"tool_stream", request(tool), R"("tool_stream":true)", ""},
      {"no_tools", request(tool), "tools: The provider takes none", R"("tools":[)"},
      {"tool_limit_128", request(many_tools()), "129 tools are more than the 128", R"("t128")"},
      {"tool_choice_auto_only", request(std::string(tool) + R"(,"tool_choice":"required")"), "",
       R"("tool_choice":"required")"},
      {"explicit_tool_choice", request(tool), R"("tool_choice":"auto")", ""},
      {"no_json_schema", request(schema), R"(JSON Schema)", R"("type":"json_schema")"},
      {"no_format_with_tools", request(std::string(tool) + "," + std::string(schema)), "not both",
       R"("response_format":{)"},
      {"few_json_schema", request(schema), R"(JSON Schema)", R"("type":"json_schema")"},
      {"cache_control_parts", request(R"("enabledContextCaching":true)"),
       R"("cache_control":{"type":"ephemeral"})", ""},
      {"blank_assistant_content",
       talk(
           R"([{"role":"user","content":"a"},{"role":"assistant","content":""},{"role":"user","content":"b"}])"),
       R"("content":" ")", "Messages that say nothing are left out: 1."},
      {"images_by_value",
       talk(
           R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://e/x.png"}}]}])"),
       "images go by value", "https://e/x.png"},
      {"no_images",
       talk(
           R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://e/x.png"}}]}])"),
       "it takes no images", "https://e/x.png"},
      {"video_parts",
       talk(
           R"([{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://e/x.mp4"}}]}])"),
       R"("type":"video_url")", "it takes no videos"},
      {"reasoning_content_back",
       talk(
           R"([{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning":{"content":"why"}},{"role":"user","content":"c"}])"),
       R"("reasoning_content":"why")", ""},
      {"reasoning_details_back",
       talk(
           R"([{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning":{"content":"t"}},{"role":"user","content":"c"}])"),
       R"("reasoning_details":[{"type":"reasoning.text")", ""},
      {"reasoning_member",
       talk(
           R"([{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"t"},{"role":"user","content":"c"}])"),
       R"("reasoning":"t")", R"("reasoning_content":"t")"},
      {"one_answer", request(R"("n":2)"), "", R"("n":2)"},
      {"no_logprobs", request(R"("logprobs":true,"top_logprobs":2,"logit_bias":{"1":1})"), "",
       R"("logit_bias":{"1":1})"},
      {"no_names", talk(R"([{"role":"user","name":"Ann","content":"q"}])"), "", R"("name":"Ann")"},
      {"reasoning_split", request(""), R"("reasoning_split":true)", ""},
      {"always_streams", request(R"("stream":false)"), R"("stream":true)", R"("stream":false)"},
      {"no_stream_with_tools", request(tool), R"("stream":false)", R"("stream":true)"},
      {"no_stream_o1", request("", "o1"), R"("stream":false)", R"("stream":true)"},
      {"no_stream_with_schema", request(schema), R"("stream":false)", R"("stream":true)"},
      {"temperature_to_one", request(R"("temperature":1.5)"), "", R"("temperature":1.5)"},
      {"no_zero_temperature", request(R"("temperature":0)"), "", R"("temperature":0)"},
      {"temperature_below_two", request(R"("temperature":2)"), "", R"("temperature":2)"},
      {"temperature_to_1_5", request(R"("temperature":1.75)"), R"("temperature":1.5)",
       R"("temperature":1.75)"},
      {"open_temperature", request(R"("temperature":1.5)"), R"("temperature":0.99)",
       R"("temperature":1.5)"},
      {"open_top_p", request(R"("top_p":1)"), R"("top_p":0.99)", R"("top_p":1)"},
      {"top_p_above_zero", request(R"("top_p":0)"), R"("top_p":0.01)", R"("top_p":0})"},
      {"no_penalties", request(R"("presence_penalty":1)"), "", R"("presence_penalty":1)"},
      {"no_frequency_penalty", request(R"("frequency_penalty":1)"), "", R"("frequency_penalty":1)"},
      {"one_penalty", request(R"("frequency_penalty":1,"presence_penalty":1)"), "",
       R"("frequency_penalty":1)"},
      {"penalties_to_one", request(R"("presence_penalty":2)"), R"("presence_penalty":1)",
       R"("presence_penalty":2)"},
      {"thinking_object", request(thinking), R"("thinking":{"type":"enabled"})", ""},
      {"clear_thinking", request(R"("thinking":{"clear_thinking":false})"), "",
       "thinking.clear_thinking: The API has no such setting."},
      {"clear_thinking_member", request(R"("thinking":{"clear_thinking":false})", "zai-glm-4.7"),
       R"("clear_thinking":false)", "thinking.clear_thinking: The API has no such setting."},
      {"enable_thinking", request(thinking), R"("enable_thinking":true,"thinking_budget":2048)",
       ""},
      {"adaptive_object", request(thinking, "MiniMax-M3"), R"("thinking":{"type":"adaptive"})", ""},
      {"template_thinking", request(thinking), R"("chat_template_kwargs":{"thinking":true)", ""},
      {"reasoning_object", request(thinking), R"("reasoning":{"max_tokens":2048})", ""},
      {"effort_switch", request(R"("reasoning_effort":"high")", "qwen/qwen3-32b"),
       R"("reasoning_effort":"default")", R"("reasoning_effort":"high")"},
      {"search_enable", request(search), R"("enable_search":true)", ""},
      {"search_tool", request(search), R"("type":"web_search")", ""},
      {"search_engine", request(search), R"("search_engine":"search_std")", ""},
      {"search_performance", request(search), R"("search_mode":"performance_first")", ""},
      {"search_auto", request(search), R"("web_search":{"search_mode":"auto"})", ""},
      {"search_described", request(search), R"({"type":"web_search","function":{"description":)",
       ""},
      {"search_enabled", request(search), R"("webSearchEnabled":true)", ""},
      {"search_builtin", request(search), R"("name":"$web_search")", ""},
      {"search_suffix", request(search), R"("model":"m:online")", R"("model":"m")"},
      {"search_enhancement", request(search), R"("enable_enhancement":true)", ""},
      {"search_object", request(search), R"("web_search":{"enable":true)", ""},
      {"search_always", request(search), "", "enabledSearch:"},
  };
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> both = message_cases();
    for (const Case& c : member_cases()) both.push_back(c);
    for (const Case& c : vendor_cases()) both.push_back(c);
    return both;
  }();
  return all;
}

// URL, body, notes: everything a quirk may change.
std::string outcome(std::string_view quirks, const std::string& payload) {
  const auto built = test::build(
      R"({"provider":"test","apiKey":"k","quirks":{)" + std::string(quirks) +
          R"(},"custom":{"dialect":"openai_chat","auth":"bearer","baseURL":"https://e/v1"}})",
      payload);
  if (!built) return built.error().message;
  std::string text = built.value().request.url + "\n" + built.value().request.body;
  for (const model::Note& note : built.value().notes)
    text += "\n" + note.what + ": " + note.sentence;
  return text;
}

TEST(Quirks, ChangeTheRequestWhenSet) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.quirk);
    const std::string base = c.beside.empty() ? "" : "\"" + std::string(c.beside) + "\":true";
    const std::string comma = base.empty() ? "" : ",";
    const std::string with =
        outcome(base + comma + "\"" + std::string(c.quirk) + "\":true", c.payload);
    const std::string without = outcome(base, c.payload);
    EXPECT_NE(with, without);
    if (!c.with.empty()) {
      EXPECT_NE(with.find(c.with), std::string::npos) << with;
      EXPECT_EQ(without.find(c.with), std::string::npos) << without;
    }
    if (!c.without.empty()) {
      EXPECT_NE(without.find(c.without), std::string::npos) << without;
    }
    if (c.with.empty()) {
      EXPECT_EQ(with.find(c.without), std::string::npos) << with;
    }
  }
}

// Those that choose the Responses API or its tools.
TEST(Quirks, ChooseTheResponsesApi) {
  const std::string mode = request(R"("apiMode":"responses")");
  EXPECT_NE(outcome(R"("responses_api":true)", mode).find("https://e/v1/responses"),
            std::string::npos);
  EXPECT_NE(outcome("", mode).find("does not serve the Responses API"), std::string::npos);
  EXPECT_NE(
      outcome(R"("responses_api":true,"responses_first":true)", request("")).find("/responses"),
      std::string::npos);
  EXPECT_NE(outcome(R"("responses_api":true)", request("")).find("/chat/completions"),
            std::string::npos);
  constexpr std::string_view gpt = R"("responses_api":true,"responses_gpt":true)";
  EXPECT_NE(outcome(gpt, request("", "gpt-5.5")).find("/responses"), std::string::npos);
  EXPECT_NE(outcome(gpt, request("", "gpt-5")).find("/chat/completions"), std::string::npos);
  EXPECT_NE(outcome(R"("responses_api":true,"search_responses":true)", request(search))
                .find("/responses"),
            std::string::npos);
  const std::string x =
      outcome(R"("responses_api":true,"responses_first":true,"search_x":true)", request(search));
  EXPECT_NE(x.find(R"({"type":"x_search"})"), std::string::npos) << x;
}

// Those of servers that speak Anthropic's dialect, and of addresses.
TEST(Quirks, ChangeClaudesDialect) {
  const auto body = [](std::string_view quirks, const std::string& payload) {
    return test::body_of(test::build(
        R"({"provider":"test","apiKey":"k","quirks":{)" + std::string(quirks) +
            R"(},"custom":{"dialect":"anthropic","auth":"x_api_key","baseURL":"https://e"}})",
        payload));
  };
  const std::string warm = request(R"("temperature":1.5)");
  EXPECT_TRUE(test::has(body(R"("temperature_to_two":true)", warm), R"("temperature":1.5)"));
  EXPECT_TRUE(test::has(body("", warm), R"("temperature":1})"));
  const std::string answer = request(
      R"("response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}}})",
      "claude-sonnet-4-5");
  EXPECT_TRUE(test::has(body(R"("claude_server":true)", answer), R"("output_config")"));
  EXPECT_FALSE(test::has(body("", answer), R"("output_config")"));
}

TEST(Quirks, CutAnAddressAtItsResource) {
  const auto url = [](std::string_view quirks) {
    const auto config = model::read_config(
        R"({"provider":"test","apiKey":"k","baseURL":"https://e/openai","custom":{"dialect":"openai_chat","auth":"bearer","quirks":{)" +
        std::string(quirks) + "}}}");
    return config ? config.value().base_url : config.error().message;
  };
  EXPECT_EQ(url(R"("resource_address":true)"), "https://e");
  EXPECT_EQ(url(""), "https://e/openai");
}

// Reasoning that no total shows to be in the completion or beside it.
TEST(Quirks, SayWhereReasoningIsCounted) {
  json::Document document;
  const auto reported = document.parse(
      R"({"prompt_tokens":10,"completion_tokens":20,"completion_tokens_details":{"reasoning_tokens":5}})");
  ASSERT_TRUE(reported.ok());
  const auto output = [&](const model::ModelUsage& usage) {
    return usage[model::Tokens::total_output];
  };
  using model::read_vendor_usage;
  const auto rules = model::usage_rules(model::Quirks::of(model::Quirk::reasoning_beside));
  EXPECT_EQ(output(read_vendor_usage(rules, reported.value())), 25);
  EXPECT_EQ(output(read_vendor_usage(model::usage_rules({}), reported.value())), 20);
  for (const auto& [provider, tokens] : {std::pair{"xai", 25}, std::pair{"grok", 25},
                                         std::pair{"openai", 20}, std::pair{"unknown", 20}}) {
    EXPECT_EQ(output(read_vendor_usage(provider, reported.value())), tokens) << provider;
  }
}

// A flag that is of certain models leaves the others alone, and knows no case of letters.
TEST(Quirks, ConcernTheirModels) {
  using model::applies;
  using model::Quirk;
  const auto one = model::Quirks::of(Quirk::no_stream_o1, Quirk::image_names,
                                     Quirk::few_reasoning_back, Quirk::no_user);
  for (const std::string_view name : {"o1", "openai/o1", "O1-mini"}) {
    EXPECT_TRUE(applies(one, Quirk::no_stream_o1, name)) << name;
  }
  for (const std::string_view name : {"o10", "gpt-o1", "o1/m"}) {
    EXPECT_FALSE(applies(one, Quirk::no_stream_o1, name)) << name;
  }
  EXPECT_TRUE(applies(one, Quirk::image_names, "google/nano-image"));
  EXPECT_FALSE(applies(one, Quirk::image_names, "google/nano-image-text"));
  EXPECT_TRUE(applies(one, Quirk::few_reasoning_back, "llama-3"));
  EXPECT_FALSE(applies(one, Quirk::few_reasoning_back, "Qwen/Qwen3-32B"));
  EXPECT_TRUE(applies(one, Quirk::no_user, "m"));
  EXPECT_FALSE(applies(one, Quirk::effort_switch, "qwen3"));
}

// Groq makes 1e-8 of it; without it its own default would hold.
// Source: https://console.groq.com/docs/openai (2026-11).
TEST(Quirks, LeaveGroqATemperatureOfZero) {
  const std::string body = test::body_of(
      test::build(test::settings_of("groq"), request(R"("temperature":0)", "llama-3.3-70b")));
  EXPECT_NE(body.find(R"("temperature":0)"), std::string::npos) << body;
  const std::string on_lobe_scale =
      test::body_of(test::build(test::settings_of("groq", R"("temperatureScale":"lobe")"),
                                request(R"("temperature":0)", "llama-3.3-70b")));
  EXPECT_EQ(on_lobe_scale.find(R"("temperature")"), std::string::npos) << on_lobe_scale;
}

TEST(Quirks, AllHaveACase) {
  std::set<std::string_view> tested{"responses_api",    "responses_first", "responses_gpt",
                                    "search_responses", "search_x",        "plain_think_tags",
                                    "late_think_tags",  "claude_server",   "temperature_to_two",
                                    "resource_address", "no_lobe_zero",    "reasoning_beside"};
  for (const Case& c : cases()) tested.insert(c.quirk);
  for (const model::QuirkRow& row : model::quirks()) {
    EXPECT_TRUE(tested.contains(row.name)) << row.name << " has no test";
  }
}

}  // namespace
}  // namespace millrace
