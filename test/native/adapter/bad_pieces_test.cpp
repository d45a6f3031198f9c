// Pieces of an answer that come in an order or of a type that the vendor does not send.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "adapter/decoder.hpp"
#include "support/collect.hpp"

namespace millrace {
namespace {

std::string decode_records(std::string_view wire, std::initializer_list<std::string_view> records,
                           bool ends = true) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.details = true;
  adapter::Decoder decoder(*adapter::find_wire(wire), options, ids, events);
  for (const std::string_view record : records) {
    EXPECT_TRUE(decoder.feed("data: " + std::string(record) + "\n\n").ok());
  }
  if (ends) {
    EXPECT_TRUE(decoder.finish().ok());
  }
  return events.text(true);
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

constexpr std::string_view created = R"({"type":"response.created","response":{"id":"r"}})";
constexpr std::string_view words_done =
    R"({"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1",)"
    R"("role":"assistant","status":"completed","content":[{"type":"output_text","text":"AB"}]}})";
constexpr std::string_view words_added =
    R"({"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m1",)"
    R"("role":"assistant","content":[]}})";
constexpr std::string_view words_delta =
    R"({"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,)"
    R"("delta":"AB"})";
constexpr std::string_view words_text =
    R"({"type":"response.output_text.done","item_id":"m1","output_index":0,"content_index":0,)"
    R"("text":"AB"})";
constexpr std::string_view words_completed =
    R"({"type":"response.completed","response":{"id":"r","status":"completed","output":[)"
    R"({"type":"message","id":"m1","role":"assistant","content":[)"
    R"({"type":"output_text","text":"AB"}]}]}})";
constexpr std::string_view late_sentence = "A piece of an item that had already ended";

}  // namespace

TEST(LateItems, ShowTheirWordsOnce) {
  const std::string events =
      decode_records("openai_responses", {created, words_done, words_added, words_delta,
                                          words_delta, words_text, words_done, words_completed});
  EXPECT_EQ(count_of(events, R"("delta":"AB")"), 1U) << events;
  EXPECT_EQ(count_of(events, "TEXT_MESSAGE_START"), 1U) << events;
  EXPECT_EQ(count_of(events, late_sentence), 1U) << events;
}

TEST(LateItems, ShowTheirThoughtsAndCallsOnce) {
  const std::string events = decode_records(
      "openai_responses",
      {created,
       R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning",)"
       R"("id":"t1","summary":[{"type":"summary_text","text":"Hm"}]}})",
       R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning",)"
       R"("id":"t1","summary":[]}})",
       R"({"type":"response.reasoning_summary_text.delta","item_id":"t1","output_index":0,)"
       R"("summary_index":0,"delta":"Hm"})",
       R"({"type":"response.output_item.done","output_index":1,"item":{"type":"function_call",)"
       R"("id":"f1","call_id":"c1","name":"look","arguments":"{}"}})",
       R"({"type":"response.output_item.added","output_index":1,"item":{"type":"function_call",)"
       R"("id":"f1","call_id":"c1","name":"look","arguments":""}})",
       R"({"type":"response.function_call_arguments.delta","item_id":"f1","output_index":1,)"
       R"("delta":"{}"})",
       R"({"type":"response.completed","response":{"id":"r","status":"completed","output":[]}})"});
  EXPECT_EQ(count_of(events, R"("delta":"Hm")"), 1U) << events;
  EXPECT_EQ(count_of(events, "TOOL_CALL_START"), 1U) << events;
  EXPECT_EQ(count_of(events, late_sentence), 2U) << events;
}

TEST(LateItems, BeginAnewWithTheNextResponse) {
  const std::string events = decode_records(
      "openai_responses",
      {created, words_done, created, words_added, words_delta, words_text, words_done}, false);
  EXPECT_EQ(count_of(events, R"("delta":"AB")"), 2U) << events;
  EXPECT_EQ(count_of(events, late_sentence), 0U) << events;
}

// Neither are words lost that the end of their item left out, nor items that share an id.
TEST(LateItems, KeepWhatIsNew) {
  const std::string empty =
      R"({"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1",)"
      R"("role":"assistant","content":[]}})";
  const std::string words =
      decode_records("openai_responses", {created, empty, words_delta, words_delta}, false);
  EXPECT_EQ(count_of(words, R"("delta":"AB")"), 2U) << words;
  const std::string second =
      R"({"type":"response.output_item.added","item":{"type":"message","id":"m1","content":[]}})";
  const std::string delta = R"({"type":"response.output_text.delta","item_id":"m1","delta":"CD"})";
  const std::string end =
      R"({"type":"response.output_item.done","item":{"type":"message","id":"m1","content":[)"
      R"({"type":"output_text","text":"CD"}]}})";
  const std::string events =
      decode_records("openai_responses", {created, second, delta, end, second, delta, end}, false);
  EXPECT_EQ(count_of(events, R"("delta":"CD")"), 2U) << events;
  EXPECT_EQ(count_of(events, late_sentence), 0U) << events;
}

}  // namespace millrace
