#include "framing/sse.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

using namespace millrace;
using framing::SseDispatch;

namespace {

class Frames final : public framing::FrameSink {
 public:
  void on_frame(const framing::Frame& frame) override {
    text.append(frame.event)
        .append("|")
        .append(frame.data)
        .append("|")
        .append(frame.id)
        .append("\n");
  }
  std::string text;
};

std::string parse(std::string_view input, const std::vector<std::size_t>& cuts,
                  SseDispatch dispatch) {
  framing::SseFraming framing(dispatch);
  Frames frames;
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    EXPECT_TRUE(framing.feed(input.substr(from, cut - from), frames).ok());
    from = cut;
  }
  EXPECT_TRUE(framing.feed(input.substr(from), frames).ok());
  EXPECT_TRUE(framing.finish(frames).ok());
  return frames.text;
}

// Parses whole, cut at each single position and byte by byte; all must agree.
std::string parse_every_way(std::string_view input,
                            SseDispatch dispatch = SseDispatch::blank_line) {
  const std::string whole = parse(input, {}, dispatch);
  std::vector<std::size_t> all;
  for (std::size_t cut = 1; cut < input.size(); ++cut) {
    EXPECT_EQ(parse(input, {cut}, dispatch), whole) << "cut at " << cut;
    all.push_back(cut);
  }
  EXPECT_EQ(parse(input, all, dispatch), whole) << "byte by byte";
  return whole;
}

struct Case {
  const char* name;
  std::string_view input;
  std::string_view frames;
};

// The cases of the Web Platform Tests' eventsource folder, told anew as a table.
const Case standard_cases[] = {
    {"bom",
     "\xEF\xBB\xBF"
     "data:1\n\n\xEF\xBB\xBF"
     "data:2\n\ndata:3\n\n",
     "|1|\n|3|\n"},
    {"second bom",
     "\xEF\xBB\xBF\xEF\xBB\xBF"
     "data:1\n\ndata:2\n\n",
     "|2|\n"},
    {"comments", "data:1\r:\n:\r\ndata:2\n:xx\rdata:3\r:data:fail\r\n:\ndata:4\n\n",
     "|1\n2\n3\n4|\n"},
    {"data before end", "data:test\r\n\r\ndata:lost", "|test|\n"},
    {"field data", "data:\n\ndata\ndata\n\ndata:test\n\n", "||\n|\n|\n|test|\n"},
    {"empty event name", "event: \ndata:data\n\n", "|data|\n"},
    {"event name", "event:test\ndata:x\n\ndata:x\n\n", "test|x|\n|x|\n"},
    {"id kept", "id:7\ndata:a\n\ndata:b\n\nid\ndata:c\n\n", "|a|7\n|b|7\n|c|\n"},
    {"leading space", "data:\ttest\rdata: \ndata:test\n\n", "|\ttest\n\ntest|\n"},
    {"newlines", "data:test\r\ndata\ndata:test\r\n\r\n", "|test\n\ntest|\n"},
    {"unknown field",
     "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacomment\ndata:test\n\n",
     "|test\n\ntest|\n"},
    {"carriage returns alone", "data:a\rdata:b\r\rdata:c\r\r", "|a\nb|\n|c|\n"},
    {"event without data", "event:x\n\ndata:y\n\n", "|y|\n"},
};

}  // namespace

TEST(SseFraming, FollowsTheStandard) {
  for (const Case& c : standard_cases) {
    EXPECT_EQ(parse_every_way(c.input), c.frames) << c.name;
  }
}

TEST(SseFraming, KeepsNulInDataAndDropsAnIdWithNul) {
  using namespace std::string_literals;
  EXPECT_EQ(parse_every_way("data:a\0b\nid:1\0\n\n"s), "|a\0b|\n"s);
}

TEST(SseFraming, ReadsRetry) {
  framing::SseFraming framing(SseDispatch::blank_line);
  Frames frames;
  ASSERT_TRUE(framing.feed("retry: 1500\nretry: -3\nretry: x\n\n", frames).ok());
  EXPECT_EQ(framing.retry(), 1500);
}

TEST(SseFraming, GivesACompleteJsonLineAtItsLineEnd) {
  framing::SseFraming framing(SseDispatch::complete_json);
  Frames frames;
  ASSERT_TRUE(framing.feed("data: {\"a\":1}\n", frames).ok());
  EXPECT_EQ(frames.text, "|{\"a\":1}|\n");
  ASSERT_TRUE(framing.feed("data:{\"b\":\ndata: 2}\n", frames).ok());
  EXPECT_EQ(frames.text, "|{\"a\":1}|\n");
  ASSERT_TRUE(framing.feed("\n", frames).ok());
  EXPECT_EQ(frames.text, "|{\"a\":1}|\n|{\"b\":\n2}|\n");
}

TEST(SseFraming, CompleteJsonCasesDoNotDependOnSplits) {
  EXPECT_EQ(
      parse_every_way("data: {\"a\":1}\ndata: {\"a\":2}\r\n\r\ndata: [DONE]\n\ndata: {\"a\":3}",
                      SseDispatch::complete_json),
      "|{\"a\":1}|\n|{\"a\":2}|\n|[DONE]|\n|{\"a\":3}|\n");
}

TEST(SseFraming, GivesAnUnterminatedBlockAtTheEnd) {
  EXPECT_EQ(
      parse_every_way("event: e\ndata: 1\n\nevent: f\ndata: 2", SseDispatch::blank_line_or_end),
      "e|1|\nf|2|\n");
}

TEST(SseFraming, BoundsLinesAndEvents) {
  framing::FramingLimits limits{100, 150};
  Frames frames;
  framing::SseFraming line(SseDispatch::blank_line, limits);
  EXPECT_EQ(line.feed(std::string(101, 'x'), frames).error().code, Errc::line_too_long);
  framing::SseFraming slow(SseDispatch::blank_line, limits);
  Result<void> result;
  for (int i = 0; i < 101 && result; ++i) result = slow.feed("x", frames);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::line_too_long);
  framing::SseFraming event(SseDispatch::blank_line, limits);
  const std::string data = "data:" + std::string(90, 'y') + "\n";
  ASSERT_TRUE(event.feed(data, frames).ok());
  EXPECT_EQ(event.feed(data, frames).error().code, Errc::event_too_large);
}

// One large event in small pieces must not cost more than linear work: with quadratic work this
// test would need hours, not a second.
TEST(SseFraming, IsLinearInTheBytes) {
  const std::string payload = "data: {\"x\":\"" + std::string(7UL * 1024 * 1024, 'a') + "\"}\n\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{16384}}) {
    framing::SseFraming framing(SseDispatch::complete_json);
    Frames frames;
    for (std::size_t at = 0; at < payload.size(); at += piece) {
      ASSERT_TRUE(framing.feed(std::string_view(payload).substr(at, piece), frames).ok());
    }
    EXPECT_GT(frames.text.size(), 7UL * 1024 * 1024);
  }
}
