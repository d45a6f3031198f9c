#include <gtest/gtest.h>

#include "model/build.hpp"
#include "model/call/scope.hpp"
#include "model/provider/families.hpp"
#include "model/provider/secrets.hpp"

namespace millrace {
namespace {

std::string code_of(std::string_view payload) {
  CountingIds ids("id-");
  const auto read = model::read_payload(payload, ids);
  return read ? "ok" : std::string(read.error().code_name()) + ": " + read.error().message;
}

TEST(Payload, NamesWhatIsWrong) {
  struct Row {
    std::string_view more;
    std::string_view received;
  };
  for (
      const Row& row : {
          Row{R"("temperature":"hot")", "`temperature` must be a number"},
          Row{R"("max_tokens":1.5)", "`max_tokens` must be a whole number"},
          Row{R"("max_tokens":-5)", "`max_tokens` must be 1 or more"},
          Row{R"("max_tokens":0)", "`max_tokens` must be 1 or more"},
          Row{R"("top_k":-2)", "`top_k` must be 0 or more"},
          Row{R"("n":-1)", "`n` must be 1 or more"},
          Row{R"("max_tokens":1,"max_completion_tokens":2)", "differs from `max_tokens`"},
          Row{R"("reasoning_effort":"huge")", "`reasoning_effort` must be none"},
          Row{R"("reasoning_effort":"low","effort":"high")", "`effort` differs"},
          Row{R"("tools":[{}])", "entry without a name"},
          Row{R"("tools":[{"description":"x","parameters":{}}])", "entry without a name"},
          Row{R"("tools":[{"name":"a","strict":"maybe"}])",
              "`tools[].strict` must be true or false"},
          Row{R"("tools":[{"type":"function","function":{"name":"a","strict":1}}])",
              "`tools[].strict` must be true or false, not 1"},
          Row{R"("tool_choice":{"type":"auto","disable_parallel_tool_use":"yes"})",
              "`tool_choice.disable_parallel_tool_use` must be true or false"},
          Row{R"("response_format":{"type":"json_schema","json_schema":{"schema":{},"strict":"no"}})",
              "`response_format.json_schema.strict` must be true or false"},
          Row{R"("text":{"format":{"type":"json_schema","schema":{},"strict":0}})",
              ".strict` must be true or false, not 0"},
          Row{R"("system":3)", "`system` must be a string or a list of text blocks"},
          Row{R"("prompt":"x")", "`prompt` is not a member of a chat"},
          Row{R"("tools":[{"name":"a"},{"name":"a","description":"b"}])", "has \"a\" twice"},
          Row{R"("tool_choice":"perhaps")", "`tool_choice` must be"},
          Row{R"("response_format":{"type":"xml"})", "`response_format.type`"},
          Row{R"("response_format":{"type":"json_schema"})", "must be a JSON Schema"},
          Row{R"("thinking":{"type":"maybe"})", "`thinking.type`"},
          Row{R"("apiMode":"grpc")", "`apiMode`"},
          Row{R"("stream":"yes")", "`stream` must be true or false"},
      }) {
    const std::string received = code_of(test::question("m", row.more));
    EXPECT_NE(received.find(row.received), std::string::npos) << row.more << " gave " << received;
    EXPECT_TRUE(received.starts_with("invalid_body: ")) << received;
  }
  EXPECT_TRUE(code_of(R"({"messages":[]})").starts_with("invalid_body"));
  EXPECT_TRUE(code_of(R"({"model":"m","messages":[7]})").starts_with("invalid_messages"));
  EXPECT_TRUE(code_of(R"({"model":"m","format":"x","messages":[]})").starts_with("unknown_format"));
  EXPECT_EQ(code_of(test::question("m", R"("temperature":null,"apiMode":null)")), "ok");
}

// As of a list that is put together from several.
TEST(Payload, TakesAToolThatIsDeclaredTwiceAlikeForOne) {
  constexpr std::string_view once = R"({"type":"function","function":{"name":"look"}})";
  const std::string twice = std::string(once).append(", ").append(once);
  const auto with = [](std::string_view tools) {
    return test::body_of(
        test::build(test::settings_of("google"),
                    test::question("m", std::string("\"tools\":[").append(tools).append("]"))));
  };
  EXPECT_EQ(with(twice), with(once));
  EXPECT_NE(with(twice).find("look"), std::string::npos);
}

// LM Studio writes no limit of tokens as -1, vLLM no limit of candidates.
TEST(Payload, LeavesOutWhatHasNoLimit) {
  for (const std::string_view more :
       {R"("max_tokens":-1)", R"("max_completion_tokens":-1)", R"("max_output_tokens":-1)",
        R"("top_k":-1)", R"("max_tokens":-1,"top_k":-1)"}) {
    for (const std::string_view provider : {"lmstudio", "vllm", "anthropic", "google"}) {
      const auto with = test::build(test::settings_of(provider), test::question("m", more));
      const auto without = test::build(test::settings_of(provider), test::question("m"));
      EXPECT_EQ(test::body_of(with), test::body_of(without)) << provider << ' ' << more;
    }
  }
  const std::string body =
      test::body_of(test::build(test::settings_of("lmstudio"),
                                test::question("m", R"("max_tokens":-1,"max_output_tokens":7)")));
  EXPECT_NE(body.find(R"("max_tokens":7)"), std::string::npos) << body;
}

// Nothing says whose they are: a program's own rows have members for itself.
TEST(Payload, NamesMembersOfMessagesThatAreLeftOut) {
  const std::string messages =
      R"("messages":[{"role":"user","content":"Hi","images":["AAAA"],"mine":1},)"
      R"({"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","own":2,)"
      R"("function":{"name":"f","arguments":"{}","inner":3}}]},)"
      R"({"role":"tool","tool_call_id":"c1","content":"Done","mine":4}])";
  const auto plain = test::build(test::settings_of("openai"), R"({"model":"m",)" + messages + "}");
  EXPECT_FALSE(test::has(test::body_of(plain), "AAAA"));
  std::vector<std::string> sentences;
  for (const model::Note& note : plain.value().notes) sentences.push_back(note.sentence);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_TRUE(
      test::has(sentences.front(),
                "images, mine, tool_calls.own, tool_calls.function.inner. Name the `format`"))
      << sentences.front();
  const auto named = test::build(test::settings_of("openai"),
                                 R"({"model":"m","format":"openai",)" + messages + "}");
  EXPECT_TRUE(named.value().notes.empty());
  for (const char* member : {R"("images":["AAAA"])", R"("mine":1)", R"("own":2)", R"("inner":3)"}) {
    EXPECT_TRUE(test::has(test::body_of(named), member)) << test::body_of(named);
  }
}

TEST(Payload, ReadsTextsWithoutAType) {
  const std::string body = test::body_of(
      test::build(test::settings_of("openai"),
                  R"({"model":"gpt-4o","messages":[{"role":"user","content":[{"text":"one"},)"
                  R"({"type":"input_text","text":"two"},{"type":null,"text":"three"}]}]})"));
  for (const std::string_view text : {"one", "two", "three"}) {
    const std::string part = R"({"type":"text","text":")" + std::string(text) + "\"}";
    EXPECT_NE(body.find(part), std::string::npos) << body;
  }
}

TEST(Payload, TakesNoMessageForAnother) {
  struct Row {
    std::string_view message;
    std::string_view received;
  };
  for (const Row& row : {
           Row{R"({"role":"wizard","content":"x"})", "messages[0] has the unknown role \"wizard\""},
           Row{R"({"role":"User","content":"x"})", "unknown role"},
           Row{R"({"role":"","content":"x"})", "unknown role"},
           Row{R"({"role":"user","content":[{"type":"image_url"}]})", "content[0] needs image_url"},
           Row{R"({"role":"user","content":[{"type":"text","text":"a"},)"
               R"({"type":"video_url","video_url":{"url":7}}]})",
               "messages[0].content[1] needs video_url.url"},
           Row{R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"odd"}]})",
               "content[1] has the unknown type \"odd\""},
           Row{R"({"role":"user","content":["x"]})", "unknown type"},
           Row{R"({"role":"user","content":[{"url":"x"}]})", "unknown type"},
           Row{R"({"role":"user","content":[{"type":"","text":"x"}]})", "unknown type"},
       }) {
    const std::string received =
        code_of(R"({"model":"m","messages":[)" + std::string(row.message) + "]}");
    EXPECT_TRUE(received.starts_with("invalid_messages: ")) << received;
    EXPECT_NE(received.find(row.received), std::string::npos)
        << row.message << " gave " << received;
  }
}

TEST(Payload, ToolChoiceNamesAToolThatIsThere) {
  const auto built = test::build(test::settings_of("openai"),
                                 test::question("m", R"("tool_choice":{"function":{"name":"x"}})"));
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code_name(), "invalid_body");
}

TEST(Payload, GivesSignaturesToTheirIssuerOnly) {
  const std::string signature = model::scoped_signature("anthropic", "sig-1");
  const std::string payload =
      R"({"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"a"},)"
      R"({"role":"assistant","content":"b","reasoning":{"content":"why","signature":")" +
      signature + R"("}},{"role":"user","content":"c"}]})";
  const auto own = test::build(test::settings_of("anthropic"), payload);
  EXPECT_NE(test::body_of(own).find(R"("signature":"sig-1")"), std::string::npos)
      << test::body_of(own);
  const auto other = test::build(test::settings_of("kimicodingplan"), payload);
  EXPECT_EQ(test::body_of(other).find("sig-1"), std::string::npos) << test::body_of(other);
  const auto openai = test::build(test::settings_of("openai", R"("apiMode":"responses")"), payload);
  EXPECT_EQ(test::body_of(openai).find("sig-1"), std::string::npos) << test::body_of(openai);
}

TEST(Payload, GivesTheStateOfACallToItsIssuerOnly) {
  const std::string value = R"({\"google\":{\"thought_signature\":\"ts-1\"}})";
  const std::string signature = model::scoped_signature("google", value);
  const std::string payload =
      R"({"model":"gemini-3-pro","messages":[{"role":"user","content":"a"},{"role":"assistant",)"
      R"("content":"","tool_calls":[{"id":"c1","type":"function","thoughtSignature":")" +
      signature +
      R"(","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1",)"
      R"("content":"r"}]})";
  for (const std::string_view provider : {"google", "vertexai", "openrouter", "openai"}) {
    const auto built = test::build(test::settings_of(provider), payload);
    if (!built.ok()) continue;  // Vertex AI without its project
    const bool sent = test::body_of(built).find("ts-1") != std::string::npos;
    EXPECT_EQ(sent, provider == "google") << provider << test::body_of(built);
  }
}

TEST(Payload, GivesUnclaimedThoughtSignaturesToGeminiOnly) {
  const auto sent = [](std::string_view provider, std::string_view model) {
    const std::string payload =
        R"({"model":")" + std::string(model) +
        R"(","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"",)"
        R"("tool_calls":[{"id":"c1","type":"function","extra_content":{"google":)"
        R"({"thought_signature":"ts-1"}},"function":{"name":"t","arguments":"{}"}}]},)"
        R"({"role":"tool","tool_call_id":"c1","content":"r"}]})";
    const auto built = test::build(test::settings_of(provider), payload);
    return test::body_of(built).find("ts-1") != std::string::npos;
  };
  EXPECT_TRUE(sent("openrouter", "google/gemini-3-pro-preview"));
  EXPECT_FALSE(sent("openrouter", "openai/gpt-5"));
  EXPECT_FALSE(sent("openai", "gpt-5"));
  EXPECT_FALSE(sent("mistral", "mistral-large-latest"));
}

TEST(Payload, SendsMistralItsThoughtsAsPartsOfTheAnswer) {
  const auto sent = [](std::string_view answer) {
    const std::string payload =
        R"({"model":"magistral-medium-2509","messages":[{"role":"user","content":"a"},)" +
        std::string(answer) + R"(,{"role":"user","content":"b"}]})";
    return test::body_of(test::build(test::settings_of("mistral"), payload));
  };
  constexpr std::string_view thinking =
      R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"why"}]})";
  const std::string text =
      sent(R"({"role":"assistant","content":"so","reasoning":{"content":"why"}})");
  EXPECT_NE(text.find(std::string(thinking) + R"(,{"type":"text","text":"so"}])"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("reasoning_content"), std::string::npos) << text;
  EXPECT_NE(sent(R"({"role":"assistant","content":"so"})").find(R"("content":"so")"),
            std::string::npos);
}

TEST(Scope, IsReadAsItWasWritten) {
  for (const std::string_view provider : {"a", "my.own.vendor", "mr1.1.a."}) {
    const std::string text = model::scoped_signature(provider, "sig.na.ture");
    EXPECT_EQ(model::read_scoped(text).provider, provider);
    EXPECT_EQ(model::read_scoped(text).signature, "sig.na.ture");
  }
  for (const std::string_view text : {"", "sig", "mr1.", "mr1.9.a.b", "mr1.x.a.b", "mr1.1.ab"}) {
    EXPECT_EQ(model::read_scoped(text).provider, "");
    EXPECT_EQ(model::read_scoped(text).signature, text);
  }
}

// The thoughts of `reasoning`, and what the request says of them.
std::string responses_with(std::string_view reasoning, std::vector<model::Note>& notes) {
  const auto built = test::build(
      test::settings_of("openai", R"("apiMode":"responses")"),
      R"({"model":"gpt-5","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b",)"
      R"("reasoning":)" +
          std::string(reasoning) + R"(},{"role":"user","content":"c"}]})");
  if (built) notes = built.value().notes;
  return test::body_of(built);
}

TEST(Payload, TellsThatTheResponsesApiIsGivenNoThoughtsOfOthers) {
  for (const std::string& signature :
       {std::string(), std::string("ErUB"), model::scoped_signature("anthropic", "gAAAA1")}) {
    std::vector<model::Note> notes;
    const std::string body =
        responses_with(R"({"content":"why","signature":")" + signature + R"("})", notes);
    EXPECT_EQ(body.find("why"), std::string::npos) << body;
    EXPECT_EQ(body.find(R"("type":"reasoning")"), std::string::npos) << body;
    ASSERT_EQ(notes.size(), 1U) << signature;
    EXPECT_EQ(notes[0].what, "messages");
    EXPECT_NE(notes[0].sentence.find("left out: 1."), std::string::npos) << notes[0].sentence;
  }
}

TEST(Payload, SendsThoughtsOfTheResponsesApiBackWithoutTheirItem) {
  std::vector<model::Note> notes;
  const std::string signature = model::scoped_signature("openai", "gAAAA1");
  const std::string body =
      responses_with(R"({"content":"why","signature":")" + signature + R"("})", notes);
  EXPECT_NE(body.find(R"({"type":"reasoning","summary":[{"type":"summary_text","text":"why"}],)"
                      R"("encrypted_content":"gAAAA1"})"),
            std::string::npos)
      << body;
  EXPECT_TRUE(notes.empty());
}

TEST(Payload, SendsResponsesItemsBack) {
  const auto built = test::build(
      test::settings_of("openai", R"("apiMode":"responses")"),
      R"({"model":"gpt-5","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b",)"
      R"("reasoning":{"content":"s","responseItems":[{"type":"reasoning","id":"rs_1",)"
      R"("encrypted_content":"gAAAA1","summary":[{"type":"summary_text","text":"s"}]}]}},)"
      R"({"role":"user","content":"c"}]})");
  const std::string body = test::body_of(built);
  EXPECT_NE(body.find(R"("type":"reasoning","id":"rs_1")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("encrypted_content":"gAAAA1")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("store":false)"), std::string::npos) << body;
}

TEST(Payload, SendsAllOfAResponsesItemBack) {
  const auto built = test::build(
      test::settings_of("openai", R"("apiMode":"responses")"),
      R"({"model":"gpt-5","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b",)"
      R"("reasoning":{"responseItems":[{"type":"reasoning","id":"rs_1","encrypted_content":"gAAAA1",)"
      R"("summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":)"
      R"("c"}],"status":"completed"}]}},{"role":"user","content":"c"}]})");
  const std::string body = test::body_of(built);
  EXPECT_NE(body.find(R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text",)"
                      R"("text":"s"}],"content":[{"type":"reasoning_text","text":"c"}],)"
                      R"("encrypted_content":"gAAAA1","status":"completed"})"),
            std::string::npos)
      << body;
}

constexpr std::string_view foreign_call =
    R"("messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":)"
    R"([{"id":"call_1","type":"function","function":{"name":"t","arguments":"{}"}},)"
    R"({"id":"call_2","type":"function","function":{"name":"t","arguments":"{}"}}]},)"
    R"({"role":"tool","tool_call_id":"call_1","content":"r"},)"
    R"({"role":"tool","tool_call_id":"call_2","content":""}])";

std::string body_with(std::string_view provider, std::string_view model, std::string_view more) {
  std::string payload = "{";
  json::append_member(payload, "model", model);
  payload.append(",").append(more).append("}");
  return test::body_of(test::build(test::settings_of(provider), payload));
}

TEST(Payload, ExcusesCallsWithoutASignatureToGemini3) {
  const std::string body = body_with("google", "gemini-3-pro", foreign_call);
  EXPECT_NE(body.find(R"({"functionCall":{"name":"t","args":{}},"thoughtSignature":)"
                      R"("skip_thought_signature_validator"},{"functionCall":{"name":"t","args":)"
                      R"({}}}])"),
            std::string::npos)
      << body;
  const std::string older = body_with("google", "gemini-2.5-pro", foreign_call);
  EXPECT_EQ(older.find("thoughtSignature"), std::string::npos) << older;
}

TEST(Payload, GivesDeepSeekAReasoningForEachAnswer) {
  constexpr std::string_view empty = R"("reasoning_content":"")";
  for (const std::string_view model : {"deepseek-reasoner", "deepseek-v4-pro"}) {
    const std::string body = body_with("deepseek", model, foreign_call);
    EXPECT_NE(body.find(empty), std::string::npos) << body;
  }
  const std::string gateway = body_with("openrouter", "Deepseek/deepseek-v4-pro", foreign_call);
  EXPECT_NE(gateway.find(empty), std::string::npos) << gateway;
  const std::string chat = body_with("deepseek", "deepseek-chat", foreign_call);
  EXPECT_EQ(chat.find(empty), std::string::npos) << chat;
  const std::string off =
      body_with("deepseek", "deepseek-v4-pro",
                std::string(foreign_call).append(R"(,"thinking":{"type":"disabled"})"));
  EXPECT_EQ(off.find(empty), std::string::npos) << off;
}

TEST(Payload, GivesMiniMaxItsThoughtsAsDetails) {
  const std::string body =
      body_with("minimax", "MiniMax-M2",
                R"("messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b",)"
                R"("reasoning":{"content":"why"}},{"role":"user","content":"c"}])");
  EXPECT_NE(body.find(R"("content":"b","reasoning_details":[{"type":"reasoning.text","id":)"
                      R"("reasoning-text-0","format":"MiniMax-response-v1","index":0,)"
                      R"("text":"why"}])"),
            std::string::npos)
      << body;
}

TEST(Payload, TellsClaudeResultsWithoutCallsAsWords) {
  const std::string body =
      body_with("anthropic", "claude-sonnet-4-5",
                std::string(R"("messages":[{"role":"tool","tool_call_id":"gone","content":"sun"},)")
                    .append(foreign_call.substr(foreign_call.find('[') + 1)));
  EXPECT_NE(body.find(R"("messages":[{"role":"user","content":[{"type":"text","text":"sun"})"),
            std::string::npos)
      << body;
  EXPECT_NE(body.find(R"("tool_use_id":"call_2","content":"<empty_content>")"), std::string::npos)
      << body;
}

TEST(Payload, NamesJpegAsApisDoAndRefusesDrawings) {
  const auto image_data = [](std::string_view provider, std::string_view model,
                             std::string_view type) {
    return body_with(provider, model,
                     std::string(R"("messages":[{"role":"user","content":[{"type":"image_url",)"
                                 R"("image_url":{"url":"data:)")
                         .append(type)
                         .append(R"(;base64,AAAA"}}]}])"));
  };
  const std::string jpg = image_data("anthropic", "claude-sonnet-4-5", "image/jpg");
  EXPECT_NE(jpg.find(R"("media_type":"image/jpeg")"), std::string::npos) << jpg;
  for (const auto& [provider, model] :
       {std::pair{"anthropic", "claude-sonnet-4-5"}, std::pair{"google", "gemini-2.5-flash"}}) {
    const std::string svg = image_data(provider, model, "image/svg+xml");
    EXPECT_NE(svg.find("no SVG"), std::string::npos) << svg;
  }
}

// A question, an answer that has these members, and the next question.
std::string answered(std::string_view members) {
  return std::string(R"("messages":[{"role":"user","content":"a"},{"role":"assistant",)")
      .append(members)
      .append(R"(},{"role":"user","content":"c"}])");
}

TEST(Payload, TakesSeveralThoughtsApart) {
  const std::string list = model::scoped_signature(
      "anthropic", R"({"blocks":[{"length":2,"value":"S1"},{"length":1,"value":"{\"type\":)"
                   R"(\"redacted_thinking\",\"data\":\"r\"}"},{"length":1,"value":"S3"}]})");
  const auto body = [&](std::string_view text, std::string_view provider) {
    std::string members = R"("content":"b","reasoning":{)";
    json::append_member(members, "content", text);
    json::append_member(members, "signature", list);
    return body_with(provider, "claude-sonnet-4-5", answered(members + "}"));
  };
  const std::string own = body("\xC3\xA4xy", "anthropic");
  EXPECT_NE(own.find(R"({"type":"thinking","thinking":")"
                     "\xC3\xA4"
                     R"(","signature":"S1"},{"type":"redacted_thinking","data":"r"},)"
                     R"({"type":"thinking","thinking":"y","signature":"S3"})"),
            std::string::npos)
      << own;
  EXPECT_EQ(body("changed", "anthropic").find("S1"), std::string::npos);
  EXPECT_EQ(body("\xC3\xA4xy", "kimicodingplan").find("S1"), std::string::npos);
}

TEST(Payload, GivesDetailsOfReasoningBackToTheirGateway) {
  std::string members = R"("content":"b","reasoning":{"content":"hm",)";
  members.pop_back();
  json::append_member(
      members, "signature",
      model::scoped_signature("openrouter", R"([{"type":"reasoning.text","signature":"SX"}])"));
  const std::string messages = answered(members + "}");
  const std::string own = body_with("openrouter", "anthropic/claude-sonnet-4.5", messages);
  EXPECT_NE(own.find(R"("reasoning_details":[{"type":"reasoning.text","signature":"SX"}])"),
            std::string::npos)
      << own;
  EXPECT_EQ(body_with("groq", "m", messages).find("SX"), std::string::npos);
}

TEST(Payload, PutsGeminisSignatureOfATextBackToTheText) {
  std::string members = R"("content":"b","reasoning":{)";
  json::append_member(members, "signature", model::scoped_signature("google", "ts-1"));
  const std::string body = body_with("google", "gemini-3-pro", answered(members + "}"));
  EXPECT_NE(body.find(R"("parts":[{"text":"b","thoughtSignature":"ts-1"}])"), std::string::npos)
      << body;
}

TEST(Payload, GivesOpenRouterTheImagesOfItsAnswers) {
  constexpr std::string_view messages =
      R"("messages":[{"id":"1","role":"user","content":"a"},{"id":"2","role":"assistant",)"
      R"("content":"Here","metadata":{"millrace":{"providerState":[{"provider":"openai_chat",)"
      R"("kind":"image","state":{"type":"image_url","image_url":{"url":"data:x"}}}]}}},)"
      R"({"id":"3","role":"user","content":"c"}],"format":"canonical")";
  const std::string body = body_with("openrouter", "google/gemini-2.5-flash-image", messages);
  EXPECT_NE(body.find(R"("images":[{"type":"image_url","image_url":{"url":"data:x"}}])"),
            std::string::npos)
      << body;
  EXPECT_EQ(body_with("groq", "m", messages).find("images"), std::string::npos);
}

TEST(Payload, KnowsFoldedMessagesByTheirNames) {
  const std::string body = body_with(
      "openai", "gpt-4o",
      R"("apiMode":"chatCompletion","messages":[{"id":"1","role":"user","content":"a"},)"
      R"({"id":"2","role":"reasoning","content":"t"},{"id":"3","role":"assistant","toolCalls":)"
      R"([{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},)"
      R"({"id":"4","role":"tool","toolCallId":"c1","content":"r"}])");
  EXPECT_NE(body.find(R"("tool_calls":[{"id":"c1")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("tool_call_id":"c1")"), std::string::npos) << body;
}

TEST(Payload, SendsTheContainerWhereAProgramWaits) {
  const auto body = [](std::string_view last) {
    return body_with(
        "anthropic", "claude-sonnet-4-5",
        std::string(R"("messages":[{"id":"1","role":"user","content":"a"},)"
                    R"({"id":"2","role":"assistant","toolCalls":[{"id":"c1","type":"function",)"
                    R"("function":{"name":"f","arguments":"{}"}}],"metadata":{"millrace":)"
                    R"({"providerState":[{"provider":"anthropic","kind":"container","state":)"
                    R"({"id":"cont_1"}}]}}},{"id":"3","role":"tool","toolCallId":"c1",)"
                    R"("content":"r"})")
            .append(last)
            .append("]"));
  };
  EXPECT_NE(body("").find(R"("container":"cont_1")"), std::string::npos) << body("");
  EXPECT_EQ(body(R"(,{"id":"4","role":"user","content":"z"})").find("cont_1"), std::string::npos);
}

// The answer that paused goes on where its tools ran.
TEST(Payload, SendsTheContainerOfAnAnswerThatPaused) {
  const std::string paused =
      R"("format":"canonical","messages":[{"id":"1","role":"user","content":"a"},)"
      R"({"id":"2","role":"assistant","content":"So far.","metadata":{"millrace":{"providerState":[{"provider":"anthropic",)"
      R"("kind":"container","state":{"id":"cont_1"}}]}}})";
  const auto body = [&](std::string_view last) {
    return body_with("anthropic", "claude-sonnet-4-5", paused + std::string(last) + "]");
  };
  EXPECT_NE(body("").find(R"("container":"cont_1")"), std::string::npos) << body("");
  EXPECT_EQ(body(R"(,{"id":"3","role":"user","content":"z"})").find("cont_1"), std::string::npos);
}

TEST(Payload, WritesSchemasAsAllProvidersTakeThem) {
  const std::string body = body_with(
      "groq", "m",
      R"("messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":)"
      R"({"name":"f","parameters":{"type":"object","properties":{"s":{"items":true,"type":"array"},)"
      R"("items":{"items":{"type":"string"}},"":{"enum":[]},"w":{"anyOf":[{"items":true},)"
      R"({"type":"string","enum":[null]}]},"v":true},"additionalProperties":false}}}])");
  EXPECT_NE(
      body.find(R"("parameters":{"type":"object","properties":{"s":{"items":{},"type":"array"},)"
                R"("items":{"items":{"type":"string"},"type":"array"},"":{},"w":{"anyOf":)"
                R"([{"items":{},"type":"array"},{"type":"string","enum":[null]}]},"v":{}},)"
                R"("additionalProperties":false})"),
      std::string::npos)
      << body;
}

TEST(Payload, SendsThoughtSignaturesBack) {
  const auto built = test::build(
      test::settings_of("gemini"),
      R"({"model":"gemini-3-pro","messages":[{"role":"user","content":"a"},{"role":"assistant",)"
      R"("content":"","tool_calls":[{"id":"c1","type":"function","thoughtSignature":"ts-1",)"
      R"("function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1",)"
      R"("content":"r"}]})");
  EXPECT_NE(test::body_of(built).find(R"("thoughtSignature":"ts-1")"), std::string::npos)
      << test::body_of(built);
}

TEST(Payload, LeavesMediaOutThatHoldNothing) {
  for (const std::string_view part :
       {R"({"type":"video_url","video_url":{"url":""}})", R"({"type":"image_url","image_url":""})",
        R"({"type":"image_url","image_url":{"url":"data:image/png;base64,"}})",
        R"({"type":"input_audio","input_audio":{"data":"","format":"wav"}})"}) {
    const std::string empty(part);
    const auto built = test::build(
        test::settings_of("groq"),
        R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},)" +
            empty + R"(]},{"role":"assistant","content":"b"},{"role":"user","content":[)" + empty +
            "]}]}");
    ASSERT_TRUE(built) << built.error().message;
    EXPECT_NE(built.value().request.body.find(
                  R"("messages":[{"role":"user","content":[{"type":"text","text":"a"}]},)"
                  R"({"role":"assistant","content":"b"}])"),
              std::string::npos)
        << built.value().request.body;
    ASSERT_EQ(built.value().notes.size(), 2U) << part;
    EXPECT_EQ(built.value().notes[0].sentence, "Media without address or bytes are left out: 2.");
    EXPECT_EQ(built.value().notes[1].sentence, "Messages that say nothing are left out: 1.");
  }
}

TEST(Payload, MovesMediaOfResultsToTheUser) {
  const auto built = test::build(
      test::settings_of("groq"),
      R"({"model":"m","format":"canonical","messages":[{"role":"user","id":"1","content":"a"},)"
      R"({"role":"assistant","id":"2","toolCalls":[{"id":"c1","type":"function",)"
      R"("function":{"name":"t","arguments":"{}"}}]},{"role":"tool","id":"3","toolCallId":"c1",)"
      R"("content":[{"type":"text","text":"r"},{"type":"image","source":{"type":"url",)"
      R"("value":"https://e/x.png"}}]}]})");
  const std::string body = test::body_of(built);
  EXPECT_NE(body.find(R"({"role":"tool","content":"r","tool_call_id":"c1"},{"role":"user",)"
                      R"("content":[{"type":"image_url","image_url":{"url":"https://e/x.png"}}]})"),
            std::string::npos)
      << body;
}

TEST(Payload, MendsCallsWithoutResults) {
  const auto built = test::build(
      test::settings_of("openai"),
      R"({"model":"gpt-4o","messages":[{"role":"user","content":"a"},{"role":"assistant",)"
      R"("content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"t",)"
      R"("arguments":"{}"}}]},{"role":"user","content":"b"}]})");
  ASSERT_TRUE(built.ok());
  EXPECT_NE(built.value().request.body.find("The call was interrupted."), std::string::npos);
  ASSERT_EQ(built.value().notes.size(), 1U);
  EXPECT_EQ(built.value().notes[0].what, "messages");
}

TEST(Families, LoseWhatTheyRefuse) {
  const std::string more =
      R"("temperature":0.5,"top_p":0.5,"presence_penalty":1,"stop":["x"],"max_tokens":9)";
  const std::string o3 =
      test::body_of(test::build(test::settings_of("openai"), test::question("o3-mini", more)));
  EXPECT_EQ(o3.find("temperature"), std::string::npos) << o3;
  EXPECT_EQ(o3.find("stop"), std::string::npos) << o3;
  EXPECT_NE(o3.find(R"("max_completion_tokens":9)"), std::string::npos) << o3;
  const std::string claude = test::body_of(
      test::build(test::settings_of("anthropic"), test::question("claude-sonnet-4-5", more)));
  EXPECT_NE(claude.find(R"("temperature":0.5)"), std::string::npos) << claude;
  EXPECT_EQ(claude.find("top_p"), std::string::npos) << claude;
  EXPECT_TRUE(model::traits_of("openai/o3:free").has(model::Trait::no_sampling));
  EXPECT_TRUE(model::traits_of("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
                  .has(model::Trait::one_sampling));
  EXPECT_FALSE(model::traits_of("gpt-5-chat-latest").has(model::Trait::no_sampling));
  EXPECT_FALSE(model::traits_of("foo1-mini").has(model::Trait::no_sampling));
}

TEST(Thinking, IsSpelledAsEachDialectDoes) {
  const std::string more =
      R"("thinking":{"type":"enabled","budget_tokens":4096},"max_tokens":2000)";
  const std::string claude = test::body_of(
      test::build(test::settings_of("anthropic"), test::question("claude-sonnet-4-5", more)));
  EXPECT_NE(claude.find(R"("thinking":{"type":"enabled","budget_tokens":1999})"), std::string::npos)
      << claude;
  const std::string gemini = test::body_of(
      test::build(test::settings_of("google"), test::question("gemini-2.5-pro", more)));
  EXPECT_NE(gemini.find(R"("thinkingConfig":{"includeThoughts":true,"thinkingBudget":4096})"),
            std::string::npos)
      << gemini;
  const std::string level = test::body_of(test::build(
      test::settings_of("google"), test::question("gemini-3-pro", R"("thinkingLevel":"low")")));
  EXPECT_NE(level.find(R"("thinkingLevel":"low")"), std::string::npos) << level;
  const std::string effort = test::body_of(test::build(
      test::settings_of("openai"), test::question("o3", R"("reasoning_effort":"minimal")")));
  EXPECT_NE(effort.find(R"("reasoning_effort":"low")"), std::string::npos) << effort;
}

TEST(Caching, MarksSystemToolsAndTheLastBlock) {
  const std::string body = test::body_of(test::build(
      test::settings_of("anthropic"),
      R"({"model":"claude-sonnet-4-5","enabledContextCaching":true,"tools":[{"name":"a"},{"name":"b"}],)"
      R"("messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]})"));
  constexpr std::string_view mark = R"("cache_control":{"type":"ephemeral"})";
  std::size_t count = 0;
  for (std::size_t at = body.find(mark); at != std::string::npos; at = body.find(mark, at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 3U) << body;
  EXPECT_EQ(body.find(mark), body.find(R"("text":"s",)") + sizeof(R"("text":"s",)") - 1);
}

TEST(Caching, MarksTheLastToolAlsoWhereItIsTheVendors) {
  const auto tools_of = [](std::string_view last) {
    return test::body_of(test::build(
        test::settings_of("anthropic"),
        test::question(
            "claude-sonnet-4-5",
            R"("enabledContextCaching":true,"tools":[{"name":"a"},)" + std::string(last) + "]")));
  };
  const std::string marked = tools_of(R"({"type":"bash_20250124","name":"bash"})");
  EXPECT_TRUE(test::has(marked, R"({"type":"bash_20250124","name":"bash",)"
                                R"("cache_control":{"type":"ephemeral"}}])"))
      << marked;
  const std::string given = tools_of(
      R"({"type":"bash_20250124","name":"bash","cache_control":{"type":"ephemeral","ttl":"1h"}})");
  EXPECT_TRUE(
      test::has(given, R"("name":"bash","cache_control":{"type":"ephemeral","ttl":"1h"}}])"))
      << given;
}

// Bad settings and payloads of every provider: no error shows a key.
TEST(Config, NeverShowsAKey) {
  constexpr std::string_view secret = "sk-very-secret-0123456789";
  const std::vector<std::string> payloads{
      test::question("m", R"("apiMode":"responses")"), test::question("m", R"("apiMode":"gemini")"),
      test::question("m", R"("tool_choice":"required")"),
      R"({"model":"m","messages":[{"role":"user","content":[{"type":"video_url",)"
      R"("video_url":{"url":"https://e/v.mp4"}}]}]})"};
  for (const model::Provider& row : model::providers()) {
    const std::string settings = R"({"provider":")" + std::string(row.id) + R"(","apiKey":")" +
                                 std::string(secret) + R"(","secretAccessKey":")" +
                                 std::string(secret) + R"(","credentials":")" +
                                 std::string(secret) + R"("})";
    for (const std::string& payload : payloads) {
      const auto built = test::build(settings, payload);
      if (built) continue;
      EXPECT_EQ(built.error().message.find(secret), std::string::npos) << built.error().message;
      EXPECT_EQ(built.error().detail.find(secret), std::string::npos) << built.error().detail;
    }
    const auto config = model::read_config(settings);
    ASSERT_TRUE(config.ok());
    if (!model::needs_token(config.value())) continue;
    const auto token = model::token_request(config.value(), {test::test_time});
    if (!token) {
      EXPECT_EQ(token.error().message.find(secret), std::string::npos);
    }
  }
}

TEST(Config, KnowsTheSecretsOfHeadersAndQuery) {
  const auto config = model::read_config(
      R"({"provider":"openai","apiKey":"k","headers":{"X-Auth-Token":"tok-super-secret",)"
      R"("Cookie":"sid=0123456789; lang=de","Authorization":"Basic dXNlcjpwYXNzd29yZA==",)"
      R"("X-Team":"the-usual-team"},"query":{"key":"querysecret12345","page":"long-page-name"}})");
  ASSERT_TRUE(config.ok());
  const std::vector<std::string> secrets = secrets_of(config.value());
  const std::vector<std::string> expected{"k", "tok-super-secret", "0123456789",
                                          "dXNlcjpwYXNzd29yZA==", "querysecret12345"};
  EXPECT_EQ(secrets, expected);
}

TEST(Config, TellsSecretsByTheLastWordOfAName) {
  struct Row {
    std::string_view name;
    bool is_secret;
  };
  for (const Row& row : {
           Row{"Authorization", true},
           Row{"Proxy-Authorization", true},
           Row{"cf-aig-authorization", true},
           Row{"Cookie", true},
           Row{"X-Auth", true},
           Row{"x-api-key", true},
           Row{"api_key", true},
           Row{"apiKey", true},
           Row{"APIKEY", true},
           Row{"X-Amz-Security-Token", true},
           Row{"access_token", true},
           Row{"clientSecret", true},
           Row{"X-Proxy-Password", true},
           Row{"X-Amz-Signature", true},
           Row{"X-Auth-Env", false},
           Row{"X-Author", false},
           Row{"X-Key-Id", false},
           Row{"X-Tokenizer", false},
           Row{"X-Monkey", false},
           Row{"max_tokens", false},
           Row{"X-Session-Mode", false},
           Row{"-", false},
           Row{"X-", false},
       }) {
    const std::string name(row.name);
    for (const std::string_view place : {"headers", "query"}) {
      const auto config = model::read_config(R"({"provider":"ollama",")" + std::string(place) +
                                             R"(":{")" + name + R"(":"production"}})");
      ASSERT_TRUE(config.ok()) << name;
      EXPECT_EQ(secrets_of(config.value()).size(), row.is_secret ? 1U : 0U) << name;
    }
  }
}

TEST(Config, TakesNoShortWordOfAHeaderForASecret) {
  const auto config = model::read_config(
      R"({"provider":"openai","headers":{"X-Api-Key":"default","Cookie":"theme=dark"}})");
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(secrets_of(config.value()).empty());
}

TEST(Config, NamesWhatIsWrong) {
  struct Row {
    std::string_view settings;
    std::string_view code;
  };
  for (const Row& row : {Row{R"({"provider":"nobody"})", "unknown_provider"},
                         Row{R"({"provider":"openai","baseURL":"ftp://x"})", "invalid_url"},
                         Row{R"({"provider":"openai","quirks":{"odd":true}})", "invalid_option"},
                         Row{R"({"provider":"openai","timeouts":{"idle":-1}})", "invalid_option"},
                         Row{R"({"provider":"openai","timeouts":{"conect":1}})", "invalid_option"},
                         Row{R"({"provider":"openai","maxRetries":"x"})", "invalid_option"},
                         Row{R"({"provider":"openai","apiKey":7})", "invalid_option"},
                         Row{"{}", "invalid_option"}}) {
    const auto config = model::read_config(row.settings);
    ASSERT_FALSE(config.ok()) << row.settings;
    EXPECT_EQ(config.error().code_name(), row.code) << config.error().message;
  }
}

TEST(Config, LeadsToTheWayThatIsAskedFor) {
  struct Row {
    std::string_view settings;
    std::string_view model;
    std::string_view url;
  };
  for (
      const Row& row :
      {Row{R"({"provider":"deepseek","apiKey":"k","apiMode":"anthropic"})", "deepseek-chat",
           "https://api.deepseek.com/anthropic/v1/messages"},
       Row{R"({"provider":"deepseek","apiKey":"k","baseURL":"https://e/anthropic/"})", "m",
           "https://e/anthropic/v1/messages"},
       Row{R"({"provider":"anthropic","apiKey":"k","baseURL":"https://e/v1/messages"})", "m",
           "https://e/v1/messages"},
       Row{R"({"provider":"azure","apiKey":"k","baseURL":"https://r.openai.azure.com","deployments":{"gpt-4o":"mine"}})",
           "gpt-4o",
           "https://r.openai.azure.com/openai/deployments/mine/chat/"
           "completions?api-version=2024-10-21"},
       Row{R"({"provider":"azure","apiKey":"k","baseURL":"https://r.openai.azure.com","apiMode":"responses"})",
           "gpt-5", "https://r.openai.azure.com/openai/v1/responses"},
       Row{R"({"provider":"vertexai","project":"p","location":"global"})", "claude-sonnet-4-5",
           "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/anthropic/"
           "models/claude-sonnet-4-5:streamRawPredict"},
       Row{R"({"provider":"vertexai","project":"p","location":"europe-west1"})", "gemini-2.5-pro",
           "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/"
           "publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse"},
       Row{R"({"provider":"copilot","apiKey":"k"})", "claude-sonnet-4.5",
           "https://api.githubcopilot.com/v1/messages"},
       Row{R"({"provider":"openai","apiKey":"k"})", "o3-pro",
           "https://api.openai.com/v1/responses"},
       Row{R"({"provider":"openai","apiKey":"k","query":{"a":"b c"}})", "gpt-4o",
           "https://api.openai.com/v1/chat/completions?a=b%20c"}}) {
    const auto built = test::build(row.settings, test::question(row.model));
    ASSERT_TRUE(built.ok()) << built.error().message;
    EXPECT_EQ(built.value().request.url, row.url);
  }
}

TEST(Routes, LeadModelsToTheApiThatServesThem) {
  struct Row {
    std::string_view provider;
    std::string_view model;
    std::string_view url;
  };
  for (const Row& row : {
           Row{"opencodezen", "kimi-k2.5", "https://opencode.ai/zen/v1/chat/completions"},
           Row{"opencodezen", "gpt-5.4", "https://opencode.ai/zen/v1/responses"},
           Row{"opencodezen", "claude-sonnet-4-6", "https://opencode.ai/zen/v1/messages"},
           Row{"opencodecodingplan", "glm-5", "https://opencode.ai/zen/go/v1/chat/completions"},
           Row{"opencodecodingplan", "minimax-m2.5", "https://opencode.ai/zen/go/v1/messages"},
       }) {
    const auto built = test::build(test::settings_of(row.provider), test::question(row.model));
    ASSERT_TRUE(built) << row.model;
    EXPECT_EQ(built.value().request.url, row.url) << row.model;
  }
}

// The word of LobeHub's clients keeps a chat off the Responses API, and off nothing else.
TEST(Routes, LeaveAProviderItsOwnApiWhereResponsesAreSwitchedOff) {
  struct Row {
    std::string_view settings;
    std::string_view model;
    std::string_view url;
  };
  for (const Row& row : {
           Row{R"({"provider":"google","apiKey":"k"})", "gemini-2.5-flash",
               "https://generativelanguage.googleapis.com/v1beta/models/"
               "gemini-2.5-flash:streamGenerateContent?alt=sse"},
           Row{R"({"provider":"ollama"})", "qwen3", "http://127.0.0.1:11434/api/chat"},
           Row{R"({"provider":"cohere","apiKey":"k"})", "command-a-03-2025",
               "https://api.cohere.com/v2/chat"},
           Row{R"({"provider":"aihubmix","apiKey":"k"})", "claude-sonnet-4-5",
               "https://aihubmix.com/v1/messages"},
           Row{R"({"provider":"deepseek","apiKey":"k","baseURL":"https://e/anthropic"})", "m",
               "https://e/anthropic/v1/messages"},
           Row{R"({"provider":"xai","apiKey":"k"})", "grok-4",
               "https://api.x.ai/v1/chat/completions"},
           Row{R"({"provider":"openai","apiKey":"k"})", "gpt-5",
               "https://api.openai.com/v1/chat/completions"},
           Row{R"({"provider":"openai","apiKey":"k"})", "gpt-5-pro",
               "https://api.openai.com/v1/responses"},
       }) {
    const auto built =
        test::build(row.settings, test::question(row.model, R"("apiMode":"chatCompletion")"));
    ASSERT_TRUE(built) << row.model;
    EXPECT_EQ(built.value().request.url, row.url) << row.model;
  }
}

}  // namespace
}  // namespace millrace
