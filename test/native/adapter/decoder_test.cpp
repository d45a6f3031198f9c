// What the Decoder does with records that are not JSON, and when an answer is over.
#include "adapter/decoder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "support/aws_event_stream.hpp"
#include "support/collect.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view hello =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
constexpr std::string_view finish =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int count = 0; count < times; ++count) all.append(text);
  return all;
}

class Rig {
 public:
  explicit Rig(event::Mode mode = event::Mode::strict) {
    options_.mode = mode;
    decoder_ = std::make_unique<Decoder>(*find_wire("openai_chat"), options_, ids_, events_);
  }
  Decoder& operator*() { return *decoder_; }
  Decoder* operator->() { return decoder_.get(); }
  [[nodiscard]] std::ptrdiff_t lines_with(std::string_view text) const {
    return std::count_if(events_.lines.begin(), events_.lines.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }

 private:
  DecoderOptions options_;
  CountingIds ids_{"id-"};
  test::Collector events_;
  std::unique_ptr<Decoder> decoder_;
};

TEST(Decoder, GivesUpABodyWhoseRecordsAreNoJson) {
  Rig rig;
  ASSERT_TRUE(rig->feed(repeated("data: {x\n\n", 1000)).ok());
  EXPECT_TRUE(rig->done());
  EXPECT_EQ(rig.lines_with("not_a_stream"), 1);
  EXPECT_LT(rig.lines_with("record_skipped"), 100);
}

// The wire is right and the answer is not whole: that is asked for again.
TEST(Decoder, TellsABodyCutInItsFirstRecordFromAnotherWire) {
  struct Row {
    std::string_view body;
    std::string_view code;
  };
  for (const Row& row :
       {Row{R"(data: {"id":"x","choi)", "stream_truncated"},
        Row{"<html><body>No such page", "not_a_stream"}, Row{"data: hello\n\n", "not_a_stream"},
        Row{"d", "stream_truncated"}, Row{"dat", "stream_truncated"},
        Row{"event", "stream_truncated"}, Row{"retry: 1", "stream_truncated"},
        Row{"dat\n", "not_a_stream"}, Row{"day", "not_a_stream"},
        Row{"data: [DONE]", "stream_empty"}, Row{": ping\n\ndata: {\"id", "stream_truncated"},
        Row{": ping\n\n: pi", "stream_empty"}, Row{"event: chunk\n", "stream_truncated"},
        Row{"event: chunk\r\nid: 1\r\nda", "stream_truncated"},
        Row{"retry: 3000\n\n: ping\n\n", "stream_truncated"},
        Row{": ping\n\n<html>", "not_a_stream"},
        Row{"\xEF\xBB\xBF"
            "data: {",
            "stream_truncated"}}) {
    Rig rig;
    ASSERT_TRUE(rig->feed(std::string(row.body)).ok());
    ASSERT_TRUE(rig->finish().ok());
    EXPECT_EQ(rig.lines_with(row.code), 1) << row.body;
  }
}

// A picture comes as one record of a megabyte; a page of a proxy may be long, too.
TEST(Decoder, TellsALongBodyCutInItsFirstRecordFromAnotherWire) {
  for (const auto& [start, code] :
       {std::pair("data: {\"image\":\"", "stream_truncated"),
        std::pair("<html><body>", "not_a_stream"), std::pair(": ", "stream_empty")}) {
    Rig rig;
    ASSERT_TRUE(rig->feed(start).ok());
    for (int chunk = 0; chunk < 100; ++chunk) ASSERT_TRUE(rig->feed(repeated("x", 1024)).ok());
    ASSERT_TRUE(rig->finish().ok());
    EXPECT_EQ(rig.lines_with(code), 1) << start;
  }
}

// What Bedrock says of the tokens comes behind the end of the message.
TEST(Decoder, IsCompleteThoughARecordBehindItsEndIsCut) {
  const auto frame = [](std::string_view type, std::string_view payload) {
    return test::aws_message({{":message-type", "event"}, {":event-type", std::string(type)}},
                             payload);
  };
  const std::string text =
      frame("messageStart", R"({"role":"assistant"})") +
      frame("contentBlockDelta", R"({"contentBlockIndex":0,"delta":{"text":"Hi"}})");
  const std::string stop = frame("messageStop", R"({"stopReason":"end_turn"})");
  const std::string usage =
      frame("metadata", R"({"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}})");
  const auto ended = [](const std::string& body) {
    CountingIds ids("id-");
    test::Collector events;
    Decoder decoder(*find_wire("bedrock_converse"), {}, ids, events);
    EXPECT_TRUE(decoder.feed(body).ok());
    EXPECT_TRUE(decoder.finish().ok());
    return decoder.done() ? events.lines.back() : std::string("whole");
  };
  for (std::size_t cut = 0; cut <= usage.size(); ++cut) {
    EXPECT_EQ(ended(text + stop + usage.substr(0, cut)), "whole") << cut;
  }
  for (std::size_t cut = 1; cut < stop.size(); ++cut) {
    EXPECT_NE(ended(text + stop.substr(0, cut)).find("stream_truncated"), std::string::npos) << cut;
  }
}

TEST(Decoder, TellsOfFewRecordsThatAreNoJson) {
  for (const event::Mode mode : {event::Mode::strict, event::Mode::as_received}) {
    Rig rig(mode);
    ASSERT_TRUE(rig->feed(hello).ok());
    ASSERT_TRUE(rig->feed(repeated("data: {x\n\n", 5000)).ok());
    ASSERT_TRUE(rig->feed(finish).ok());
    ASSERT_TRUE(rig->finish().ok());
    EXPECT_EQ(rig.lines_with("RUN_ERROR"), 0);
    EXPECT_EQ(rig.lines_with("TEXT_MESSAGE_END"), 1);
    EXPECT_LT(rig.lines_with("record_skipped"), 100);
    EXPECT_GT(rig.lines_with("record_skipped"), 0);
  }
  Rig endless;
  ASSERT_TRUE(endless->feed(hello).ok());
  ASSERT_TRUE(endless->feed(repeated("data: {x\n\n", 20'000)).ok());
  EXPECT_EQ(endless.lines_with("stream_corrupt"), 1);
}

TEST(Decoder, IsOverBehindTheEndMark) {
  Rig rig;
  ASSERT_TRUE(rig->feed(hello).ok());
  EXPECT_FALSE(rig->is_complete());
  ASSERT_TRUE(rig->feed(finish).ok());
  EXPECT_TRUE(rig->is_complete());
  EXPECT_FALSE(rig->is_over());  // its usage may follow
  ASSERT_TRUE(rig->feed("data: [DONE]\n\n").ok());
  EXPECT_TRUE(rig->is_over());
}

std::string chat_chunk(std::string_view calls, std::string_view reason) {
  return std::string(R"(data: {"choices":[{"index":0,"delta":{"tool_calls":[)") +
         std::string(calls) + R"(]},"finish_reason":)" + std::string(reason) + "}]}\n\n";
}

std::string calls_of(std::string_view first, std::string_view second) {
  CountingIds ids("id-");
  test::Collector events;
  DecoderOptions options;
  options.mode = event::Mode::as_received;
  Decoder decoder(*find_wire("openai_chat"), options, ids, events);
  EXPECT_TRUE(decoder.feed(chat_chunk(first, "null")).ok());
  EXPECT_TRUE(decoder.feed(chat_chunk(second, "null")).ok());
  EXPECT_TRUE(decoder.feed(chat_chunk("", R"("tool_calls")")).ok());
  EXPECT_TRUE(decoder.finish().ok());
  return events.text();
}

TEST(Decoder, ReadsRecordsThatNestSeveralHundredLevels) {
  Rig rig;
  const std::string deep = std::string(500, '[') + std::string(500, ']');
  const std::string record =
      R"({"choices":[{"index":0,"delta":{"content":"Hi"}}],"x":)" + deep + "}";
  ASSERT_TRUE(rig->feed("data: " + record + "\n\n").ok());
  EXPECT_EQ(rig.lines_with("TEXT_MESSAGE_CONTENT"), 1);
}

// A table of events that has more room than rows answers to an event without a name.
TEST(Decoder, ReadsEventsOfEveryWireWhoseNameIsCutOff) {
  for (const Wire& wire : wires()) {
    for (const std::string_view name :
         {"", "response.", "content.", "message", "RUN_", "interaction.", "messages/"}) {
      std::string body;
      for (const std::string_view member : {"type", "event", "event_type"}) {
        body.append("event: ").append(name).append("\ndata: {\"").append(member);
        body.append("\":\"").append(name).append("\"}\n\n");
      }
      CountingIds ids("id-");
      test::Collector events;
      Decoder decoder(wire, {}, ids, events);
      EXPECT_TRUE(decoder.feed(body).ok()) << wire.name << ' ' << name;
      EXPECT_TRUE(decoder.finish().ok()) << wire.name << ' ' << name;
    }
  }
}

TEST(OpenAiChat, EndsCallsInTheOrderOfTheirIndexes) {
  const std::string events =
      calls_of(R"({"index":3,"id":"c","function":{"name":"f","arguments":"{}"}})",
               R"({"index":1,"id":"a","function":{"name":"g","arguments":"{}"}})");
  EXPECT_NE(events.find(R"({"type":"TOOL_CALL_END","toolCallId":"a"}
{"type":"TOOL_CALL_END","toolCallId":"c"})"),
            std::string::npos)
      << events;
}

TEST(OpenAiChat, LeavesOutACallWithoutIdAndName) {
  EXPECT_EQ(calls_of(R"({"index":0,"function":{"arguments":"{"}})",
                     R"({"index":0,"function":{"arguments":"}"}})")
                .find("TOOL_CALL"),
            std::string::npos);
  const std::string events = calls_of(R"({"index":0,"function":{"arguments":"{"}})",
                                      R"({"index":0,"id":"a","function":{"arguments":"}"}})");
  EXPECT_NE(events.find(R"("toolCallId":"a")"), std::string::npos) << events;
  EXPECT_NE(events.find(R"("delta":"{}")"), std::string::npos) << events;
}

}  // namespace
}  // namespace millrace::adapter
