// What ends a part, an item or a response of OpenAI's and has more, or something else, than the
// pieces before.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/answer_events.hpp"

namespace millrace {

using test::count_in;
using test::events_of;

namespace {

#define RESPONSE_CREATED R"({"type":"response.created","response":{"id":"r"}})"
#define TEXT_ADDED                                            \
  R"({"type":"response.output_item.added","output_index":0,)" \
  R"("item":{"type":"message","id":"m","role":"assistant","content":[]}})"
#define TEXT_DELTA                                                          \
  R"({"type":"response.output_text.delta","item_id":"m","output_index":0,)" \
  R"("content_index":0,"delta":"Hel"})"
#define CALL_ADDED                                                    \
  R"({"type":"response.output_item.added","output_index":0,"item":{)" \
  R"("type":"function_call","id":"f","call_id":"c","name":"look","arguments":""}})"
#define CALL_DELTA                                                                      \
  R"({"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,)" \
  R"("delta":"{\"a\""})"
#define RESPONSE_COMPLETED R"({"type":"response.completed","response":{"id":"r","output":[]}})"

constexpr std::string_view other_text = "The end of a part has another text than its pieces";
constexpr std::string_view other_arguments = "The end of a call has other arguments";

std::string text_done(std::string_view text) {
  return std::string(R"({"type":"response.output_text.done","item_id":"m","output_index":0,)")
      .append(R"("content_index":0,"text":")")
      .append(text)
      .append("\"}");
}

std::string message_item(std::string_view text) {
  return std::string(R"({"type":"message","id":"m","role":"assistant","content":[)")
      .append(R"({"type":"output_text","text":")")
      .append(text)
      .append("\"}]}");
}

std::string call_item(std::string_view arguments) {
  return std::string(R"({"type":"function_call","id":"f","call_id":"c","name":"look",)")
      .append(R"("arguments":")")
      .append(arguments)
      .append("\"}");
}

std::string item_done(const std::string& item) {
  return R"({"type":"response.output_item.done","output_index":0,"item":)" + item + "}";
}

std::string completed(const std::string& item) {
  return R"({"type":"response.completed","response":{"id":"r","output":[)" + item + "]}}";
}

}  // namespace

TEST(EndsOfResponses, AddTheRestOfAText) {
  const std::string part =
      R"({"type":"response.content_part.done","item_id":"m","output_index":0,"content_index":0,)"
      R"("part":{"type":"output_text","text":"Hello"}})";
  for (const std::string& end : {text_done("Hello"), part, item_done(message_item("Hello")),
                                 completed(message_item("Hello"))}) {
    const std::string events = events_of(
        "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, TEXT_DELTA, end, RESPONSE_COMPLETED});
    EXPECT_EQ(count_in(events, R"("delta":"lo")"), 1U) << events;
    EXPECT_EQ(count_in(events, "TEXT_MESSAGE_START"), 1U) << events;
    EXPECT_EQ(count_in(events, other_text), 0U) << events;
  }
}

// Words that stand in the beginning of an item or a part, and nowhere else.
TEST(BeginningsOfResponses, GiveTheirReasoning) {
  const std::string item =
      R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning",)"
      R"("id":"r1","summary":[)";
  const std::string alone = events_of(
      "openai_responses",
      {RESPONSE_CREATED, item + R"({"type":"summary_text","text":"Only"}]}})", RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(alone, R"("delta":"Only")"), 1U) << alone;
  const std::string more = events_of(
      "openai_responses",
      {RESPONSE_CREATED, item + "]}}",
       R"({"type":"response.reasoning_summary_part.added","item_id":"r1","output_index":0,)"
       R"("summary_index":0,"part":{"type":"summary_text","text":"Initial"}})",
       R"({"type":"response.reasoning_summary_text.delta","item_id":"r1","output_index":0,)"
       R"("summary_index":0,"delta":" more"})",
       item_done(R"({"type":"reasoning","id":"r1","summary":[{"type":"summary_text",)"
                 R"("text":"Initial more"}]})"),
       RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(more, R"("delta":"Initial")"), 1U) << more;
  EXPECT_EQ(count_in(more, R"("delta":" more")"), 1U) << more;
  EXPECT_EQ(count_in(more, "Initial more"), 0U) << more;
}

// Some servers send it in pieces all the same.
TEST(BeginningsOfResponses, GiveTheirReasoningOnce) {
  const std::string item =
      R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning",)"
      R"("id":"r1","summary":[{"type":"summary_text","text":"One two"}]}})";
  const auto piece = [](const std::string& text) {
    return R"({"type":"response.reasoning_summary_text.delta","item_id":"r1","output_index":0,)"
           R"("summary_index":0,"delta":")" +
           text + "\"}";
  };
  const auto words_of = [](const std::string& events) {
    std::string words;
    constexpr std::string_view key = R"("delta":")";
    for (std::size_t at = events.find(key); at != events.npos; at = events.find(key, at + 1)) {
      const std::size_t from = at + key.size();
      words.append(events.substr(from, events.find('"', from) - from));
    }
    return words;
  };
  const std::string part_done =
      R"({"type":"response.reasoning_summary_text.done","item_id":"r1","output_index":0,)"
      R"("summary_index":0,"text":")";
  struct Case {
    std::vector<std::string> records;
    std::string words;
  };
  for (const Case& one : {
           Case{{piece("One two")}, "One two"},
           Case{{piece("One"), piece(" two"), piece(" three")}, "One two three"},
           Case{{piece("One two three")}, "One two three"},
           Case{{piece("One"), piece(" more")}, "One twoOne more"},
           Case{{piece("One"), part_done + "One twoOne\"}"}, "One twoOne"},
           Case{{piece("One"), part_done + "\"}"}, "One twoOne"},
           Case{{piece("One"), part_done + "One two\"}"}, "One two"},
       }) {
    std::string body = "data: " RESPONSE_CREATED "\n\ndata: " + item + "\n\n";
    for (const std::string& record : one.records) body += "data: " + record + "\n\n";
    body += "data: " RESPONSE_COMPLETED "\n\n";
    const std::string events = test::decode_in_steps("openai_responses", body, body.size());
    EXPECT_EQ(words_of(events), one.words) << events;
  }
}

TEST(EndsOfResponses, NameAnotherText) {
  const std::string events = events_of(
      "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, TEXT_DELTA, text_done("Hola"),
                           item_done(message_item("Hola")), completed(message_item("Hola"))});
  EXPECT_EQ(count_in(events, other_text), 1U) << events;
  EXPECT_EQ(count_in(events, R"("whole":"Hola")"), 1U) << events;
  const std::string late = events_of(
      "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, TEXT_DELTA, item_done(message_item("Hel")),
                           completed(message_item("Hello"))});
  EXPECT_EQ(count_in(late, other_text), 1U) << late;
  EXPECT_EQ(count_in(late, "TEXT_MESSAGE_START"), 1U) << late;
}

// Each end that differs is named; the one of the item goes back.
TEST(EndsOfResponses, NameEachOtherText) {
  const std::string events = events_of(
      "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, TEXT_DELTA, text_done("Hola"),
                           item_done(message_item("Hi")), completed(message_item("Hello"))});
  EXPECT_EQ(count_in(events, other_text), 3U) << events;
  EXPECT_EQ(count_in(events, R"("whole":"Hi")"), 1U) << events;
  EXPECT_EQ(count_in(events, R"("delta":"lo")"), 0U) << events;
}

// A pair of surrogates that two pieces split, in one at the end.
TEST(EndsOfResponses, KnowSplitCharacters) {
  const auto delta = [](std::string_view text) {
    return std::string(R"({"type":"response.output_text.delta","item_id":"m","output_index":0,)")
        .append(R"("content_index":0,"delta":")")
        .append(text)
        .append("\"}");
  };
  const std::string events = events_of(
      "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, delta("\\ud83d"), delta("\\ude00"),
                           text_done("\\ud83d\\ude00!"), RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, R"("delta":"!")"), 1U) << events;
  EXPECT_EQ(count_in(events, other_text), 0U) << events;
}

TEST(EndsOfResponses, AddTheRestOfReasoning) {
  const std::string events = events_of(
      "openai_responses",
      {RESPONSE_CREATED,
       R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning",)"
       R"("id":"t","summary":[]}})",
       R"({"type":"response.reasoning_summary_text.delta","item_id":"t","output_index":0,)"
       R"("summary_index":0,"delta":"thi"})",
       R"({"type":"response.reasoning_summary_text.done","item_id":"t","output_index":0,)"
       R"("summary_index":0,"text":"think"})",
       R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning",)"
       R"("id":"t","summary":[{"type":"summary_text","text":"thinker"}]}})",
       RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, R"("delta":"nk")"), 1U) << events;
  const std::string part = events_of(
      "openai_responses",
      {RESPONSE_CREATED,
       R"({"type":"response.reasoning_summary_text.delta","item_id":"t","output_index":0,)"
       R"("summary_index":0,"delta":"thi"})",
       R"({"type":"response.reasoning_summary_part.done","item_id":"t","output_index":0,)"
       R"("summary_index":0,"part":{"type":"summary_text","text":"think"}})",
       RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(part, R"("delta":"nk")"), 1U) << part;
  EXPECT_EQ(count_in(events, other_text), 1U) << events;
  EXPECT_EQ(count_in(events, "REASONING_MESSAGE_START"), 1U) << events;
}

TEST(EndsOfResponses, AddTheRestOfArguments) {
  const std::string done =
      R"({"type":"response.function_call_arguments.done","item_id":"f","output_index":0,)"
      R"("arguments":"{\"a\":1}"})";
  for (const std::string& end :
       {done, item_done(call_item("{\\\"a\\\":1}")), completed(call_item("{\\\"a\\\":1}"))}) {
    const std::string events = events_of(
        "openai_responses", {RESPONSE_CREATED, CALL_ADDED, CALL_DELTA, end, RESPONSE_COMPLETED});
    EXPECT_EQ(count_in(events, R"("delta":":1}")"), 1U) << events;
    EXPECT_EQ(count_in(events, other_arguments), 0U) << events;
    EXPECT_EQ(count_in(events, "RUN_ERROR"), 0U) << events;
  }
}

TEST(EndsOfResponses, NameOtherArguments) {
  const std::string events =
      events_of("openai_responses", {RESPONSE_CREATED, CALL_ADDED, CALL_DELTA,
                                     item_done(call_item("{\\\"b\\\":2}")), RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, other_arguments), 1U) << events;
  EXPECT_EQ(count_in(events, R"("arguments":"{\"b\":2}"})"), 1U) << events;
  const std::string again = events_of("openai_responses", {RESPONSE_CREATED, CALL_ADDED, CALL_DELTA,
                                                           item_done(call_item("{\\\"b\\\":2}")),
                                                           completed(call_item("{\\\"c\\\":3}"))});
  EXPECT_EQ(count_in(again, other_arguments), 2U) << again;
  // Spaces between tokens are none.
  const std::string spaced = events_of(
      "openai_responses",
      {RESPONSE_CREATED, CALL_ADDED,
       R"({"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,)"
       R"("delta":"{\"a\": 1}"})",
       item_done(call_item("{\\\"a\\\":1}")), RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(spaced, other_arguments), 0U) << spaced;
}

// What was shown runs, so that it goes back beside its result.
TEST(EndsOfResponses, LeaveArgumentsThatCanRun) {
  const std::string delta =
      R"({"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,)"
      R"("delta":"{\"a\":1}"})";
  const std::string done =
      R"({"type":"response.function_call_arguments.done","item_id":"f","output_index":0,)"
      R"("arguments":"{\"b\":2}"})";
  const std::string events =
      events_of("openai_responses", {RESPONSE_CREATED, CALL_ADDED, delta, done,
                                     item_done(call_item("{\\\"b\\\":2}")), RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, other_arguments), 1U) << events;
  EXPECT_EQ(count_in(events, R"("whole":)"), 0U) << events;
}

TEST(EndsOfResponses, TakeArgumentsOfTheItemBehindAnEmptyEnd) {
  const std::string events = events_of(
      "openai_responses",
      {RESPONSE_CREATED, CALL_ADDED,
       R"({"type":"response.function_call_arguments.done","item_id":"f","output_index":0,)"
       R"("arguments":""})",
       item_done(call_item("{\\\"a\\\":1}")), RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, R"("delta":"{\"a\":1}")"), 1U) << events;
}

TEST(EndsOfResponses, ShowItemsOfTheResponseAlone) {
  const std::string events = events_of(
      "openai_responses", {RESPONSE_CREATED, TEXT_ADDED, TEXT_DELTA, item_done(message_item("Hel")),
                           completed(message_item("Hel") + "," + call_item("{}"))});
  EXPECT_EQ(count_in(events, "TOOL_CALL_START"), 1U) << events;
  EXPECT_EQ(count_in(events, "TEXT_MESSAGE_START"), 1U) << events;
}

TEST(EndsOfResponses, NameArgumentsOfNoOpenCall) {
  const std::string events =
      events_of("openai_responses", {RESPONSE_CREATED, CALL_DELTA, CALL_DELTA, RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, "Arguments of a call that was not open"), 1U) << events;
  const std::string late = events_of(
      "openai_responses", {RESPONSE_CREATED, CALL_ADDED, item_done(call_item("{\\\"a\\\":1}")),
                           CALL_DELTA, RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(late, "Arguments of a call that was not open"), 1U) << late;
}

TEST(EndsOfResponses, CutACallThatNeverEnded) {
  const std::string events =
      events_of("openai_responses", {RESPONSE_CREATED, CALL_ADDED, CALL_DELTA, RESPONSE_COMPLETED});
  EXPECT_EQ(count_in(events, R"("code":"stream_truncated")"), 1U) << events;
}

TEST(EndsOfResponses, HaveCitationsThatStandNowhereElse) {
  const std::string plain = message_item("Hel");
  std::string cited = plain;
  const std::string citation = R"({"type":"url_citation","url":"https://example.com/"})";
  cited.insert(cited.rfind("}]}"), R"(,"annotations":[)" + citation + "]");
  for (const std::string& end : {plain, cited}) {
    const std::string events =
        events_of("openai_responses",
                  {RESPONSE_CREATED, TEXT_ADDED, TEXT_DELTA, item_done(end), completed(cited)});
    EXPECT_EQ(count_in(events, citation), 1U) << events;
  }
}

}  // namespace millrace
