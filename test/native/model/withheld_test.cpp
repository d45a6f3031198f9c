// What only another provider reads is named once a request, its words are sent, and no turn is
// lost.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/build.hpp"

using namespace millrace;
using test::body_of;
using test::build;
using test::has;
using test::settings_of;

namespace {

Result<model::ChatRequest> sent(std::string_view provider, std::string_view format,
                                std::string_view messages, std::string_view more = {}) {
  std::string payload = R"({"model":"test-model","messages":)" + std::string(messages);
  json::append_member(payload, "format", format);
  payload.append(more.empty() ? "" : ",").append(more).append("}");
  const std::string keys = R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"s")";
  return build(settings_of(provider, provider == "bedrock" ? keys : ""), payload);
}

// The sentences of notes about what other providers made.
std::vector<std::string> withheld(const Result<model::ChatRequest>& built) {
  std::vector<std::string> found;
  if (!built) return found;
  for (const model::Note& note : built.value().notes) {
    if (has(note.sentence, "other providers made")) found.push_back(note.sentence);
  }
  return found;
}

struct Case {
  std::string format;
  std::string messages;
  std::string named;  // in the note
  std::string words;  // in the body
};

const Case cases[] = {
    {"anthropic",
     R"([{"role":"user","content":[{"type":"search_result","source":"s","title":"T","content":)"
     R"([{"type":"text","text":"Found."}]},{"type":"search_result","source":"s","title":"U",)"
     R"("content":[{"type":"text","text":"Again."}]}]}])",
     "anthropic block", "Found."},
    {"anthropic",
     R"([{"role":"user","content":"Ask"},{"role":"assistant","content":[{"type":"text",)"
     R"("text":"A"},{"type":"compaction","content":"Sum"},{"type":"text","text":"B"}]},)"
     R"({"role":"user","content":"Go on"}])",
     "anthropic text", "AB"},
    {"anthropic",
     R"([{"role":"user","content":"Ask"},{"role":"system","content":[{"type":"text",)"
     R"("text":"Be brief."},{"type":"tool_addition","tool":{"type":"tool_reference",)"
     R"("name":"look"}}]},{"role":"user","content":"Go on"}])",
     "anthropic system_turn", "Be brief."},
    {"bedrock_converse",
     R"([{"role":"user","content":[{"guardContent":{"text":{"text":"Guarded."}}}]}])",
     "bedrock block", "Guarded."},
    {"bedrock_converse",
     R"([{"role":"user","content":[{"text":"Ask"}]},{"role":"assistant","content":[)"
     R"({"citationsContent":{"content":[{"text":"Cited."}],"citations":[{"title":"T"}]}}]},)"
     R"({"role":"user","content":[{"text":"Go on"}]}])",
     "bedrock blocks", "Cited."},
    {"gemini", R"([{"role":"user","parts":[{"audioTranscription":{"text":"Heard."}}]}])",
     "google block", "Heard."},
    {"langgraph",
     R"([{"type":"human","content":[{"type":"text-plain","text":"Words.","title":"T"}]}])",
     "langgraph block", "Words."},
};

// Parts of the Responses API in results and messages are files and images, not another vendor's.
// Source: langchain-ai/langchainjs, "passes through provider-native input_*" (2026).
TEST(Withheld, AreNotPartsOfTheResponsesApi) {
  constexpr std::string_view messages =
      R"([{"role":"user","content":[{"type":"input_text","text":"Look"},)"
      R"({"type":"input_image","image_url":"https://e/a.png"}]},)"
      R"({"role":"assistant","content":null,"tool_calls":[{"id":"t","type":"function",)"
      R"("function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t","content":[)"
      R"({"type":"input_file","file_id":"file-1"},)"
      R"({"type":"input_image","image_url":"https://e/b.png"}]}])";
  const auto built = build(settings_of("openai", R"("apiMode":"responses")"),
                           R"({"model":"gpt-5-mini","messages":)" + std::string(messages) + "}");
  const std::string body = body_of(built);
  EXPECT_TRUE(withheld(built).empty()) << withheld(built).front();
  for (const std::string_view part :
       {R"("file_id":"file-1")", "https://e/a.png", "https://e/b.png"}) {
    EXPECT_TRUE(has(body, part)) << part << " is not in " << body;
  }
  EXPECT_FALSE(has(body, "only its own provider")) << body;
  const auto chat = build(settings_of("openai", R"("apiMode":"chat")"),
                          R"({"model":"gpt-4o-mini","messages":)" + std::string(messages) + "}");
  EXPECT_TRUE(has(body_of(chat), "https://e/a.png")) << body_of(chat);
  EXPECT_TRUE(has(body_of(chat), "https://e/b.png")) << body_of(chat);
}

}  // namespace

TEST(Withheld, IsNamedOnceAndItsWordsAreSent) {
  for (const Case& row : cases) {
    for (const char* other : {"openai", "mistral", "cohere", "ollama", "google"}) {
      if (row.format == "gemini" && std::string_view(other) == "google") continue;
      const auto built = sent(other, row.format, row.messages);
      EXPECT_TRUE(has(body_of(built), row.words))
          << row.named << " to " << other << ": " << body_of(built);
      const auto sentences = withheld(built);
      ASSERT_EQ(sentences.size(), 1U) << row.named << " to " << other;
      EXPECT_TRUE(has(sentences.front(), row.named)) << sentences.front();
    }
  }
}

TEST(Withheld, IsNothingAtItsOwnProvider) {
  const std::string own[][2] = {
      {"anthropic", "anthropic"}, {"bedrock_converse", "bedrock"}, {"gemini", "google"}};
  for (const Case& row : cases) {
    for (const auto& [format, provider] : own) {
      if (row.format != format) continue;
      const auto built = sent(provider, row.format, row.messages);
      ASSERT_TRUE(built.ok()) << body_of(built);
      EXPECT_TRUE(withheld(built).empty()) << row.named;
    }
  }
}

// A call or a change of the tools is none of a user's message: it is left out, and that is noted.
TEST(Withheld, NamesWhatIsOfATurnInAMessage) {
  const std::string own[][3] = {
      {"gemini", "google",
       R"([{"role":"user","parts":[{"text":"Ask"},{"executableCode":{"code":"1"}}]}])"},
      {"anthropic", "anthropic",
       R"([{"role":"user","content":[{"type":"text","text":"Ask"},{"type":"tool_addition",)"
       R"("tool":{"type":"tool_reference","name":"look"}}]}])"}};
  for (const auto& [format, provider, messages] : own) {
    const auto built = sent(provider, format, messages);
    ASSERT_TRUE(built.ok()) << body_of(built);
    EXPECT_FALSE(has(body_of(built), "tool_addition") || has(body_of(built), "executableCode"));
    ASSERT_EQ(built.value().notes.size(), 1U) << provider;
    EXPECT_TRUE(has(built.value().notes[0].sentence, "in a message of the user"));
  }
}

// What ran at OpenAI reaches other providers as text, what the host ran as calls with their
// results.
TEST(Withheld, IsNoCallThatRanAtTheProvider) {
  const std::string messages =
      R"([{"type":"message","role":"user","content":"Ask"},{"type":"shell_call","id":"sh_1",)"
      R"("call_id":"c1","status":"completed","action":{"commands":["ls -l"]}},)"
      R"({"type":"shell_call_output","id":"so_1","call_id":"c1","output":[{"stdout":"files",)"
      R"("stderr":"","outcome":{"type":"exit","exit_code":0}}]},{"type":)"
      R"("code_interpreter_call","id":"ci_1","status":"completed","code":"1+1",)"
      R"("container_id":"cntr","outputs":[{"type":"logs","logs":"logged"}]},{"type":)"
      R"("file_search_call","id":"fs_1","status":"completed","queries":["terms"],"results":)"
      R"([{"file_id":"f","filename":"n","score":0.5,"text":"passage"}]},{"type":)"
      R"("web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":)"
      R"("weather"}},{"type":"apply_patch_call","id":"ap_1","call_id":"c2","status":"completed",)"
      R"("operation":{"type":"update_file","path":"p","diff":"patch"}},{"type":)"
      R"("apply_patch_call_output","call_id":"c2","status":"failed","output":"No file."},)"
      R"({"type":"message","role":"user","content":"Go on"}])";
  for (const char* other :
       {"anthropic", "google", "bedrock", "mistral", "cohere", "ollama", "groq"}) {
    const auto built = sent(other, "openai_conversation", messages);
    ASSERT_TRUE(built.ok()) << body_of(built);
    const std::string body = body_of(built);
    for (const char* words :
         {"ls -l", "files", "1+1", "logged", "terms", "passage", "weather", "patch", "No file."}) {
      EXPECT_TRUE(has(body, words)) << words << " to " << other << ": " << body;
    }
    EXPECT_EQ(withheld(built).size(), 1U) << other;
  }
}

// Media of LangChain's blocks, of both versions and both languages, are media everywhere.
TEST(Withheld, IsNoMediumOfLangChain) {
  const std::string messages =
      R"([{"type":"human","content":[{"type":"image","url":"https://e.com/a.png"},{"type":"image",)"
      R"("source_type":"base64","data":"QUJD","mime_type":"image/png"},{"type":"image","data":)"
      R"("REVG","mimeType":"image/png"},{"type":"file","base64":"R0hJ","mime_type":)"
      R"("application/pdf"}]},{"type":"ai","content":"","tool_calls":[{"id":"c1","name":"look",)"
      R"("args":{}}]},{"type":"tool","tool_call_id":"c1","content":[{"type":"image_url",)"
      R"("image_url":{"url":"https://e.com/b.png"}}]}])";
  for (const char* other : {"openai", "anthropic", "google"}) {
    const std::string body = body_of(sent(other, "langgraph", messages));
    for (const char* medium :
         {"https://e.com/a.png", "QUJD", "REVG", "R0hJ", "https://e.com/b.png"}) {
      EXPECT_TRUE(has(body, medium)) << medium << " to " << other << ": " << body;
    }
  }
}

// A turn of nothing but blocks that have no words here.
TEST(Withheld, LeavesNoTurnEmpty) {
  const std::string user =
      R"([{"role":"user","content":[{"type":"container_upload","file_id":"f"}]},)"
      R"({"role":"assistant","content":[{"type":"compaction","content":"Sum"}]},)"
      R"({"role":"user","content":"Go on"}])";
  for (const char* other : {"openai", "mistral", "google", "bedrock", "cohere", "ollama"}) {
    const auto built = sent(other, "anthropic", user);
    ASSERT_TRUE(built.ok()) << body_of(built);
    const std::string body = body_of(built);
    EXPECT_TRUE(has(body, "(Content that only its own provider reads: anthropic block.)")) << body;
    EXPECT_TRUE(has(body, "(Content that only its own provider reads: anthropic compaction.)"))
        << body;
  }
}

TEST(Withheld, NamesReasoningOfOthers) {
  const std::string turns =
      R"([{"role":"user","content":[{"text":"Ask"}]},{"role":"assistant","content":[)"
      R"({"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"s"}}},{"text":"Yes."}]},)"
      R"({"role":"user","content":[{"text":"Go on"}]}])";
  for (const char* other : {"openai", "mistral", "anthropic", "google"}) {
    const auto sentences = withheld(sent(other, "bedrock_converse", turns));
    ASSERT_EQ(sentences.size(), 1U) << other;
    EXPECT_TRUE(has(sentences.front(), "bedrock reasoning")) << sentences.front();
  }
}

// Mistral's own parts are no unknown words, and its reasoning goes back to each of its models.
TEST(Withheld, IsNoneOfMistralsOwnParts) {
  const std::string messages =
      R"([{"role":"user","content":[{"type":"text","text":"Ask"},{"type":"document_url",)"
      R"("document_url":"https://e.com/a.pdf","document_name":"a"},{"type":"file","file_id":"f1"},)"
      R"({"type":"reference","reference_ids":[1]}]},{"role":"assistant","content":[)"
      R"({"type":"thinking","thinking":[{"type":"text","text":"Hm."}],"signature":"s"},)"
      R"({"type":"text","text":"Yes."}]},{"role":"user","content":"Go on"}])";
  const auto built = build(settings_of("mistral"),
                           R"({"model":"mistral-large-latest","messages":)" + messages + "}");
  ASSERT_TRUE(built.ok()) << body_of(built);
  const std::string body = body_of(built);
  for (const char* piece :
       {R"({"type":"document_url","document_url":"https://e.com/a.pdf","document_name":"a"})",
        R"({"type":"file","file_id":"f1"})", R"({"type":"reference","reference_ids":[1]})",
        R"([{"type":"thinking","thinking":[{"type":"text","text":"Hm."}],"signature":"s"},)"}) {
    EXPECT_TRUE(has(body, piece)) << piece << " is not in " << body;
  }
  EXPECT_TRUE(withheld(built).empty());
}

TEST(Withheld, NamesTheMediaOfPrompts) {
  const std::string messages =
      R"([{"type":"message","role":"developer","content":[{"type":"input_text","text":"Look."},)"
      R"({"type":"input_image","image_url":"data:image/png;base64,AAAA"}]},)"
      R"({"type":"message","role":"user","content":"Ask"}])";
  const auto notes_of = [&](std::string_view provider) {
    std::string notes;
    const auto built = sent(provider, "openai_conversation", messages);
    if (!built) return built.error().message;
    for (const model::Note& note : built.value().notes) notes.append(note.sentence).append("\n");
    return notes;
  };
  for (const std::string_view provider : {"groq", "anthropic", "google", "mistral"}) {
    EXPECT_TRUE(has(notes_of(provider), "of a system or developer message are left out"))
        << provider;
  }
  EXPECT_FALSE(has(notes_of("ollama"), "of a system or developer message"));
  EXPECT_TRUE(has(body_of(sent("ollama", "openai_conversation", messages)), "AAAA"));
}

// Servers of OpenAI's API that make no images do not take those of an answer.
TEST(Withheld, NamesImagesOfAnswersThatAreNotSent) {
  const std::string messages =
      R"([{"id":"u1","role":"user","content":"Draw"},{"id":"a1","role":"assistant","content":)"
      R"("Here.","metadata":{"millrace":{"providerState":[{"provider":"openai_chat","kind":)"
      R"("image","state":{"type":"image_url","image_url":{"url":"https://e.com/a.png"}}}]}}},)"
      R"({"id":"u2","role":"user","content":"Go on"}])";
  for (const char* other : {"openai", "groq", "mistral", "anthropic"}) {
    const auto built = sent(other, "canonical", messages);
    EXPECT_FALSE(has(body_of(built), "a.png")) << other << ": " << body_of(built);
    const auto sentences = withheld(built);
    ASSERT_EQ(sentences.size(), 1U) << other;
    EXPECT_TRUE(has(sentences.front(), "openai_chat image")) << sentences.front();
  }
  const auto own = sent("openrouter", "canonical", messages);
  EXPECT_TRUE(has(body_of(own), "a.png")) << body_of(own);
  EXPECT_TRUE(withheld(own).empty());
}
