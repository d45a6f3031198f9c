// Answers whose order a message of the API cannot show: nothing of them is lost without a note.
#include <gtest/gtest.h>

#include "message/part_order.hpp"
#include "model/build.hpp"

namespace millrace {
namespace {

using message::OrderEntry;
using message::PartHash;
using message::PartKind;

constexpr std::string_view joined = "in answers of another order these are joined there (1)";
constexpr std::string_view left_out = "Reasoning of earlier turns is left out";

model::ChatRequest request_of(std::string_view settings, std::string_view messages) {
  std::string payload = R"({"model":"m","format":"canonical")";
  json::append_raw_member(payload, "messages", messages);
  auto built = test::build(settings, payload + "}");
  EXPECT_TRUE(built.ok()) << test::body_of(built);
  return built ? std::move(built).value() : model::ChatRequest();
}

std::string messages_of(const model::ChatRequest& request) {
  json::Document document(512);
  const auto body = document.parse(request.request.body);
  return body ? body.value()["messages"].to_json() : request.request.body;
}

std::size_t notes_with(const model::ChatRequest& request, std::string_view piece) {
  std::size_t count = 0;
  for (const model::Note& note : request.notes) count += test::has(note.sentence, piece) ? 1 : 0;
  return count;
}

std::string record_of(const std::vector<OrderEntry>& entries) {
  std::string out = "[";
  for (const OrderEntry& entry : entries) message::append_entry(out, entry);
  return out + "]";
}

std::string_view thinking_behind() {
  return R"([{"id":"q","role":"user","content":"a"},{"id":"r1","role":"reasoning","content":"One."},)"
         R"({"id":"a1","role":"assistant","content":"Words"},)"
         R"({"id":"r2","role":"reasoning","content":"Two."},{"id":"z","role":"user","content":"go"}])";
}

// Texts around a call, as one message with the record of its order.
std::string mixed_answer(const std::vector<OrderEntry>& order) {
  return R"([{"id":"q","role":"user","content":"a"},{"id":"a1","role":"assistant","content":"OneTwo",)"
         R"("toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}],)"
         R"("metadata":{"millrace":{"order":)" +
         record_of(order) +
         R"(}}},{"id":"t1","role":"tool","toolCallId":"c1","content":"r"},)"
         R"({"id":"z","role":"user","content":"go"}])";
}

// A text, a call, a text and perhaps the call's result, as the fold gives them.
std::string split_answer(bool is_recorded, std::string_view behind) {
  const std::string order = record_of({{PartKind::text, "a1", PartHash("One")},
                                       {PartKind::call, "c1", PartHash("{}")},
                                       {PartKind::text, "a2", PartHash("Two")}});
  std::string out =
      R"([{"id":"q","role":"user","content":"a"},{"id":"a1","role":"assistant","content":"One",)"
      R"("toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},)"
      R"({"id":"a2","role":"assistant","content":"Two")";
  if (is_recorded) out.append(R"(,"metadata":{"millrace":{"order":)").append(order).append("}}");
  return out.append("}").append(behind).append("]");
}

constexpr std::string_view result = R"(,{"id":"t1","role":"tool","toolCallId":"c1","content":"r"})";
constexpr std::string_view question = R"(,{"id":"z","role":"user","content":"go"})";

TEST(JoinedAnswers, ATextBehindACallStaysInFrontOfItsResult) {
  for (const std::string_view provider :
       {"openai", "mistral", "openrouter", "deepseek", "groq", "moonshot", "cohere"}) {
    for (const bool is_recorded : {true, false}) {
      const auto built = request_of(
          test::settings_of(provider, provider == "openai" ? R"("apiMode":"chatCompletion")" : ""),
          split_answer(is_recorded, result));
      const std::string messages = messages_of(built);
      EXPECT_TRUE(test::has(messages, R"("content":"OneTwo")")) << messages;
      EXPECT_LT(messages.find("OneTwo"), messages.find(R"("role":"tool")")) << messages;
      EXPECT_GT(messages.rfind(R"("role":"tool")"), messages.rfind(R"("role":"assistant")"));
      EXPECT_FALSE(test::has(messages, R"("prefix")")) << messages;
      EXPECT_EQ(notes_with(built, joined), 1U) << provider;
      EXPECT_EQ(notes_with(built, "was moved"), 0U) << provider;
    }
  }
}

TEST(JoinedAnswers, ACallWithoutAResultGetsOneBehindTheWholeAnswer) {
  const auto built = request_of(test::settings_of("openrouter"), split_answer(true, question));
  const std::string messages = messages_of(built);
  EXPECT_LT(messages.find("OneTwo"), messages.find(R"("role":"tool")")) << messages;
  EXPECT_EQ(notes_with(built, "was added"), 1U);
}

TEST(JoinedAnswers, WithoutARecordWhatIsBeforeAResultIsOfTheAnswerToo) {
  for (const std::string_view provider : {"anthropic", "google", "ollama"}) {
    const auto built = request_of(test::settings_of(provider), split_answer(false, result));
    const std::string& body = built.request.body;
    EXPECT_LT(body.find("Two"), body.find(provider == "google" ? "functionResponse" : R"("r")"))
        << body;
    EXPECT_EQ(notes_with(built, "was moved"), 0U) << provider;
  }
}

TEST(JoinedAnswers, OllamaGetsThinkingBehindATextBeforeIt) {
  const auto built = request_of(test::settings_of("ollama"), thinking_behind());
  EXPECT_EQ(messages_of(built), R"([{"role":"user","content":"a"},)"
                                R"({"role":"assistant","content":"Words","thinking":"One.Two."},)"
                                R"({"role":"user","content":"go"}])");
  EXPECT_EQ(notes_with(built, joined), 1U);
}

TEST(JoinedAnswers, OllamaGetsThinkingWithoutAnAnswerInAMessageOfItsOwn) {
  const auto built =
      request_of(test::settings_of("ollama"), R"([{"id":"q","role":"user","content":"a"},)"
                                              R"({"id":"r1","role":"reasoning","content":"One."},)"
                                              R"({"id":"z","role":"user","content":"go"}])");
  EXPECT_EQ(messages_of(built), R"([{"role":"user","content":"a"},)"
                                R"({"role":"assistant","content":"","thinking":"One."},)"
                                R"({"role":"user","content":"go"}])");
  EXPECT_TRUE(built.notes.empty());
}

TEST(JoinedAnswers, OllamaGetsTextBehindCallsAsAMessage) {
  const auto built = request_of(test::settings_of("ollama"),
                                mixed_answer({{PartKind::text, "a1", PartHash("One")},
                                              {PartKind::call, "c1", PartHash("{}")},
                                              {PartKind::text, "a1", PartHash("Two")}}));
  EXPECT_EQ(messages_of(built),
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"One",)"
            R"("tool_calls":[{"id":"c1","function":{"name":"f","arguments":{}}}]},)"
            R"({"role":"assistant","content":"Two"},)"
            R"({"role":"tool","content":"r","tool_name":"f","tool_call_id":"c1"},)"
            R"({"role":"user","content":"go"}])");
  EXPECT_TRUE(built.notes.empty());
}

TEST(JoinedAnswers, CohereGetsThinkingBehindATextThere) {
  const auto built = request_of(test::settings_of("cohere"), thinking_behind());
  EXPECT_TRUE(
      test::has(messages_of(built),
                R"("content":[{"type":"thinking","thinking":"One."},)"
                R"({"type":"text","text":"Words"},{"type":"thinking","thinking":"Two."}])"));
  EXPECT_TRUE(built.notes.empty());
}

TEST(JoinedAnswers, ServersThatTakeReasoningGetAllOfIt) {
  const auto built = request_of(test::settings_of("moonshot"), thinking_behind());
  EXPECT_EQ(notes_with(built, joined) + notes_with(built, left_out), 1U);
  EXPECT_EQ(notes_with(built, joined) == 1, test::has(messages_of(built), "One.Two."));
}

TEST(JoinedAnswers, ReasoningThatAServerDoesNotTakeIsNamed) {
  for (const std::string_view provider : {"openai", "groq", "mistral"}) {
    const auto built = request_of(
        test::settings_of(provider, provider == "openai" ? R"("apiMode":"chatCompletion")" : ""),
        thinking_behind());
    EXPECT_FALSE(test::has(messages_of(built), "One.")) << provider;
    EXPECT_EQ(notes_with(built, left_out), 1U) << provider;
  }
}

}  // namespace
}  // namespace millrace
