// What becomes of each field of a payload on each wire: it is sent, mapped, refused, or left out
// with a note that says so. Nothing is dropped in silence. MILLRACE_WRITE_GOLDEN=1 writes the file
// anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "model/build.hpp"
#include "support/golden.hpp"
#include "support/source_folder.hpp"

namespace millrace {
namespace {

constexpr std::string_view golden_file = "requests/fields.md";
constexpr std::string_view plain_messages = R"([{"role":"user","content":"Hi"}])";
constexpr std::string_view tool =
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";

// How a chat goes: a provider, a model and further members of the payload.
struct Way {
  std::string_view name;
  std::string_view provider;
  std::string_view model;
  std::string_view more;  // `"key":value`, or ""
};
constexpr std::array ways{
    Way{"chat", "openai", "gpt-4o-mini", R"("apiMode":"chat")"},
    Way{"chat_reasoning", "openai", "gpt-5", R"("apiMode":"chat")"},
    Way{"chat_compatible", "togetherai", "m", ""},
    Way{"responses", "openai", "gpt-5", R"("apiMode":"responses")"},
    Way{"anthropic", "anthropic", "claude-sonnet-4-5", ""},
    Way{"anthropic_adaptive", "anthropic", "claude-opus-4-6", ""},
    Way{"anthropic_newest", "anthropic", "claude-opus-5-5", ""},
    Way{"gemini", "google", "gemini-2.5-flash", ""},
    Way{"gemini_level", "google", "gemini-3-pro-preview", ""},
    Way{"gemini_image", "google", "gemini-2.5-flash-image", ""},
    Way{"bedrock_claude", "bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", ""},
    Way{"openrouter_image", "openrouter", "google/gemini-2.5-flash-image", ""},
    Way{"bedrock_nova", "bedrock", "amazon.nova-lite-v1:0", ""},
    Way{"cohere", "cohere", "command-a-03-2025", ""},
    Way{"ollama", "ollama", "llama3.2", ""},
    Way{"mistral", "mistral", "mistral-small-latest", ""},
};

// A field: members of the payload, or messages, beside those of the base.
struct Field {
  std::string_view name;
  std::string_view more;
  std::string_view base = {};      // members that the field needs
  std::string_view messages = {};  // instead of one question
  std::string_view instead = {};   // members that the field replaces
};

#define MILLRACE_USER(part) \
  R"([{"role":"user","content":[{"type":"text","text":"Hi"},)" part R"(]}])"
#define MILLRACE_TURNS(assistant) \
  R"([{"role":"user","content":"a"},)" assistant R"(,{"role":"user","content":"c"}])"

constexpr std::array fields{
    Field{"temperature", R"("temperature":0.5)"},
    Field{"temperature above 1", R"("temperature":1.5)"},
    Field{"top_p", R"("top_p":0.5)"},
    Field{"temperature and top_p", R"("temperature":0.5,"top_p":0.5)"},
    Field{"top_k", R"("top_k":5)"},
    Field{"max_tokens", R"("max_tokens":100)"},
    Field{"frequency_penalty", R"("frequency_penalty":0.5)"},
    Field{"presence_penalty", R"("presence_penalty":0.5)"},
    Field{"n", R"("n":2)"},
    Field{"seed", R"("seed":7)"},
    Field{"stop", R"("stop":["END"])"},
    Field{"logprobs", R"("logprobs":true,"top_logprobs":2)"},
    Field{"tools", tool},
    Field{
        "tools strict",
        R"("tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object"}}}])",
        "", "", tool},
    Field{"tool of the provider", R"("tools":[{"type":"special_tool","size":1}])"},
    Field{"tool_choice none", R"("tool_choice":"none")", tool},
    Field{"tool_choice auto", R"("tool_choice":"auto")", tool},
    Field{"tool_choice required", R"("tool_choice":"required")", tool},
    Field{"tool_choice named", R"("tool_choice":{"type":"function","function":{"name":"f"}})",
          tool},
    Field{"parallel_tool_calls", R"("parallel_tool_calls":false)", tool},
    Field{"response_format json_object", R"("response_format":{"type":"json_object"})"},
    Field{
        "response_format json_schema",
        R"("response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,"schema":{"type":"object"}}})"},
    Field{"enabledContextCaching", R"("enabledContextCaching":true)", tool},
    Field{"enabledSearch", R"("enabledSearch":true)"},
    Field{"urlContext", R"("urlContext":true)"},
    Field{"thinking enabled", R"("thinking":{"type":"enabled","budget_tokens":2048})"},
    Field{"thinking adaptive", R"("thinking":{"type":"adaptive"})"},
    Field{"thinking disabled", R"("thinking":{"type":"disabled"})"},
    Field{"thinkingBudget", R"("thinkingBudget":2048)"},
    Field{"thinkingLevel", R"("thinkingLevel":"low")"},
    Field{"reasoning_effort", R"("reasoning_effort":"low")"},
    Field{"reasoning_effort none", R"("reasoning_effort":"none")"},
    Field{"reasoning_effort minimal", R"("reasoning_effort":"minimal")"},
    Field{"reasoning_effort xhigh", R"("reasoning_effort":"xhigh")"},
    Field{"effort max", R"("effort":"max")"},
    Field{"reasoning.summary", R"("reasoning":{"summary":"auto"})"},
    Field{"reasoning.mode", R"("reasoning":{"mode":"pro"})"},
    Field{"verbosity", R"("verbosity":"low")"},
    Field{"text.verbosity", R"("text":{"verbosity":"low"})"},
    Field{"truncation", R"("truncation":"auto")"},
    Field{"imageAspectRatio", R"("imageAspectRatio":"16:9")"},
    Field{"imageResolution", R"("imageResolution":"2K")"},
    Field{"user", R"("user":"u1")"},
    Field{"deploymentName", R"("deploymentName":"mine")"},
    Field{"stream false", R"("stream":false)"},
    Field{"a member that nobody knows", R"("surprise":1)"},
    Field{"system prompt", "", "",
          R"([{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}])"},
    Field{"name", "", "", R"([{"role":"user","content":"Hi","name":"ann"}])"},
    Field{
        "image by value", "", "",
        MILLRACE_USER(
            R"({"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}})")},
    Field{"image by address", "", "",
          MILLRACE_USER(R"({"type":"image_url","image_url":{"url":"https://a.example/1.png"}})")},
    Field{"audio by value", "", "",
          MILLRACE_USER(R"({"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}})")},
    Field{"audio by address", "", "",
          MILLRACE_USER(R"({"type":"audio_url","audio_url":{"url":"https://a.example/1.wav"}})")},
    Field{
        "video by value", "", "",
        MILLRACE_USER(R"({"type":"video_url","video_url":{"url":"data:video/mp4;base64,AAAA"}})")},
    Field{"video by address", "", "",
          MILLRACE_USER(R"({"type":"video_url","video_url":{"url":"https://a.example/1.mp4"}})")},
    Field{
        "file by value", "", "",
        MILLRACE_USER(
            R"({"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}})")},
    Field{"file by id", "", "", MILLRACE_USER(R"({"type":"file","file":{"file_id":"file-1"}})")},
    Field{
        "thinking part", "", "",
        MILLRACE_TURNS(
            R"({"role":"assistant","content":[{"type":"thinking","thinking":"why","signature":"sig"},{"type":"text","text":"b"}]})")},
    Field{
        "reasoning of a turn", "", "",
        MILLRACE_TURNS(
            R"({"role":"assistant","content":"b","reasoning":{"content":"why","signature":"sig"}})")},
    Field{"reasoning of a turn, preserved", R"("preserveThinking":true)", "",
          MILLRACE_TURNS(R"({"role":"assistant","content":"b","reasoning":{"content":"why"}})")},
    Field{
        "reasoning items", "", "",
        MILLRACE_TURNS(
            R"({"role":"assistant","content":"b","reasoning":{"responseItems":[{"type":"reasoning","id":"rs_1","encrypted_content":"enc","summary":[]}]}})")},
    Field{
        "call and result", "", tool,
        R"([{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"r"}])"},
    Field{
        "call without result", "", tool,
        MILLRACE_TURNS(
            R"({"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]})")},
    Field{"result without call", "", tool,
          MILLRACE_TURNS(R"({"role":"tool","tool_call_id":"c9","content":"r"})")},
    Field{
        "image in a result", "", tool,
        R"([{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"r"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}])"},
    Field{"answer begun", "", "",
          R"([{"role":"user","content":"Hi"},{"role":"assistant","content":"It is"}])"},
};

std::string payload_of(const Way& way, const Field& field, bool with_field) {
  std::string text = "{";
  json::append_member(text, "model", way.model);
  const bool own = with_field && !field.messages.empty();
  json::append_raw_member(text, "messages", own ? field.messages : plain_messages);
  for (const std::string_view more : {way.more, field.base}) {
    if (!more.empty()) text.append(",").append(more);
  }
  const std::string_view more = with_field ? field.more : field.instead;
  if (!more.empty()) text.append(",").append(more);
  return text + "}";
}

Result<model::ChatRequest> built(const Way& way, const Field& field, bool with_field) {
  const bool aws = way.provider == "bedrock";
  const std::string_view keys =
      aws ? R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"test-secret")" : "";
  return test::build(test::settings_of(way.provider, keys), payload_of(way, field, with_field));
}

// What the field changed: members of the body, the address, notes, or the error.
std::string change_of(const Way& way, const Field& field) {
  const auto before = built(way, field, false);
  const auto after = built(way, field, true);
  if (!before) return "the base was refused: " + before.error().message;
  if (!after) {
    return "refused " + std::string(after.error().code_name()) + ": " + after.error().message;
  }
  return test::change_between(before.value(), after.value());
}

std::string table_of(const Way& way) {
  std::string text;
  for (const Field& field : fields) {
    text.append(field.name).append(" => ").append(change_of(way, field)).append("\n");
  }
  return text;
}

class Fields : public testing::TestWithParam<Way> {};

// What a way does without being asked, so that the field changes nothing.
bool goes_without_saying(const Way& way, const Field& field) {
  const bool chooses = way.name == "cohere" || way.name == "ollama";
  if (chooses && field.name == "tool_choice auto") return true;
  if (way.name == "anthropic_newest" && field.name == "thinking adaptive") return true;
  if (way.name == "bedrock_claude" && field.name == "reasoning_effort none") return true;
  return way.name.starts_with("bedrock") && field.name == "thinking disabled";
}

TEST_P(Fields, AreSentOrToldOf) {
  for (const Field& field : fields) {
    if (goes_without_saying(GetParam(), field)) continue;
    EXPECT_NE(change_of(GetParam(), field), "") << field.name << " is dropped in silence";
  }
}

TEST_P(Fields, AreAsWritten) {
  for (const test::GoldenCase& golden : test::golden_cases(std::string(golden_file))) {
    if (golden.name != GetParam().name) continue;
    ASSERT_NE(golden.block("fields"), nullptr);
    EXPECT_EQ(*golden.block("fields"), table_of(GetParam()));
    return;
  }
  ADD_FAILURE() << golden_file << " has no case " << GetParam().name;
}

TEST(FieldsFile, IsWrittenOnRequest) {
  if (std::getenv("MILLRACE_WRITE_GOLDEN") == nullptr) GTEST_SKIP() << "not asked for";
  std::ofstream out(test::source_folder().string() + "/test/golden/" + std::string(golden_file));
  out << "# What becomes of each field of a payload on each wire\n\nWritten by "
         "`MILLRACE_WRITE_GOLDEN=1 io_tests --gtest_filter=FieldsFile.*`; a change is looked at.\n";
  for (const Way& way : ways) {
    out << "\n## " << way.name << "\n\n```fields\n" << table_of(way) << "```\n";
  }
}

std::string name_of_way(const testing::TestParamInfo<Way>& info) {
  return std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(Wires, Fields, testing::ValuesIn(ways), name_of_way);

}  // namespace
}  // namespace millrace
