// The LobeHub chat stream: golden cases from the bytes of a wire, and single events.

#include "encoder/lobe.hpp"

#include <gtest/gtest.h>

#include "adapter/decoder.hpp"
#include "base/error.hpp"
#include "support/golden.hpp"

using namespace millrace;
using encoder::LobeEncoder;
using std::chrono::milliseconds;

namespace {

// Each record of the input arrives 10 ms after the one before it.
std::string converted(std::string_view wire, const std::string& input) {
  LobeEncoder encoder({"golden", std::string(wire), true, {}});
  encoder.answered_by(wire, {});
  CountingIds ids("id-");
  adapter::DecoderOptions options;
  options.calls_side_by_side = true;
  options.vendor_ids = true;
  adapter::Decoder decoder(*adapter::find_wire(wire), options, ids, encoder);
  milliseconds now{0};
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t end = std::min(input.find("\n\n", at), input.size() - 2) + 2;
    encoder.at(now += milliseconds(10));
    EXPECT_TRUE(decoder.feed(std::string_view(input).substr(at, end - at)).ok());
    at = end;
  }
  EXPECT_TRUE(decoder.finish().ok());
  encoder.finish();
  return encoder.take();
}

std::string encoded(std::initializer_list<event::Event> events, const std::string& wire = {}) {
  LobeEncoder encoder({"p", wire, true, {}});
  for (const event::Event& event : events) encoder.on_event(event);
  encoder.finish();
  return encoder.take();
}

std::string frame(const std::string& id, const std::string& type, const std::string& data) {
  return "id: " + id + "\nevent: " + type + "\ndata: " + data + "\n\n";
}

}  // namespace

TEST(LobeEncoder, WritesWhatProvidersSay) {
  std::size_t cases = 0;
  for (const test::GoldenCase& golden : test::golden_cases("encoder/lobe.md")) {
    SCOPED_TRACE(golden.name);
    const std::string wire = golden.blocks.at(0).info.substr(3);
    EXPECT_EQ(converted(wire, golden.blocks.at(0).text), golden.blocks.at(1).text);
    ++cases;
  }
  EXPECT_GE(cases, 4U);
}

// xAI gives them with the usage, in a record behind the end.
TEST(LobeEncoder, WritesSourcesBeforeTheEndThatTheyComeBehind) {
  const std::string out =
      converted("openai_chat",
                R"(data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]})"
                "\n\n"
                R"(data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
                "\n\n"
                R"(data: {"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2},)"
                R"("citations":["https://a.example"]})"
                "\n\ndata: [DONE]\n\n");
  const std::size_t grounding = out.find("event: grounding");
  const std::size_t stop = out.find("event: stop");
  const std::size_t usage = out.find("event: usage");
  EXPECT_LT(grounding, stop) << out;
  EXPECT_LT(stop, usage) << out;
  EXPECT_NE(usage, std::string::npos) << out;
}

TEST(LobeEncoder, WritesItemsOfReasoningWhole) {
  const std::string out = converted(
      "openai_responses",
      R"(data: {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning",)"
      R"("id":"rs_1","summary":[{"type":"summary_text","text":"Other"}]}})"
      "\n\n"
      R"(data: {"type":"response.output_item.done","output_index":1,"item":{"type":"reasoning",)"
      R"("id":"rs_2","encrypted_content":"e2","summary":[{"type":"summary_text","text":"A"}],)"
      R"("status":"completed"}})"
      "\n\n"
      R"(data: {"type":"response.output_item.done","output_index":2,"item":{"type":"reasoning",)"
      R"("id":"rs_3","encrypted_content":"e3","summary":[{"type":"summary_text","text":"A"}],)"
      R"("content":[{"type":"reasoning_text","text":"B"}]}})"
      "\n\n"
      R"(data: {"type":"response.completed","response":{"status":"completed"}})"
      "\n\n");
  EXPECT_NE(out.find(R"(data: {"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text",)"
                     R"("text":"A"}],"encrypted_content":"e2","status":"completed"})"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find(R"(data: {"type":"reasoning","id":"rs_3","summary":[{"type":"summary_text",)"
                     R"("text":"A"}],"content":[{"type":"reasoning_text","text":"B"}],)"
                     R"("encrypted_content":"e3"})"),
            std::string::npos)
      << out;
}

TEST(LobeEncoder, WritesAnErrorOfTheKnownClassesAndNothingAfterIt) {
  EXPECT_EQ(encoded({{event::Failed{"slow", "rate_limited"}, R"("status":429)"},
                     {event::TextStart{"m"}}}),
            frame("", "error",
                  R"({"type":")" + std::string(row_of(row_of(Errc::rate_limited).type).name) +
                      R"(","message":"slow","body":{"message":"slow",)"
                      R"("code":"rate_limited","provider":"p","status":429}})")
                .replace(4, 0, "first_chunk_error"));
  EXPECT_NE(encoded({{event::Failed{"odd", "vendor_word"}}}).find("ProviderBizError"),
            std::string::npos);
}

TEST(LobeEncoder, SaysWhichSignatureBelongsToWhichThought) {
  const auto scope = [](std::string_view issuer, std::string_view value) {
    return std::string(issuer).append("|").append(value);
  };
  LobeEncoder encoder({"p", "anthropic", true, {}, +scope});
  for (const event::Event& event : std::initializer_list<event::Event>{
           {event::ProviderState{"millrace", "issuer", "r1", R"("anthropic")"}},
           {event::ReasoningStart{"r1"}},
           {event::ReasoningDelta{"r1", "A\xC3\xA4"}},
           {event::EncryptedValue{"message", "r1", "S1"}},
           {event::ReasoningStart{"r2"}},
           {event::ReasoningDelta{"r2", "B"}},
           {event::EncryptedValue{"message", "r2", "S2"}}}) {
    encoder.on_event(event);
  }
  const std::string text = encoder.take();
  EXPECT_NE(text.find("data: \"anthropic|S1\"\n"), std::string::npos) << text;
  std::string list =
      R"(anthropic|{"blocks":[{"length":3,"value":"S1"},{"length":1,"value":"S2"}]})";
  std::string data = "data: ";
  json::append_string(data, list);
  EXPECT_NE(text.find("event: reasoning_signature\n" + data + "\n"), std::string::npos) << text;
}

TEST(LobeEncoder, GivesCallsThatAreSaidToBeTheProvidersAsData) {
  const std::string text = encoded({{event::ProviderState{"millrace", "hosted", "c1", "true"}},
                                    {event::ToolStart{"c1", "search"}},
                                    {event::ToolArgs{"c1", "{}"}},
                                    {event::ToolStart{"c2", "mine"}}});
  EXPECT_EQ(text.find(R"("index":1)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"([{"index":0,"id":"c2")"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with(frame("", "data",
                                     R"({"type":"CUSTOM","name":"millrace.provider_state","value":)"
                                     R"({"provider":"millrace","kind":"hosted","entityId":"c1",)"
                                     R"("state":true}})")))
      << text;
}

TEST(LobeEncoder, SaysWhatFailedOfAResult) {
  event::ToolResult result{"m", "c1", "no"};
  result.failed = true;
  result.error = "timeout";
  const std::string text = encoded({{result}});
  EXPECT_NE(text.find(R"("isError":true,"error":"timeout")"), std::string::npos) << text;
}

TEST(LobeEncoder, SaysWhoIssuedStateThatItGivesAsData) {
  const auto issuer = [](std::string_view id) {
    return std::string(R"("kind":"issuer","entityId":")").append(id).append("\"");
  };
  const std::string text =
      encoded({{event::ProviderState{"millrace", "issuer", "m1", R"("anthropic")"}},
               {event::EncryptedValue{"message", "m1", "S1"}},
               {event::ProviderState{"millrace", "issuer", "c1", R"("anthropic")"}},
               {event::ProviderState{"anthropic", "caller", "c1", "{}"}},
               {event::ProviderState{"anthropic", "tool_use", "c1", "{}"}}});
  EXPECT_EQ(text.find(issuer("m1")), std::string::npos) << text;
  const std::size_t at = text.find(issuer("c1"));
  EXPECT_LT(at, text.find("\"caller\"")) << text;
  EXPECT_EQ(text.find(issuer("c1"), at + 1), std::string::npos) << text;
}

TEST(LobeEncoder, CallsEveryFrameAsTheVendorCallsTheAnswer) {
  const auto named = [](std::string_view wire) {
    LobeEncoder encoder({"p", "", true, {}});
    encoder.answered_by(wire, "m");
    encoder.answered_as("run");
    encoder.on_event({event::Stage{"before", "1"}});
    encoder.on_event({event::ProviderState{"millrace", "answer", {}, R"({"id":"a1"})"}});
    encoder.on_event({event::ReasoningDelta{"r:1", "Hm"}});
    encoder.on_event({event::TextDelta{"t", "Hi"}});
    encoder.on_event({event::ToolStart{"c", "f", "t"}});
    encoder.on_event({event::Finish{"stop"}});
    encoder.finish();
    std::string ids;
    const std::string text = encoder.take();
    for (std::size_t at = text.find("id: "); at != std::string::npos;
         at = text.find("\nid: ", at + 1)) {
      const std::size_t from = text.find(' ', at) + 1;
      ids.append(text.substr(from, text.find('\n', from) - from)).push_back(' ');
    }
    return ids;
  };
  EXPECT_EQ(named("openai_chat"), "run a1 a1 a1 a1 ");
  // Items of Responses have ids of their own.
  EXPECT_EQ(named("openai_responses"), "run r t a1 a1 ");
}

// Only what stands behind an image or a tool of the provider's goes on with the id before it.
TEST(LobeEncoder, GivesATextBehindReasoningItsOwnId) {
  for (const char* kind : {"item", "signature", "redacted"}) {
    const std::string text =
        encoded({{event::ProviderState{"millrace", "issuer", "rs_1", R"("openai_responses")"}},
                 {event::ReasoningStart{"rs_1"}},
                 {event::ReasoningDelta{"rs_1", "Hm"}},
                 {event::ProviderState{"p", kind, "rs_1", R"({"type":"x"})"}},
                 {event::ProviderState{"millrace", "issuer", "msg_1", R"("openai_responses")"}},
                 {event::TextStart{"msg_1"}},
                 {event::TextDelta{"msg_1", "Hi"}},
                 {event::Finish{"stop"}}});
    EXPECT_NE(text.find(frame("rs_1", "reasoning", R"("Hm")")), std::string::npos) << text;
    EXPECT_NE(text.find(frame("msg_1", "text", R"("Hi")")), std::string::npos) << text;
    EXPECT_NE(text.find(frame("msg_1", "stop", R"("stop")")), std::string::npos) << text;
  }
}

TEST(LobeEncoder, SaysThatACallWasCancelled) {
  EXPECT_EQ(encoded({{event::Failed{"The call was cancelled.", "cancelled"}}}),
            frame("", "stop", R"("abort")"));
}

TEST(LobeEncoder, TellsOfARecordThatCouldNotBeReadAndGoesOn) {
  EXPECT_EQ(encoded({{event::Warning{"record_skipped", "bad", "{x"}},
                     {event::TextStart{"m"}},
                     {event::TextDelta{"m", "on"}}}),
            frame("", "error",
                  R"({"type":"StreamChunkError","message":"bad","body":{"message":"bad",)"
                  R"("chunk":"{x","provider":"p"}})") +
                frame("m", "text", R"("on")"));
}

TEST(LobeEncoder, CarriesWhatTheProtocolHasNoEventForAsData) {
  EXPECT_EQ(encoded({{event::Stage{"search", R"({"a":1})"}}}),
            frame("", "data",
                  R"({"type":"CUSTOM","name":"millrace.stage","value":{"name":"search",)"
                  R"("detail":{"a":1}}})"));
  EXPECT_NE(encoded({{event::MessagesSnapshot{"[]"}}}).find("MESSAGES_SNAPSHOT"),
            std::string::npos);
}

TEST(LobeEncoder, CountsCallsAnewAfterAReset) {
  const std::string out = encoded({{event::ToolStart{"a", "f"}},
                                   {event::ToolEnd{"a"}},
                                   {event::Reset{"connection_lost"}},
                                   {event::ToolStart{"b", "f"}},
                                   {event::ToolArgs{"a", "late"}}});
  EXPECT_NE(out.find(R"("name":"millrace.reset")"), std::string::npos);
  EXPECT_NE(out.find(R"([{"index":0,"id":"b")"), std::string::npos);
  EXPECT_EQ(out.find("late"), std::string::npos);
}

TEST(LobeEncoder, GathersSourcesOfEveryShape) {
  const std::string out = encoded(
      {{event::Citation{"m",
                        R"({"type":"url_citation","url_citation":{"url":"u1","title":"t1"}})"}},
       {event::Citation{"m", R"(["u2",{"url":"u1","title":"again"},{"title":"no url"}])"}},
       {event::Citation{
           "m",
           R"({"groundingChunks":[{"web":{"uri":"u3","title":"t3"}},{"maps":{"uri":"u4","title":"t4"}},)"
           R"({"retrievedContext":{"uri":"u5","title":"t5"}}],"webSearchQueries":["q"]})"}},
       {event::Citation{"m", R"({"groundingChunks":[)"
                             R"({"web":{"uri":"r1","title":"Page","domain":"a.example"}},)"
                             R"({"web":{"uri":"r2","title":"b.example"}},{"web":{"uri":"r3"}}]})"}},
       {event::Citation{
           "m",
           R"({"title":"t6","location":{"web":{"url":"u6","domain":"d"}},"sourceContent":[]})"}},
       {event::Finish{"stop"}},
       {event::Citation{"m", "broken"}}});
  const auto beside = [](const std::string& citation) {
    return frame("", "data",
                 R"({"type":"CUSTOM","name":"millrace.citation","value":{"messageId":"m",)"
                 R"("citation":)" +
                     citation + "}}");
  };
  EXPECT_EQ(
      out,
      beside(R"({"type":"url_citation","url_citation":{"url":"u1","title":"t1"}})") +
          beside(R"(["u2",{"url":"u1","title":"again"},{"title":"no url"}])") +
          beside(
              R"({"title":"t6","location":{"web":{"url":"u6","domain":"d"}},"sourceContent":[]})") +
          frame(
              "", "grounding",
              R"({"citations":[{"title":"t1","url":"u1"},{"title":"u2","url":"u2"},)"
              R"({"title":"t3","url":"u3","favicon":"t3"},{"title":"t4","url":"u4"},{"title":"t5","url":"u5"},)"
              R"({"title":"Page","url":"r1","favicon":"a.example"},)"
              R"({"title":"b.example","url":"r2","favicon":"b.example"},)"
              R"({"title":"r3","url":"r3"},)"
              R"({"title":"t6","url":"u6"}],)"
              R"("searchQueries":["q"]})") +
          frame("", "stop", R"("stop")"));
}

TEST(LobeEncoder, GivesGeminisOpaqueValuesAndImages) {
  EXPECT_EQ(
      encoded({{event::ToolStart{"c", "f", "m"}},
               {event::EncryptedValue{"tool-call", "c", R"({"thought_signature":"s"})"}},
               {event::ProviderState{"google", "part", "m",
                                     R"({"inlineData":{"mimeType":"image/png","data":"AA=="}})"}}}),
      frame("m", "tool_calls",
            R"([{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}])") +
          frame("m", "tool_calls",
                R"([{"index":0,"id":"c","type":"function","function":{"arguments":""},)"
                R"("thoughtSignature":"s"}])") +
          frame("m", "base64_image", R"("data:image/png;base64,AA==")"));
}

TEST(LobeEncoder, GivesTheAnswersOfModelsThatMixAsPartsFromTheFirstWord) {
  LobeEncoder encoder({"p", "", true, {}, [](std::string_view issuer, std::string_view value) {
                         return std::string(issuer).append("!").append(value);
                       }});
  encoder.answered_by("gemini", "gemini-3-pro-image-preview");
  encoder.on_event({event::TextDelta{"m", "a"}});
  encoder.on_event(
      {event::ProviderState{event::issuer_provider, event::issuer_kind, "m", R"("g")"}});
  const std::string image = R"("inlineData":{"mimeType":"image/png","data":"AA=="})";
  for (const std::string more : {R"("thought":true)", R"("thoughtSignature":"s")"}) {
    encoder.on_event({event::ProviderState{"google", "part", "m", "{" + image + "," + more + "}"}});
  }
  EXPECT_EQ(encoder.take(),
            frame("m", "content_part", R"({"partType":"text","content":"a"})") +
                frame("m", "reasoning_part",
                      R"({"partType":"image","content":"AA==","mimeType":"image/png",)"
                      R"("inReasoning":true})") +
                frame("m", "content_part",
                      R"({"partType":"image","content":"AA==","mimeType":"image/png",)"
                      R"("thoughtSignature":"g!s"})"));
  // What another provider answers after a fallback is told in its own way.
  encoder.answered_by("openai_chat", "gemini-3-pro");
  encoder.on_event({event::TextDelta{"n", "b"}});
  EXPECT_EQ(encoder.take(), frame("n", "text", R"("b")"));
}

// Readers keep the text or the parts of an answer, never both.
TEST(LobeEncoder, GivesEitherTextAndImagesOrParts) {
  const std::string image = R"({"inlineData":{"mimeType":"image/png","data":"AA=="}})";
  const auto answer = [&](std::string_view model, std::initializer_list<event::Event> events) {
    LobeEncoder encoder({"p", "", true, {}});
    encoder.answered_by("gemini", model);
    for (const event::Event& event : events) encoder.on_event(event);
    return encoder.take();
  };
  const event::Event text{event::TextDelta{"m", "a"}};
  const event::Event image_data{event::ProviderState{"google", "part", "m", image}};
  const event::Event shown{event::TextDelta{"m", "![x](data:image/png;base64,AA==)"}};
  const event::Event reasoning_part{event::ReasoningDelta{"m", "b"}};
  const std::string text_part = frame("m", "content_part", R"({"partType":"text","content":"a"})");
  const std::string image_part =
      frame("m", "content_part", R"({"partType":"image","content":"AA==","mimeType":"image/png"})");
  const std::string plain_text = frame("m", "text", R"("a")");
  const std::string plain_image = frame("m", "base64_image", R"("data:image/png;base64,AA==")");
  for (const std::string_view draws : {"gemini-3-pro-image", "gemini-2.5-flash-image-preview"}) {
    EXPECT_EQ(answer(draws, {text, image_data}), text_part + image_part);
    EXPECT_EQ(answer(draws, {image_data, text}), image_part + text_part);
    EXPECT_EQ(answer(draws, {text, shown}), text_part + image_part);
  }
  EXPECT_EQ(answer("gemini-2.5-flash-image", {image_data}), plain_image);
  EXPECT_EQ(answer("gemini-2.5-flash-image", {text, image_data}), plain_text + plain_image);
  // The record says of the answer that it mixes.
  const event::Event mixes{
      event::ProviderState{"millrace", "answer", {}, R"({"id":"m","mixes":true})"}};
  EXPECT_EQ(answer("gemini-2.5-flash-image", {mixes, text, image_data}), text_part + image_part);
  EXPECT_EQ(answer("gemini-2.5-flash-image", {text, mixes, image_data}), plain_text + plain_image);
  EXPECT_EQ(answer("gemini-2.5-flash", {text, image_data}), plain_text + plain_image);
  EXPECT_EQ(answer("gemini-2.5-flash", {text, reasoning_part, text, image_data}),
            plain_text + frame("m", "reasoning", R"("b")") + plain_text + plain_image);
  EXPECT_EQ(answer("gemini-2.5-flash", {image_data, reasoning_part, text}),
            plain_image + frame("m", "reasoning", R"("b")") + plain_text);
  EXPECT_EQ(
      answer("gemini-2.5-flash", {reasoning_part, text, image_data}),
      frame("m", "reasoning_part", R"({"partType":"text","content":"b","inReasoning":true})") +
          text_part + image_part);
}

TEST(LobeEncoder, WrapsOpaqueValuesForTheirIssuer) {
  LobeEncoder encoder(
      {"p", "openai_responses", true, {}, [](std::string_view issuer, std::string_view value) {
         return std::string(issuer).append("!").append(value);
       }});
  encoder.on_event({event::EncryptedValue{"message", "r0", "before"}});
  encoder.take();
  for (const std::string_view issuer : {R"("one")", R"("two")"}) {
    encoder.on_event(
        {event::ProviderState{event::issuer_provider, event::issuer_kind, "r", issuer}});
    encoder.on_event({event::EncryptedValue{"message", "r", "v"}});
  }
  encoder.on_event({event::EncryptedValue{"message", "r", R"({"data":"d"})"}});
  const std::string out = encoder.take();
  for (const std::string_view part : {R"(reasoning_signature
data: "one!v")",
                                      R"("encrypted_content":"one!v")", R"(data: "two!v")",
                                      R"(flagged_reasoning_signature
data: "two!{\"data\":\"d\"}")"}) {
    EXPECT_NE(out.find(part), std::string::npos) << part << "\n" << out;
  }
  EXPECT_EQ(out.find("issuer"), std::string::npos);
}

TEST(LobeEncoder, TellsTheSpeedOnlyOfAnswersThatSaidSomething) {
  event::Usage usage;
  usage.output_tokens = 50;
  EXPECT_EQ(encoded({{usage}}).find("speed"), std::string::npos);
  for (const bool streamed : {true, false}) {
    LobeEncoder encoder({"p", "", streamed, {}});
    encoder.at(milliseconds(100));
    encoder.on_event({event::TextDelta{"m", "a"}});
    encoder.at(milliseconds(600));
    encoder.on_event({event::TextDelta{"m", "b"}});
    encoder.at(milliseconds(700));
    encoder.take();
    encoder.on_event({usage});
    const std::string tps = streamed ? R"("tps":100,)" : "";
    EXPECT_EQ(encoder.take(), frame("m", "usage", R"({"totalOutputTokens":50})") +
                                  frame("output_speed", "speed",
                                        "{" + tps + R"("ttft":100,"duration":500,"latency":700})"));
  }
}

TEST(LobeEncoder, WritesUsageAsItIsTold) {
  LobeEncoder encoder({"p", "", true, [](std::string& out, const event::Usage& usage) {
                         out.append(R"({"model":")").append(usage.model).append("\"}");
                       }});
  event::Usage usage;
  usage.model = "m";
  encoder.on_event({usage});
  EXPECT_EQ(encoder.take(), frame("", "usage", R"({"model":"m"})"));
}

TEST(LobeEncoder, WritesWhatItsOwnEventsHaveNoMemberForBeside) {
  event::Usage usage;
  usage.output_tokens = 5;
  usage.json = R"({"output":5})";
  EXPECT_EQ(encoded({{usage}}), frame("", "usage", R"({"totalOutputTokens":5})"));
  usage.json = R"({"output":5,"tier":"flex"})";
  EXPECT_NE(encoded({{usage}}).find(R"("reported":{"output":5,"tier":"flex"})"), std::string::npos);

  const auto cited = [](std::string_view json) { return encoded({{event::Citation{"m", json}}}); };
  EXPECT_EQ(cited(R"({"url":"https://a.example","title":"A"})").find("event: data"),
            std::string::npos);
  EXPECT_NE(cited(R"({"cited_text":"words","document_index":2})")
                .find(R"("citation":{"cited_text":"words","document_index":2})"),
            std::string::npos);

  EXPECT_EQ(encoded({{event::Finish{"stop"}}}, "ollama"), frame("", "stop", R"("finished")"));
  EXPECT_NE(encoded({{event::Finish{"load"}}}, "ollama").find(R"({"reason":"load"})"),
            std::string::npos);

  const std::string image =
      encoded({{event::ProviderState{"google", "part", "m",
                                     R"({"inlineData":{"mimeType":"image/png","data":"aQ==",)"
                                     R"("displayName":"n"},"thoughtSignature":"s"})"}}},
              "gemini");
  EXPECT_NE(image.find(R"("state":{"thoughtSignature":"s","inlineData":{"displayName":"n"}})"),
            std::string::npos)
      << image;
}

TEST(LobeEncoder, LetsNoIdBeginAnotherField) {
  EXPECT_EQ(encoded({{event::TextDelta{"a\ndata: x\r\n", "t"}}}),
            frame("adata: x", "text", R"("t")"));
}
