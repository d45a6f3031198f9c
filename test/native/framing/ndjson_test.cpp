#include "framing/ndjson.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace millrace;

namespace {

class Lines final : public framing::FrameSink {
 public:
  void on_frame(const framing::Frame& frame) override { text.append(frame.data).append("|"); }
  std::string text;
};

}  // namespace

TEST(NdjsonFraming, GivesTrimmedLinesHoweverTheyAreCut) {
  const std::string inputs[] = {"{\"a\":1}\r\n\n  {\"b\":2} \n{\"c\":3}",
                                "{\"a\":1}\r\r  {\"b\":2} \r{\"c\":3}\r",
                                "{\"a\":1}\n\r\n{\"b\":2} \r{\"c\":3}\r\n"};
  for (const std::string& input : inputs) {
    for (std::size_t cut = 0; cut <= input.size(); ++cut) {
      framing::NdjsonFraming framing;
      Lines lines;
      ASSERT_TRUE(framing.feed(std::string_view(input).substr(0, cut), lines).ok());
      ASSERT_TRUE(framing.feed(std::string_view(input).substr(cut), lines).ok());
      ASSERT_TRUE(framing.finish(lines).ok());
      EXPECT_EQ(lines.text, "{\"a\":1}|{\"b\":2}|{\"c\":3}|") << input << " cut at " << cut;
    }
  }
}

TEST(NdjsonFraming, BoundsLines) {
  framing::NdjsonFraming framing({10, 10});
  Lines lines;
  ASSERT_TRUE(framing.feed("12345", lines).ok());
  EXPECT_EQ(framing.feed("678901", lines).error().code, Errc::line_too_long);
}
