// What single vendors demand of a request, or refuse.
#include <gtest/gtest.h>

#include <array>

#include "model/build.hpp"

namespace millrace {
namespace {

std::string aws_settings(std::string_view provider) {
  const bool aws = provider == "bedrock";
  return test::settings_of(
      provider,
      aws ? R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"test-secret")" : "");
}

// The body of a chat with these messages; `more` are further members `"key":value,...`.
std::string body_for(std::string_view provider, std::string_view model, std::string_view messages,
                     std::string_view more = {}) {
  std::string payload = "{";
  json::append_member(payload, "model", model);
  json::append_raw_member(payload, "messages", messages);
  if (!more.empty()) payload.append(",").append(more);
  return test::body_of(test::build(aws_settings(provider), payload + "}"));
}

// A question, calls of these ids, and their results.
std::string calls_of(const std::vector<std::string>& ids) {
  std::string calls;
  std::string results;
  for (const std::string& id : ids) {
    calls.append(calls.empty() ? "" : ",");
    calls.append(R"({"id":")" + id +
                 R"(","type":"function","function":{"name":"t","arguments":"{}"}})");
    results.append(R"(,{"role":"tool","tool_call_id":")" + id + R"(","content":"r"})");
  }
  return R"([{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[)" +
         calls + "]}" + results + "]";
}

std::vector<std::string> texts_at(const json::Value& list, std::string_view key) {
  std::vector<std::string> texts;
  for (const json::Value item : list.items()) {
    if (item[key].is_string()) texts.emplace_back(item[key].string());
  }
  return texts;
}

bool is_short(const std::string& id) {
  return id.size() == 9 &&
         std::all_of(id.begin(), id.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
}

TEST(MistralMessages, HaveNoNames) {
  const auto built = test::build(
      test::settings_of("mistral"),
      R"({"model":"m","messages":[{"role":"system","content":"s","name":"z"},)"
      R"({"role":"user","content":"x","name":"bob"},{"role":"assistant","content":"y","name":"al"},)"
      R"({"role":"user","content":"go"}]})");
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_FALSE(test::has(built.value().request.body, R"("name")")) << built.value().request.body;
  ASSERT_EQ(built.value().notes.size(), 1U);
  EXPECT_EQ(built.value().notes.front().what, "name");
}

// The search is the Responses API's, which has the switch as well.
TEST(VolcengineThinking, IsSwitchedBesideASearch) {
  constexpr std::string_view question = R"([{"role":"user","content":"x"}])";
  for (const std::string_view type : {"enabled", "disabled"}) {
    const std::string body =
        body_for("volcengine", "doubao-seed-1-6", question,
                 R"("enabledSearch":true,"thinking":{"type":")" + std::string(type) + "\"}");
    EXPECT_TRUE(test::has(body, R"("input":)")) << body;
    EXPECT_TRUE(test::has(body, R"("thinking":{"type":")" + std::string(type) + "\"}")) << body;
  }
  const std::string other = body_for("openai", "gpt-5", question,
                                     R"("apiMode":"responses","thinking":{"type":"disabled"})");
  EXPECT_FALSE(test::has(other, R"("thinking":)")) << other;
  // Its switch is one of the chat API alone.
  const std::string chats = body_for("xiaomimimo", "mimo-v2-flash", question,
                                     R"("apiMode":"responses","thinking":{"type":"disabled"})");
  EXPECT_TRUE(test::has(chats, R"("input":)")) << chats;
  EXPECT_FALSE(test::has(chats, R"("thinking":)")) << chats;
}

// The model decides itself; others that have the switch know only whether it thinks.
TEST(VolcengineThinking, MayBeLeftToTheModel) {
  constexpr std::string_view question = R"([{"role":"user","content":"x"}])";
  for (const std::string_view type : {"auto", "adaptive"}) {
    const std::string member = R"("thinking":{"type":")" + std::string(type) + R"("})";
    for (const std::string& more : {member, R"("enabledSearch":true,)" + member}) {
      const std::string body = body_for("volcengine", "doubao-seed-1-6", question, more);
      EXPECT_TRUE(test::has(body, R"("thinking":{"type":"auto"})")) << body;
    }
    const std::string other = body_for("deepseek", "deepseek-chat", question, member);
    EXPECT_FALSE(test::has(other, R"("thinking":)")) << other;
    EXPECT_TRUE(test::has(other, R"("messages":)")) << other;
  }
}

TEST(Volcengine, LetsDoubaoSeedCallSeveralTools) {
  constexpr std::string_view question = R"([{"role":"user","content":"x"}])";
  constexpr std::string_view tools = R"("tools":[{"type":"function","function":{"name":"t"}}])";
  const std::string seed = body_for("volcengine", "Doubao-Seed-2.0-pro", question, tools);
  EXPECT_TRUE(test::has(seed, R"("parallel_tool_calls":true)")) << seed;
  const std::string one = body_for("volcengine", "doubao-seed-2.0-pro", question,
                                   std::string(tools) + R"(,"parallel_tool_calls":false)");
  EXPECT_TRUE(test::has(one, R"("parallel_tool_calls":false)")) << one;
  const std::string other = body_for("volcengine", "deepseek-v3-1", question, tools);
  EXPECT_FALSE(test::has(other, "parallel_tool_calls")) << other;
}

TEST(Volcengine, TakesVideosInTheResponsesApi) {
  constexpr std::string_view question_with_video =
      R"([{"role":"user","content":[{"type":"text","text":"x"},{"type":"video_url","video_url":)"
      R"({"url":"https://v.example/a.mp4"}}]}])";
  const std::string body =
      body_for("volcengine", "doubao-seed-1-8", question_with_video, R"("apiMode":"responses")");
  EXPECT_TRUE(test::has(body, R"({"type":"input_video","video_url":"https://v.example/a.mp4"})"))
      << body;
  const auto other =
      test::build(test::settings_of("openai", R"("apiMode":"responses")"),
                  R"({"model":"gpt-5","messages":)" + std::string(question_with_video) + "}");
  EXPECT_FALSE(other.ok());
}

TEST(MistralCallIds, AreOfNineLettersAndDigits) {
  const std::string given =
      calls_of({"call_abcDEF1234567890", "call_abcDEF1234567891", "Kq3vXw9aB"});
  const std::string body = body_for("mistral", "mistral-large-latest", given);
  json::Document document;
  const auto parsed = document.parse(body);
  ASSERT_TRUE(parsed.ok()) << body;
  const json::Value messages = parsed.value()["messages"];
  std::vector<std::string> calls;
  for (const json::Value message : messages.items()) {
    for (std::string& id : texts_at(message["tool_calls"], "id")) calls.push_back(std::move(id));
  }
  ASSERT_EQ(calls.size(), 3U) << body;
  EXPECT_TRUE(is_short(calls[0])) << calls[0];
  EXPECT_TRUE(is_short(calls[1])) << calls[1];
  EXPECT_NE(calls[0], calls[1]);
  EXPECT_EQ(calls[2], "Kq3vXw9aB");
  EXPECT_EQ(texts_at(messages, "tool_call_id"), calls);
  EXPECT_EQ(body_for("mistral", "mistral-large-latest", given), body)
      << "differs from call to call";
}

TEST(MistralCallIds, FollowTheModelWhoeverServesIt) {
  const std::string foreign = calls_of({"call_abcDEF1234567890"});
  const std::string bedrock =
      body_for("bedrock", "mistral.mistral-large-2402-v1:0", foreign, R"("tools":[{"name":"t"}])");
  EXPECT_EQ(bedrock.find("call_abc"), std::string::npos) << bedrock;
  EXPECT_NE(bedrock.find(R"("toolUseId":")"), std::string::npos) << bedrock;
  const std::string other = body_for("groq", "llama-3.3-70b-versatile", foreign);
  EXPECT_NE(other.find(R"("id":"call_abcDEF1234567890")"), std::string::npos) << other;
}

// The roles of the messages that are sent, "role" or "role: text", one behind the other.
std::string turns_of(std::string_view provider, std::string_view model, std::string_view messages) {
  json::Document document;
  std::string body = body_for(provider, model, messages);
  const auto parsed = document.parse(body);
  if (!parsed) return body;
  std::string turns;
  for (const json::Value message : parsed.value()["messages"].items()) {
    turns.append(turns.empty() ? "" : ", ").append(message["role"].string());
    if (const auto text = message["content"].filled_string()) turns.append(": ").append(*text);
  }
  return turns;
}

TEST(MistralResults, AreAnsweredBeforeTheUserSpeaks) {
  const std::string requested =
      R"([{"role":"user","content":"go"},{"role":"assistant","tool_calls":[)"
      R"({"id":"jQncnSWM3","type":"function","function":{"name":"t","arguments":"{}"}},)"
      R"({"id":"jQncnSWM4","type":"function","function":{"name":"t","arguments":"{}"}}]},)"
      R"({"role":"tool","content":"one","tool_call_id":"jQncnSWM3"},)";
  const std::string answered =
      requested + R"({"role":"tool","content":"two","tool_call_id":"jQncnSWM4"})";
  const std::string stopped = answered + R"(,{"role":"user","content":"and now?"}])";
  const std::string_view mended =
      "user: go, assistant, tool: one, tool: two, assistant: OK, user: and now?";
  EXPECT_EQ(turns_of("mistral", "mistral-large-latest", stopped), mended);
  EXPECT_EQ(turns_of("mistral", "a-model-of-my-own", stopped), mended);
  EXPECT_EQ(turns_of("openrouter", "mistralai/devstral-small", stopped), mended);
  EXPECT_EQ(turns_of("openai", "gpt-4o", stopped),
            "user: go, assistant, tool: one, tool: two, user: and now?");
  EXPECT_EQ(turns_of("mistral", "mistral-large-latest", answered + "]"),
            "user: go, assistant, tool: one, tool: two");
  EXPECT_EQ(turns_of("mistral", "mistral-large-latest",
                     answered + R"(,{"role":"assistant","content":"so"},{"role":"user",)"
                                R"("content":"and?"}])"),
            "user: go, assistant, tool: one, tool: two, assistant: so, user: and?");
  const std::string shown =
      requested + R"({"role":"tool","tool_call_id":"jQncnSWM4","content":[{"type":"image_url",)"
                  R"("image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},)"
                  R"({"role":"user","content":"what is it?"}])";
  EXPECT_EQ(turns_of("mistral", "pixtral-large-latest", shown),
            "user: go, assistant, tool: one, tool: (The result follows as a medium.), "
            "assistant: OK, user, user: what is it?");
}

TEST(Glm, IsToldToKeepWhatItThought) {
  const auto body = [](std::string_view provider, std::string_view thinking) {
    return body_for(provider, "glm-4.7", R"([{"role":"user","content":"x"}])",
                    R"("thinking":)" + std::string(thinking));
  };
  for (const std::string_view provider : {"zai", "zhipu", "glmcodingplan"}) {
    const std::string retained = body(provider, R"({"type":"enabled","clear_thinking":false})");
    EXPECT_NE(retained.find(R"("thinking":{"type":"enabled","clear_thinking":false})"),
              std::string::npos)
        << retained;
  }
  const std::string alone = body("zai", R"({"clear_thinking":false})");
  EXPECT_NE(alone.find(R"("thinking":{"clear_thinking":false})"), std::string::npos) << alone;
  const std::string other = body("deepseek", R"({"type":"enabled","clear_thinking":false})");
  EXPECT_NE(other.find(R"("thinking":{"type":"enabled"})"), std::string::npos) << other;
}

// Source: inference-docs.cerebras.ai/capabilities/reasoning (2026).
TEST(Glm, IsToldSoByCerebrasInAMemberOfItsOwn) {
  const auto body = [](std::string_view model, std::string_view thinking) {
    return body_for("cerebras", model, R"([{"role":"user","content":"x"}])",
                    R"("thinking":)" + std::string(thinking));
  };
  const std::string retained = body("zai-glm-4.7", R"({"clear_thinking":false})");
  EXPECT_NE(retained.find(R"("clear_thinking":false)"), std::string::npos) << retained;
  EXPECT_EQ(retained.find(R"("thinking")"), std::string::npos) << retained;
  const std::string off = body("zai-glm-4.7", R"({"type":"disabled"})");
  EXPECT_NE(off.find(R"("reasoning_effort":"none")"), std::string::npos) << off;
  const std::string other = body("gpt-oss-120b", R"({"type":"disabled","clear_thinking":false})");
  EXPECT_EQ(other.find("clear_thinking"), std::string::npos) << other;
  EXPECT_EQ(other.find(R"("none")"), std::string::npos) << other;
}

// What a model does unasked needs not be said.
TEST(Groq, TakesItsWordForTheDefaultEffort) {
  const auto body = [](std::string_view provider, std::string_view model) {
    return body_for(provider, model, R"([{"role":"user","content":"x"}])",
                    R"("reasoning_effort":"default")");
  };
  EXPECT_EQ(body("groq", "qwen/qwen3-32b"),
            body_for("groq", "qwen/qwen3-32b", R"([{"role":"user","content":"x"}])", ""));
  EXPECT_EQ(body("openai", "gpt-5").find("reasoning"), std::string::npos);
}

TEST(OpenRouter, LetsModelsThinkThatAlwaysDo) {
  struct Case {
    std::string_view model;
    std::string_view reasoning;  // what is said of it, or ""
  };
  constexpr Case cases[] = {{"openai/o3", R"("reasoning":{"effort":"low"})"},
                            {"openai/gpt-5", R"("reasoning":{"effort":"minimal"})"},
                            {"openai/gpt-5.2", R"("reasoning":{"enabled":false})"},
                            {"openai/gpt-oss-120b", R"("reasoning":{"effort":"low"})"},
                            {"google/gemini-3.7-flash", R"("reasoning":{"effort":"low"})"},
                            {"google/gemini-2.5-flash", R"("reasoning":{"enabled":false})"},
                            {"google/gemini-2.5-pro", ""},
                            {"deepseek/deepseek-r1", ""},
                            {"minimax/minimax-m2.5", ""},
                            {"anthropic/claude-sonnet-4.5", R"("reasoning":{"enabled":false})"}};
  for (const Case& c : cases) {
    for (const std::string_view off :
         {R"("reasoning_effort":"none")", R"("thinking":{"type":"disabled"})"}) {
      const std::string body =
          body_for("openrouter", c.model, R"([{"role":"user","content":"x"}])", off);
      if (c.reasoning.empty()) {
        EXPECT_EQ(body.find(R"("reasoning")"), std::string::npos) << body;
      } else {
        EXPECT_NE(body.find(c.reasoning), std::string::npos) << body;
      }
    }
  }
}

TEST(Gemini, IsGivenItsOwnToolsInItsSpelling) {
  const auto tools_of = [](std::string_view tools) {
    const std::string body =
        body_for("google", "gemini-3-pro-preview", R"([{"role":"user","content":"x"}])",
                 R"("tools":)" + std::string(tools));
    const std::size_t start = body.find(R"("tools":)");
    return start == std::string::npos ? body
                                      : body.substr(start + 8, body.find(']', start) - start - 7);
  };
  EXPECT_EQ(tools_of(R"([{"codeExecution":{}},{"urlContext":{}}])"),
            R"([{"codeExecution":{}},{"urlContext":{}}])");
  EXPECT_EQ(tools_of(R"([{"type":"code_execution"},{"type":"file_search","a":1}])"),
            R"([{"codeExecution":{}},{"fileSearch":{"a":1}}])");
  // Several in one entry are the vendor's to judge.
  EXPECT_EQ(tools_of(R"([{"a":{},"b":{}}])"), R"([{"a":{},"b":{}}])");
  EXPECT_EQ(tools_of(R"([{"googleSearch":{},"zz":1}])"), R"([{"googleSearch":{},"zz":1}])");
  for (const std::string_view wrong :
       {R"([{}])", R"([{"parameters":{}}])", R"([{"function":{}}])", R"([{"a":1}])"}) {
    EXPECT_NE(tools_of(wrong).find("without a name"), std::string::npos) << wrong;
  }
}

TEST(Prompts, AreSaidByTheUserWhereNobodyElseSpeaks) {
  const std::string_view two =
      R"([{"role":"system","content":"Be brief."},{"role":"system","content":"Say hi."}])";
  const std::string claude = body_for("anthropic", "claude-sonnet-4-5", two);
  EXPECT_NE(claude.find(R"("system":"Be brief.","messages":[{"role":"user","content":)"
                        R"([{"type":"text","text":"Say hi."}]}])"),
            std::string::npos)
      << claude;
  const std::string_view one = R"([{"role":"system","content":"Say hi."}])";
  const std::string_view requested = R"("contents":[{"role":"user","parts":[{"text":"Say hi."}]}])";
  for (const std::string_view model :
       {"gemini-2.5-pro", "gemini-2.5-flash-image", "gemma-3-27b-it"}) {
    const std::string gemini = body_for("google", model, one);
    EXPECT_NE(gemini.find(requested), std::string::npos) << gemini;
    EXPECT_EQ(gemini.find("systemInstruction"), std::string::npos) << gemini;
  }
  EXPECT_NE(body_for("openai", "gpt-4o", one).find(R"({"role":"system","content":"Say hi."})"),
            std::string::npos);
}

TEST(Cohere, IsShownTheImagesOfResults) {
  const std::string_view messages =
      R"([{"role":"user","content":"go"},{"role":"assistant","tool_calls":[)"
      R"({"id":"c1","type":"function","function":{"name":"t","arguments":"{}"}}]},)"
      R"({"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"here"},)"
      R"({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}])";
  const std::string body = body_for("cohere", "command-a-vision-07-2025", messages);
  EXPECT_NE(body.find(R"({"role":"tool","tool_call_id":"c1","content":"here"},{"role":"user",)"
                      R"("content":[{"type":"image_url","image_url":{"url":"data:image/png;)"),
            std::string::npos)
      << body;
}

TEST(Cohere, IsGivenTheToolAloneThatItShallCall) {
  const std::string_view tools =
      R"("tools":[{"type":"function","function":{"name":"a"}},)"
      R"({"type":"function","function":{"name":"b","strict":true}}],"tool_choice":)";
  const auto body = [&](std::string_view choice) {
    return body_for("cohere", "command-a-03-2025", R"([{"role":"user","content":"x"}])",
                    std::string(tools) + std::string(choice));
  };
  const std::string certain = body(R"({"type":"function","function":{"name":"b"}})");
  EXPECT_EQ(certain.find(R"("name":"a")"), std::string::npos) << certain;
  EXPECT_NE(certain.find(R"("name":"b")"), std::string::npos) << certain;
  EXPECT_NE(certain.find(R"("tool_choice":"REQUIRED")"), std::string::npos) << certain;
  const std::string any = body(R"("required")");
  EXPECT_NE(any.find(R"("name":"a")"), std::string::npos) << any;
}

// What stands beside the text of an assistant message.
std::string beside_answer(std::string_view provider, std::string_view model,
                          std::string_view members, std::string_view more = {}) {
  const std::string messages =
      R"([{"role":"user","content":"q"},{"role":"assistant","content":"a",)" +
      std::string(members) + R"(},{"role":"user","content":"c"}])";
  std::string body = body_for(provider, model, messages, more);
  constexpr std::string_view answer = R"("content":"a")";
  const std::size_t start = body.find(answer);
  if (start == std::string::npos) return body;
  return body.substr(start + answer.size(), body.find('}', start) - start - answer.size());
}

TEST(Reasoning, GoesBackByTheNameThatTheVendorTakes) {
  constexpr std::string_view deepseek = R"("reasoning_content":"t")";
  constexpr std::string_view named = R"(,"reasoning":"t")";
  EXPECT_EQ(beside_answer("groq", "openai/gpt-oss-20b", deepseek), named);
  EXPECT_EQ(beside_answer("groq", "qwen/qwen3-32b", R"("reasoning":"t")"), named);
  EXPECT_EQ(beside_answer("groq", "llama-3.3-70b-versatile", deepseek), "");
  EXPECT_EQ(beside_answer("cerebras", "zai-glm-4.7", deepseek), named);
  EXPECT_EQ(beside_answer("cerebras", "zai-glm-4.7", R"("reasoning":{"content":"t"})",
                          R"("preserveThinking":true)"),
            named);
  EXPECT_EQ(beside_answer("cerebras", "gpt-oss-120b",
                          R"("reasoning_details":[{"type":"reasoning.text","text":"t"}])"),
            "");
  EXPECT_EQ(beside_answer("fireworksai", "kimi-k2", deepseek), R"(,"reasoning_content":"t")");
  EXPECT_EQ(beside_answer("zai", "glm-4.7", R"("reasoning":{"content":"t"})"),
            R"(,"reasoning_content":"t")");
}

// Messages as folded events are: a custom tool's call of the Responses API.
TEST(CustomTools, GetTheirInputBackAsTheModelWroteIt) {
  const std::string_view messages =
      R"([{"id":"1","role":"user","content":"q"},{"id":"2","role":"assistant","toolCalls":[)"
      R"({"id":"call_1","type":"function","function":{"name":"sql","arguments":"SELECT 1 FROM \"t\""},)"
      R"("metadata":{"millrace":{"providerState":[)"
      R"({"provider":"openai_responses","kind":"item","state":{"type":"custom_tool_call"}}]}}}]},)"
      R"({"id":"3","role":"tool","toolCallId":"call_1","content":"1"}])";
  const std::string items = body_for("openai", "gpt-5", messages, R"("apiMode":"responses")");
  EXPECT_NE(items.find(R"("name":"sql","input":"SELECT 1 FROM \"t\"")"), std::string::npos)
      << items;
  EXPECT_NE(items.find(R"("type":"custom_tool_call_output")"), std::string::npos) << items;
  const std::string chat = body_for("openai", "gpt-5", messages, R"("apiMode":"chatCompletion")");
  EXPECT_NE(chat.find(R"("type":"custom","custom":{"name":"sql","input":"SELECT 1 FROM \"t\""})"),
            std::string::npos)
      << chat;
}

TEST(BegunAnswers, AreMarkedInTheWordsOfTheVendor) {
  struct Row {
    std::string_view provider;
    std::string_view received;  // what the payload says of the message
    std::string_view sent;
  };
  for (const Row& row : {
           Row{"mistral", "", R"("content":"It is","prefix":true})"},
           Row{"mistral", R"(,"prefix":true)", R"("content":"It is","prefix":true})"},
           Row{"deepseek", "", R"("content":"It is"})"},
           Row{"deepseek", R"(,"prefix":true)", R"("content":"It is","prefix":true})"},
           Row{"moonshot", R"(,"partial":true)", R"("content":"It is","partial":true})"},
           Row{"moonshot", R"(,"prefix":true)", R"("content":"It is","partial":true})"},
           Row{"qwen", R"(,"partial":true)", R"("content":"It is","partial":true})"},
           Row{"groq", R"(,"prefix":true)", R"("content":"It is"})"},
       }) {
    const std::string body =
        body_for(row.provider, "m",
                 R"([{"role":"user","content":"a"},{"role":"assistant","content":"It is")" +
                     std::string(row.received) + "}]");
    EXPECT_NE(body.find(row.sent), std::string::npos)
        << row.provider << row.received << ' ' << body;
  }
  const std::string over =
      body_for("mistral", "m",
               R"([{"role":"user","content":"a"},{"role":"assistant",)"
               R"("content":"b","prefix":true},{"role":"user","content":"c"}])");
  EXPECT_EQ(over.find("prefix"), std::string::npos) << over;
}

TEST(Gemma, IsToldTheSystemPromptByTheUser) {
  const std::string_view text =
      R"([{"role":"system","content":"S"},{"role":"user","content":"u"}])";
  const std::string_view parts =
      R"([{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"u"}]}])";
  for (const std::string_view messages : {text, parts}) {
    const std::string body = body_for("google", "gemma-3-12b-it", messages);
    EXPECT_EQ(body.find("systemInstruction"), std::string::npos) << body;
    EXPECT_NE(body.find(R"("parts":[{"text":"S\n\n"},{"text":"u"}])"), std::string::npos) << body;
  }
  const std::string other = body_for("google", "gemini-2.5-flash", text);
  EXPECT_NE(other.find("systemInstruction"), std::string::npos) << other;
}

TEST(Gemini, IsAskedToThinkAsTheModelCan) {
  struct Row {
    std::string_view model;
    std::string_view more;
    std::string_view sent;
  };
  for (const Row& row : {
           Row{"gemini-3.1-pro-preview", R"("reasoning_effort":"none")",
               R"("thinkingLevel":"low")"},
           Row{"gemini-3.1-pro-preview", R"("thinkingLevel":"minimal")",
               R"("thinkingLevel":"low")"},
           Row{"gemini-3.7-flash", R"("reasoning_effort":"minimal")", R"("thinkingLevel":"low")"},
           Row{"gemini-3.7-flash-lite", R"("reasoning_effort":"minimal")",
               R"("thinkingLevel":"minimal")"},
           Row{"gemini-3-flash-preview", R"("thinking":{"type":"disabled"})",
               R"("thinkingLevel":"minimal")"},
           Row{"gemini-2.5-pro", R"("reasoning_effort":"none")", R"("thinkingBudget":128)"},
           Row{"gemini-2.5-pro", R"("thinkingBudget":0)", R"("thinkingBudget":128)"},
           Row{"gemini-2.5-flash", R"("reasoning_effort":"none")", R"("thinkingBudget":0)"},
       }) {
    const std::string body =
        body_for("google", row.model, R"([{"role":"user","content":"a"}])", row.more);
    EXPECT_NE(body.find(row.sent), std::string::npos) << row.model << row.more << ' ' << body;
  }
  const std::string penalties =
      body_for("google", "gemini-2.5-flash", R"([{"role":"user","content":"a"}])",
               R"("presence_penalty":0.5,"frequency_penalty":0.5)");
  EXPECT_EQ(penalties.find("Penalty"), std::string::npos) << penalties;
}

TEST(Cerebras, IsGivenPenalties) {
  const std::string body = body_for("cerebras", "gemma-4-31b", R"([{"role":"user","content":"x"}])",
                                    R"("frequency_penalty":0.5,"presence_penalty":0.25)");
  EXPECT_NE(body.find(R"("frequency_penalty":0.5,"presence_penalty":0.25)"), std::string::npos)
      << body;
}

TEST(VendorsMembers, GoToTheirVendorOnly) {
  constexpr std::string_view hi = R"([{"role":"user","content":"Hi"}])";
  struct Row {
    std::string_view provider;
    std::string_view member;
  };
  for (const Row& row :
       {Row{"cohere", R"("documents":[{"data":{"text":"d"}}])"},
        Row{"groq", R"("reasoning_format":"parsed")"}, Row{"groq", R"("include_reasoning":false)"},
        Row{"openai", R"("moderation":{"model":"omni-moderation-latest"})"},
        Row{"mistral", R"("safe_prompt":true)"}, Row{"perplexity", R"("search_mode":"academic")"},
        Row{"vllm", R"("structured_outputs":{"choice":["a","b"]})"},
        Row{"vllm", R"("truncate_prompt_tokens":5)"},
        Row{"qwen", R"("enable_thinking":false,"thinking_budget":9)"},
        Row{"siliconcloud", R"("enable_thinking":false)"}, Row{"qwen", R"("enable_search":true)"},
        Row{"qwen", R"("vl_high_resolution_images":true)"}, Row{"mistral", R"("random_seed":3)"},
        Row{"lmstudio", R"("ttl":300,"draft_model":"d")"}}) {
    const std::string own = body_for(row.provider, "m", hi, row.member);
    EXPECT_NE(own.find(row.member), std::string::npos) << own;
    const std::string other = body_for("togetherai", "m", hi, row.member);
    EXPECT_EQ(other.find(row.member), std::string::npos) << other;
  }
}

// A body with a member twice may be read either way.
TEST(VendorMembers, GiveWayToThePayloadsOwn) {
  constexpr std::string_view hi = R"([{"role":"user","content":"Hi"}])";
  const std::string is_thinking =
      body_for("qwen", "m", hi, R"("enable_thinking":true,"thinking":{"type":"disabled"})");
  EXPECT_NE(is_thinking.find(R"("enable_thinking":false)"), std::string::npos) << is_thinking;
  EXPECT_EQ(is_thinking.find(R"("enable_thinking":true)"), std::string::npos) << is_thinking;
  const std::string searches =
      body_for("qwen", "m", hi, R"("enable_search":false,"enabledSearch":true)");
  EXPECT_EQ(searches.find(R"("enable_search":false)"), std::string::npos) << searches;
  const std::string seeded = body_for("mistral", "m", hi, R"("random_seed":3,"seed":4)");
  EXPECT_EQ(seeded.find(R"("random_seed":3)"), std::string::npos) << seeded;
}

TEST(Moderation, IsAskedOfOpenAiAlone) {
  constexpr std::string_view hi = R"([{"role":"user","content":"Hi"}])";
  constexpr std::string_view wish = R"("moderation":{"model":"m"},"apiMode":"responses")";
  const std::string own = body_for("openai", "gpt-5", hi, wish);
  EXPECT_NE(own.find(R"("moderation":{"model":"m"})"), std::string::npos) << own;
  const std::string other = body_for("xai", "grok-4", hi, wish);
  EXPECT_EQ(other.find("moderation"), std::string::npos) << other;
}

TEST(Vllm, IsToldHowMuchToThink) {
  constexpr std::string_view hi = R"([{"role":"user","content":"Hi"}])";
  const std::string high =
      body_for("vllm", "openai/gpt-oss-20b", hi, R"("reasoning_effort":"high")");
  EXPECT_NE(high.find(R"("reasoning_effort":"high")"), std::string::npos) << high;
  const std::string most = body_for("vllm", "m", hi, R"("reasoning_effort":"max")");
  EXPECT_EQ(most.find("reasoning_effort"), std::string::npos) << most;
}

TEST(Responses, KeepThoughtsBesideWhatElseIsIncluded) {
  constexpr std::string_view hi = R"([{"role":"user","content":"Hi"}])";
  const auto body = [&](std::string_view more) {
    return body_for("openai", "gpt-5", hi, R"("apiMode":"responses",)" + std::string(more));
  };
  const std::string merged = body(R"("include":["file_search_call.results"])");
  EXPECT_NE(merged.find(R"("include":["file_search_call.results","reasoning.encrypted_content"])"),
            std::string::npos)
      << merged;
  const std::string once = body(R"("include":["reasoning.encrypted_content"])");
  EXPECT_NE(once.find(R"("include":["reasoning.encrypted_content"])"), std::string::npos) << once;
  const std::string stored = body(R"("store":true,"include":["file_search_call.results"])");
  EXPECT_NE(stored.find(R"("include":["file_search_call.results"])"), std::string::npos) << stored;
  const std::string reported = body(R"("instructions":"Be brief.")");
  EXPECT_NE(reported.find(R"("instructions":"Be brief.")"), std::string::npos) << reported;
}

TEST(Efforts, BecomeTheNearestThatTheModelKnows) {
  constexpr std::array<std::string_view, 7> given{"none", "minimal", "low", "medium",
                                                  "high", "xhigh",   "max"};
  struct Row {
    std::string_view model;
    std::array<std::string_view, 7> sent;
  };
  for (const Row& row : {
           Row{"o3", {"low", "low", "low", "medium", "high", "high", "high"}},
           Row{"gpt-5", {"minimal", "minimal", "low", "medium", "high", "high", "high"}},
           Row{"gpt-5-mini", {"minimal", "minimal", "low", "medium", "high", "high", "high"}},
           Row{"gpt-5-pro", {"high", "high", "high", "high", "high", "high", "high"}},
           Row{"gpt-5-codex", {"low", "low", "low", "medium", "high", "high", "high"}},
           Row{"gpt-5.1", {"none", "low", "low", "medium", "high", "high", "high"}},
           Row{"gpt-5.1-codex-mini", {"low", "low", "low", "medium", "high", "high", "high"}},
           Row{"gpt-5.1-codex-max", {"low", "low", "low", "medium", "high", "xhigh", "xhigh"}},
           Row{"gpt-5.2-codex", {"low", "low", "low", "medium", "high", "xhigh", "xhigh"}},
           Row{"gpt-5.2-pro", {"medium", "medium", "medium", "medium", "high", "xhigh", "xhigh"}},
           Row{"gpt-5.4-mini", {"none", "low", "low", "medium", "high", "xhigh", "xhigh"}},
           Row{"gpt-5.6-sol", {"none", "low", "low", "medium", "high", "xhigh", "max"}},
       }) {
    for (std::size_t at = 0; at < given.size(); ++at) {
      const auto chat =
          test::build(test::settings_of("openai"),
                      test::question(row.model, R"("apiMode":"responses","reasoning_effort":")" +
                                                    std::string(given[at]) + "\""));
      ASSERT_TRUE(chat.ok()) << row.model;
      const std::string sent = R"("reasoning":{"effort":")" + std::string(row.sent[at]) + "\"";
      const std::string& body = chat.value().request.body;
      EXPECT_NE(body.find(sent), std::string::npos) << row.model << ' ' << given[at] << ' ' << body;
      EXPECT_EQ(chat.value().notes.empty(), given[at] == row.sent[at]) << row.model << given[at];
    }
  }
}

TEST(Sampling, IsTakenByModelsThatDoNotThink) {
  struct Row {
    std::string_view model;
    std::string_view effort;
    bool taken;
  };
  for (const Row& row : {
           Row{"gpt-5.1", "", true},
           Row{"gpt-5.1", "none", true},
           Row{"gpt-5.1", "minimal", false},
           Row{"gpt-5.1", "high", false},
           Row{"gpt-5.2", "", true},
           Row{"gpt-5.6-sol", "none", true},
           Row{"gpt-5.6-sol", "", false},
           Row{"gpt-5", "none", false},
           Row{"gpt-5.1-codex", "none", false},
           Row{"gpt-5.1-chat-latest", "", false},
       }) {
    for (const std::string_view mode : {"chatCompletion", "responses"}) {
      std::string more = R"("temperature":0.5,"top_p":0.25,"presence_penalty":1,"apiMode":")" +
                         std::string(mode) + "\"";
      if (!row.effort.empty()) more += R"(,"reasoning_effort":")" + std::string(row.effort) + "\"";
      const std::string body =
          test::body_of(test::build(test::settings_of("openai"), test::question(row.model, more)));
      const bool taken = body.find(R"("temperature":0.5,"top_p":0.25)") != std::string::npos;
      EXPECT_EQ(taken, row.taken) << row.model << row.effort << ' ' << body;
      EXPECT_EQ(body.find("temperature") != std::string::npos, row.taken) << body;
      EXPECT_EQ(body.find("presence_penalty"), std::string::npos) << body;
    }
  }
}

// Where the API takes no schema, the prompt tells it, once, behind the user's own prompt.
TEST(AnswerSchemas, AreToldWhereTheModelTakesNone) {
  constexpr std::string_view messages =
      R"([{"role":"system","content":"Be kind."},{"role":"user","content":"Hi"}])";
  constexpr std::string_view wish =
      R"("response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":)"
      R"("object","properties":{"a":{"type":"string"}}}}})";
  constexpr std::string_view reported =
      R"({"role":"system","content":"Be kind."},{"role":"system","content":"Answer with one JSON )"
      R"(value that follows this JSON Schema, and with nothing before or behind it:\n)"
      R"({\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}"},{"role":"user")";
  struct Row {
    std::string_view provider;
    std::string_view model;
    bool is_reported;
  };
  for (const Row& row : {
           Row{"deepseek", "deepseek-chat", true},
           Row{"zhipu", "glm-5", true},
           Row{"groq", "llama-3.3-70b-versatile", true},
           Row{"groq", "qwen/qwen3-32b", true},
           Row{"groq", "openai/gpt-oss-20b", false},
           Row{"groq", "meta-llama/llama-4-scout-17b-16e-instruct", false},
           Row{"groq", "moonshotai/kimi-k2-instruct-0905", false},
           Row{"openai", "gpt-4.1", false},
       }) {
    const std::string body = body_for(row.provider, row.model, messages, wish);
    EXPECT_EQ(body.find(reported) != body.npos, row.is_reported) << body;
    const auto format = row.is_reported ? R"("response_format":{"type":"json_object"})"
                                        : R"({"type":"json_schema",)";
    EXPECT_NE(body.find(format), body.npos) << body;
    const std::string plain = body_for(row.provider, row.model, messages);
    EXPECT_EQ(plain.find("JSON"), plain.npos) << plain;
  }
}

// Tools and choices in the spelling of either API of OpenAI.
TEST(CustomTools, AreSpelledAsTheApiWantsThem) {
  constexpr std::string_view hi = R"([{"role":"user","content":"Hi"}])";
  constexpr std::string_view flat =
      R"({"type":"custom","name":"sql","description":"Runs SQL.","format":)"
      R"({"type":"grammar","syntax":"lark","definition":"start: X"}})";
  constexpr std::string_view nested =
      R"({"type":"custom","custom":{"name":"sql","description":"Runs SQL.","format":)"
      R"({"type":"grammar","grammar":{"syntax":"lark","definition":"start: X"}}}})";
  constexpr std::string_view flat_choice = R"("tool_choice":{"type":"custom","name":"sql"})";
  constexpr std::string_view nested_choice =
      R"("tool_choice":{"type":"custom","custom":{"name":"sql"}})";
  struct Spelling {
    std::string_view tool;
    std::string_view choice;
  };
  for (const Spelling& given : {Spelling{flat, flat_choice}, Spelling{nested, nested_choice}}) {
    const std::string more =
        R"("tools":[)" + std::string(given.tool) + "]," + std::string(given.choice);
    const std::string items = body_for("openai", "gpt-5", hi, more + R"(,"apiMode":"responses")");
    EXPECT_NE(items.find(flat), std::string::npos) << items;
    EXPECT_NE(items.find(flat_choice), std::string::npos) << items;
    const std::string chat =
        body_for("openai", "gpt-5", hi, more + R"(,"apiMode":"chatCompletion")");
    EXPECT_NE(chat.find(nested), std::string::npos) << chat;
    EXPECT_NE(chat.find(nested_choice), std::string::npos) << chat;
    const auto other =
        test::build(test::settings_of("anthropic"), test::question("claude-sonnet-4-5", more));
    const std::string claude = test::body_of(other);
    EXPECT_NE(claude.find(R"("properties":{"input":{"type":"string"}})"), std::string::npos)
        << claude;
    ASSERT_EQ(other.value().notes.size(), 1U);
    EXPECT_EQ(other.value().notes[0].what, "tools.custom");
  }
  const std::string function = body_for(
      "openai", "gpt-5", hi,
      R"("apiMode":"responses","tools":[{"type":"custom","name":"f","input_schema":{"type":"object"}}])");
  EXPECT_NE(function.find(R"({"type":"function","name":"f")"), std::string::npos) << function;
}

TEST(ToolChoice, GoesThroughWhereItsToolsAreTaken) {
  constexpr std::string_view hi = R"([{"role":"user","content":"Hi"}])";
  constexpr std::string_view tools =
      R"("tools":[{"type":"function","function":{"name":"f"}},{"type":"web_search"}],)";
  constexpr std::string_view flat =
      R"("tool_choice":{"type":"allowed_tools","mode":"required","tools":)"
      R"([{"type":"function","name":"f"},{"type":"web_search"}]})";
  constexpr std::string_view nested =
      R"("tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":)"
      R"([{"type":"function","function":{"name":"f"}},{"type":"web_search"}]}})";
  const auto body = [&](std::string_view choice, std::string_view mode) {
    return body_for(
        "openai", "gpt-5", hi,
        std::string(tools).append(choice) + R"(,"apiMode":")" + std::string(mode) + "\"");
  };
  for (const std::string_view given : {flat, nested}) {
    const std::string items = body(given, "responses");
    EXPECT_NE(items.find(flat), std::string::npos) << items;
    const std::string chat = body(given, "chatCompletion");
    EXPECT_NE(chat.find(nested), std::string::npos) << chat;
  }
  for (const std::string_view same :
       {R"("tool_choice":{"type":"web_search"})",
        R"("tool_choice":{"type":"mcp","server_label":"s","name":"t"})"}) {
    const std::string items = body(same, "responses");
    EXPECT_NE(items.find(same), std::string::npos) << items;
  }
  const auto gemini = test::build(
      test::settings_of("google"),
      test::question("gemini-2.5-flash", R"("tools":[{"name":"f"}],)" + std::string(flat)));
  EXPECT_EQ(test::body_of(gemini).find("toolConfig"), std::string::npos);
  ASSERT_EQ(gemini.value().notes.size(), 1U);
  EXPECT_EQ(gemini.value().notes[0].what, "tool_choice");
  EXPECT_NE(body(R"("tool_choice":{"type":"function"})", "responses").find("`tool_choice` must be"),
            std::string::npos);
}

}  // namespace
}  // namespace millrace
