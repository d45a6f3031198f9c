// Where each parameter stands in the body of its vendor: the value at one JSON pointer (RFC 6901),
// which is another one, or none, without the parameter.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "model/build.hpp"

using namespace millrace;

namespace {

// A request of a wire: what a caller gives beside one question, and where it is in the body.
struct Place {
  std::string_view provider;
  std::string_view model;
  std::string_view given;  // members of the payload
  std::string_view pointer;
  std::string_view value;      // JSON
  std::string_view base = {};  // members that the parameter needs
};

std::string members_of(std::string_view base, std::string_view given) {
  std::string more(base);
  if (!base.empty() && !given.empty()) more.push_back(',');
  return more.append(given);
}

// The payload with a question, unless the members hold messages.
std::string payload_at(std::string_view model, const std::string& members) {
  if (members.find(R"("messages":)") == std::string::npos) return test::question(model, members);
  std::string text = "{";
  json::append_member(text, "model", model);
  return text + "," + members + "}";
}

Result<model::ChatRequest> request_at(const Place& place, bool is_given,
                                      std::string_view settings = {}) {
  return test::build(
      test::settings_of(place.provider, settings),
      payload_at(place.model, members_of(place.base, is_given ? place.given : std::string_view())));
}

// The JSON at the pointer, or "".
std::string value_at(const std::string& body, std::string_view pointer) {
  json::Document document(json::data_depth_limit);
  const auto parsed = document.parse(body);
  if (!parsed) return "no JSON: " + body;
  json::Value value = parsed.value();
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    const std::string_view key = pointer.substr(0, end);
    json::Value next = value[key];
    std::size_t at = 0;
    for (const json::Value item : value.items()) {
      if (std::to_string(at++) == key) next = item;
    }
    value = next;
    pointer.remove_prefix(end);
  }
  return value.exists() ? value.to_json() : "";
}

std::string sent_at(const Result<model::ChatRequest>& request, std::string_view pointer) {
  return request ? value_at(request.value().request.body, pointer) : request.error().message;
}

template <class Places>
void expect_at_their_places(const Places& places) {
  for (const Place& place : places) {
    SCOPED_TRACE(std::string(place.provider) + " " + std::string(place.given));
    const auto request = request_at(place, true);
    EXPECT_EQ(sent_at(request, place.pointer), place.value) << test::body_of(request);
    const auto without = request_at(place, false);
    EXPECT_TRUE(without.ok()) << test::body_of(without);
    EXPECT_NE(sent_at(without, place.pointer), place.value) << "it is there without the parameter";
  }
}

std::string notes_in(const Result<model::ChatRequest>& request) {
  if (!request) return request.error().message;
  std::string text;
  for (const model::Note& note : request.value().notes) {
    text.append(note.what).append(": ").append(note.sentence).append("\n");
  }
  return text;
}

constexpr std::string_view responses_mode = R"("apiMode":"responses")";
constexpr std::string_view chat_mode = R"("apiMode":"chat")";
constexpr std::string_view one_tool = R"("tools":[{"type":"function","function":{"name":"f"}}])";
constexpr std::string_view chat_and_tool =
    R"("apiMode":"chat","tools":[{"type":"function","function":{"name":"f"}}])";
constexpr std::string_view responses_and_tool =
    R"("apiMode":"responses","tools":[{"type":"function","function":{"name":"f"}}])";

}  // namespace

TEST(WireParameters, OpenAiResponses) {
  constexpr std::array places{
      Place{"openai", "gpt-5",
            R"("text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}})",
            "/text/format", R"({"type":"json_schema","name":"n","schema":{"type":"object"}})",
            responses_mode},
      Place{"openai", "gpt-5", R"("text":{"format":{"type":"text"},"verbosity":"low"})",
            "/text/verbosity", R"("low")", responses_mode},
      Place{"openai", "gpt-4.1", R"("top_logprobs":3)", "/top_logprobs", "3", responses_mode},
      Place{"openai", "gpt-4.1", R"("top_logprobs":3)", "/include/0",
            R"("message.output_text.logprobs")", responses_mode},
      Place{"openai", "gpt-5", R"("reasoning":{"context":"auto"})", "/reasoning/context",
            R"("auto")", responses_mode},
      Place{"openai", "gpt-5", R"("reasoning":{"generate_summary":"concise"})",
            "/reasoning/generate_summary", R"("concise")", responses_mode},
      Place{"openai", "gpt-5",
            R"("format":"openai_conversation","messages":[{"type":"message","role":"user",)"
            R"("content":[{"type":"input_file","file_id":"f","detail":"low"}]}])",
            "/input/0/content/0/detail", R"("low")", responses_mode},
      Place{
          "openai", "gpt-5",
          R"("format":"openai_conversation","messages":[{"type":"message","role":"user",)"
          R"("content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}])",
          "/input/0/content/0/prompt_cache_breakpoint/mode", R"("explicit")", responses_mode},
      Place{"openai", "gpt-4.1", R"("logprobs":true)", "/include",
            R"(["message.output_text.logprobs"])", responses_mode},
      Place{"openai", "gpt-4.1",
            R"("logprobs":true,"include":["message.output_text.logprobs","x"])", "/include",
            R"(["message.output_text.logprobs","x"])", responses_mode},
      Place{"openai", "gpt-5",
            R"("messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"},)"
            R"("prompt_cache_breakpoint":{"mode":"explicit"}}]}])",
            "/input/0/content/0/prompt_cache_breakpoint/mode", R"("explicit")", responses_mode},
      Place{"openai", "gpt-5",
            R"("messages":[{"role":"user","content":[{"type":"text","text":"a",)"
            R"("prompt_cache_breakpoint":{"mode":"explicit"}}]}])",
            "/input/0/content/0/prompt_cache_breakpoint", R"({"mode":"explicit"})", responses_mode},
      Place{"openai", "gpt-5", R"("prompt":{"id":"p"})", "/prompt", R"({"id":"p"})",
            responses_mode},
      Place{"openai", "gpt-5", R"("prompt_cache_options":{"mode":"implicit"})",
            "/prompt_cache_options/mode", R"("implicit")", responses_mode},
      Place{"openai", "gpt-5", R"("tool_choice":{"type":"auto","disable_parallel_tool_use":true})",
            "/parallel_tool_calls", "false", responses_and_tool},
  };
  expect_at_their_places(places);
}

// The mark is in both APIs of OpenAI, so that nothing is left out.
TEST(WireParameters, AMarkOfOneOpenAiApiIsNoLossInTheOther) {
  const auto notes_of = [](std::string_view part) {
    const std::string given = std::string(responses_mode) +
                              R"(,"messages":[{"role":"user","content":[)" + std::string(part) +
                              "]}]";
    return notes_in(test::build(test::settings_of("openai"), payload_at("gpt-4.1", given)));
  };
  EXPECT_EQ(notes_of(R"({"type":"text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}})"),
            "");
  EXPECT_NE(notes_of(R"({"type":"text","text":"a","more":1,"prompt_cache_breakpoint":{}})"), "");
}

TEST(WireParameters, OpenAiChat) {
  constexpr std::array places{
      Place{"openai", "gpt-4.1", R"("top_logprobs":3)", "/top_logprobs", "3", chat_mode},
      Place{"openai", "gpt-4.1", R"("top_logprobs":3)", "/logprobs", "true", chat_mode},
      Place{"openai", "gpt-4.1", R"("prompt_cache_options":{"mode":"implicit"})",
            "/prompt_cache_options/mode", R"("implicit")", chat_mode},
      Place{"openai", "gpt-4.1",
            R"("messages":[{"role":"user","content":[{"type":"text","text":"a",)"
            R"("prompt_cache_breakpoint":{"mode":"explicit"}}]}])",
            "/messages/0/content/0/prompt_cache_breakpoint", R"({"mode":"explicit"})", chat_mode},
      Place{"openai", "gpt-4.1",
            R"("tool_choice":{"type":"auto","disable_parallel_tool_use":true})",
            "/parallel_tool_calls", "false", chat_and_tool},
      Place{"openai", "gpt-4.1", R"("text":{"verbosity":"low"})", "/verbosity", R"("low")",
            chat_mode},
      Place{"mistral", "mistral-large", R"("guardrails":[{"block_on_error":true}])",
            "/guardrails/0/block_on_error", "true"},
  };
  expect_at_their_places(places);
}

TEST(WireParameters, Anthropic) {
  constexpr std::string_view search =
      R"("tools":[{"type":"web_search_20250305","name":"web_search"}])";
  constexpr std::array places{
      Place{"anthropic", "claude-sonnet-4-5", R"("output_config":{"task_budget":{"total":9}})",
            "/output_config/task_budget/total", "9"},
      Place{"anthropic", "claude-sonnet-4-5", R"("speed":"fast")", "/speed", R"("fast")"},
      Place{"anthropic", "claude-sonnet-4-5", R"("stop_sequences":["x"])", "/stop_sequences/0",
            R"("x")"},
      Place{"anthropic", "claude-sonnet-4-5", R"("diagnostics":{"previous_message_id":"m"})",
            "/diagnostics/previous_message_id", R"("m")"},
      Place{"anthropic", "claude-sonnet-4-5", R"("user_profile_id":"u")", "/user_profile_id",
            R"("u")"},
      Place{"anthropic", "claude-sonnet-4-5", R"("workspace_id":"w")", "/workspace_id", R"("w")"},
      Place{"anthropic", "claude-sonnet-4-5",
            R"("tool_choice":{"type":"auto","disable_parallel_tool_use":true})",
            "/tool_choice/disable_parallel_tool_use", "true", one_tool},
      Place{"anthropic", "claude-sonnet-4-5",
            R"("tool_choice":{"type":"tool","name":"web_search"})", "/tool_choice/name",
            R"("web_search")", search},
      Place{"anthropic", "claude-sonnet-5-5", R"("thinking":{"type":"between_tools"})",
            "/thinking/type", R"("between_tools")"},
      Place{"anthropic", "claude-opus-4-6", R"("thinking":{"type":"adaptive","display":"updates"})",
            "/thinking/display", R"("updates")"},
      Place{"anthropic", "claude-sonnet-4-5",
            R"("tools":[{"type":"advisor_20260301","name":"advisor"}])", "/tools/0/type",
            R"("advisor_20260301")"},
  };
  expect_at_their_places(places);
}

// Members that the API knows behind a header alone.
TEST(WireParameters, AnthropicsBetas) {
  struct Row {
    std::string_view model;
    std::string_view given;
    std::string_view beta;
  };
  constexpr std::array rows{
      Row{"claude-sonnet-4-5", R"("tools":[{"type":"advisor_20260301","name":"advisor"}])",
          "advisor-tool-2026-03-01"},
      Row{"claude-opus-4-6", R"("thinking":{"type":"adaptive","display":"updates"})",
          "thinking-display-updates-2026-08-18"},
  };
  for (const Row& row : rows) {
    const auto beta_of = [&](std::string_view more) {
      const auto request =
          test::build(test::settings_of("anthropic"), test::question(row.model, more));
      return request ? test::header_of(request.value().request, "anthropic-beta")
                     : request.error().message;
    };
    EXPECT_EQ(beta_of(row.given), row.beta) << row.given;
    EXPECT_EQ(beta_of(""), "");
  }
}

TEST(WireParameters, Gemini) {
  constexpr std::array places{
      Place{"gemini", "gemini-3-pro-preview", R"("serviceTier":"flex")", "/serviceTier",
            R"("flex")"},
      Place{"gemini", "gemini-3-pro-preview", R"("mediaResolution":"MEDIA_RESOLUTION_LOW")",
            "/generationConfig/mediaResolution", R"("MEDIA_RESOLUTION_LOW")"},
      Place{"gemini", "gemini-3-pro-preview", R"("responseModalities":["AUDIO"])",
            "/generationConfig/responseModalities", R"(["AUDIO"])"},
      Place{"gemini", "gemini-3-pro-preview",
            R"("responseModalities":["AUDIO"],"speechConfig":{"languageCode":"de"})",
            "/generationConfig/speechConfig/languageCode", R"("de")"},
      Place{"gemini", "gemini-3-pro-preview",
            R"("toolConfig":{"retrievalConfig":{"languageCode":"de"}})",
            "/toolConfig/retrievalConfig/languageCode", R"("de")"},
      Place{"gemini", "gemini-3-pro-preview",
            R"("toolConfig":{"retrievalConfig":{"languageCode":"de"}},"tool_choice":"required")",
            "/toolConfig/functionCallingConfig/mode", R"("ANY")", one_tool},
      Place{"gemini", "gemini-3-pro-preview",
            R"("toolConfig":{"retrievalConfig":{"languageCode":"de"}},"tool_choice":"required")",
            "/toolConfig/retrievalConfig/languageCode", R"("de")", one_tool},
      Place{"gemini", "gemini-3-pro-preview", R"("imageConfig":{"imageSize":"1K"})",
            "/generationConfig/imageConfig/imageSize", R"("1K")"},
      Place{"gemini", "gemini-3-pro-preview", R"("modelArmorConfig":{"promptTemplateName":"p"})",
            "/modelArmorConfig/promptTemplateName", R"("p")"},
      Place{"gemini", "gemini-3-pro-preview",
            R"("tools":[{"mcpServers":[{"name":"m","streamableHttpTransport":{"url":"u"}}]}])",
            "/tools/0/mcpServers/0/streamableHttpTransport/url", R"("u")"},
      Place{"gemini", "gemini-3-pro-preview",
            R"("tools":[{"functionDeclarations":[{"name":"f","response":{"type":"OBJECT"}}]}])",
            "/tools/0/functionDeclarations/0/response/type", R"("OBJECT")"},
      Place{"gemini", "gemini-3-pro-preview",
            R"("tools":[{"functionDeclarations":[{"name":"f","behavior":"NON_BLOCKING"}]}])",
            "/tools/0/functionDeclarations/0/behavior", R"("NON_BLOCKING")"},
      Place{"gemini", "gemini-3-pro-preview",
            R"("tools":[{"type":"function","function":{"name":"f"}},{"googleSearch":{}}])",
            "/toolConfig/includeServerSideToolInvocations", "true"},
      Place{"vertexai", "gemini-3-pro-preview", R"("mediaResolution":"MEDIA_RESOLUTION_LOW")",
            "/generationConfig/mediaResolution", R"("MEDIA_RESOLUTION_LOW")"},
  };
  expect_at_their_places(places);
}

TEST(WireParameters, BedrockOllamaAndCohere) {
  constexpr std::array places{
      Place{"bedrock", "anthropic.claude-opus-4-6-v1", R"("serviceTier":{"type":"flex"})",
            "/serviceTier/type", R"("flex")"},
      Place{"bedrock", "openai.gpt-oss-120b-1:0", R"("outputConfig":{"effort":"low"})",
            "/outputConfig/effort", R"("low")"},
      Place{"ollama", "llama3", R"("temperature":0.5,"options":{"mirostat":2})",
            "/options/mirostat", "2"},
      Place{"ollama", "llama3", R"("temperature":0.5,"options":{"mirostat":2})",
            "/options/temperature", "0.5"},
      Place{"ollama", "llama3", R"("options":{"num_thread":2})", "/options/num_thread", "2"},
      Place{"ollama", "llama3", R"("think":true)", "/think", "true"},
      Place{"ollama", "llama3", R"("think":"high")", "/think", R"("high")"},
      Place{"cohere", "command-a", R"("safety_mode":"OFF")", "/safety_mode", R"("OFF")"},
  };
  expect_at_their_places(places);
}

// Members of LobeHub's payload alone have a place in each vendor's own form.
TEST(WireParameters, OfLobeHubsMembers) {
  constexpr std::array places{
      Place{"gemini", "gemini-3-pro-preview", R"("thinkingLevel":"low")",
            "/generationConfig/thinkingConfig/thinkingLevel", R"("low")"},
      Place{"gemini", "gemini-2.5-flash", R"("thinkingBudget":2048)",
            "/generationConfig/thinkingConfig/thinkingBudget", "2048"},
      Place{"gemini", "gemini-3-pro-preview", R"("enabledSearch":true)", "/tools/0/googleSearch",
            "{}"},
      Place{"gemini", "gemini-3-pro-preview", R"("urlContext":true)", "/tools/0/urlContext", "{}"},
      Place{"gemini", "gemini-2.5-flash-image", R"("imageAspectRatio":"16:9")",
            "/generationConfig/imageConfig/aspectRatio", R"("16:9")"},
      Place{"anthropic", "claude-sonnet-4-5", R"("enabledSearch":true)", "/tools/0/name",
            R"("web_search")"},
      Place{"anthropic", "claude-sonnet-4-5", R"("enabledContextCaching":true)",
            "/messages/0/content/0/cache_control/type", R"("ephemeral")"},
      Place{"openai", "gpt-5", R"("effort":"max")", "/reasoning/effort", R"("high")",
            responses_mode},
      Place{"openai", "gpt-4.1", R"("deploymentName":"mine")", "/model", R"("mine")"},
  };
  expect_at_their_places(places);
}

// The settings' `body` reaches every wire, also where the wire writes the member itself.
TEST(WireParameters, OfTheBodyOfTheSettings) {
  constexpr std::string_view patch = R"("body":{"brand_new":{"a":[1]}})";
  constexpr std::array places{
      Place{"openai", "gpt-5", "", "/brand_new/a/0", "1", responses_mode},
      Place{"openai", "gpt-4.1", "", "/brand_new/a/0", "1", chat_mode},
      Place{"mistral", "mistral-large", "", "/brand_new/a/0", "1"},
      Place{"anthropic", "claude-sonnet-4-5", "", "/brand_new/a/0", "1"},
      Place{"gemini", "gemini-3-pro-preview", "", "/brand_new/a/0", "1"},
      Place{"vertexai", "gemini-3-pro-preview", "", "/brand_new/a/0", "1"},
      Place{"bedrock", "amazon.nova-lite-v1:0", "", "/brand_new/a/0", "1"},
      Place{"cohere", "command-a", "", "/brand_new/a/0", "1"},
      Place{"ollama", "llama3", "", "/brand_new/a/0", "1"},
  };
  for (const Place& place : places) {
    SCOPED_TRACE(place.provider);
    const auto request = request_at(place, true, patch);
    EXPECT_EQ(sent_at(request, place.pointer), place.value) << test::body_of(request);
    EXPECT_EQ(sent_at(request_at(place, true), place.pointer), "");
  }
}

// What does not go to the provider that a chain fell back to is named.
TEST(WireParameters, OfAFallback) {
  struct Row {
    std::string_view provider;
    std::string_view model;
    std::string_view given;
    std::string_view pointer;
    std::string_view note;
  };
  constexpr std::array rows{
      Row{"anthropic", "claude-sonnet-4-5", R"("prompt":{"id":"p"})", "/prompt", "prompt: "},
      Row{"anthropic", "claude-sonnet-4-5", R"("modelArmorConfig":{"a":1})", "/modelArmorConfig",
          "modelArmorConfig: "},
      Row{"openai", "gpt-4.1", R"("speed":"fast")", "/speed", "speed: "},
      Row{"openai", "gpt-4.1", R"("brand_new":{"a":1})", "/brand_new", "brand_new: "},
      Row{"gemini", "gemini-3-pro-preview", R"("guardrails":[])", "/guardrails", "guardrails: "},
      Row{"ollama", "llama3", R"("serviceTier":"flex")", "/serviceTier", "serviceTier: "},
      Row{"cohere", "command-a", R"("options":{"mirostat":2})", "/options", "options: "},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.given);
    CountingIds ids("id-");
    const auto config = model::read_config(test::settings_of(row.provider));
    ASSERT_TRUE(config.ok());
    const auto read = model::read_payload(test::question(row.model, row.given), ids);
    ASSERT_TRUE(read.ok());
    const auto request =
        model::build_chat(config.value(), read.value(), ids, {test::test_time, 0, "token"}, true);
    ASSERT_TRUE(request.ok()) << request.error().message;
    EXPECT_EQ(sent_at(request, row.pointer), "");
    EXPECT_NE(notes_in(request).find(row.note), std::string::npos) << notes_in(request);
  }
}
