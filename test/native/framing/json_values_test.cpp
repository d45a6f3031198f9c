#include "framing/json_values.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace millrace;

namespace {

class Values final : public framing::FrameSink {
 public:
  void on_frame(const framing::Frame& frame) override { text.append(frame.data).append("|"); }
  std::string text;
};

std::string framed(std::string_view input, std::size_t cut) {
  framing::JsonValuesFraming framing;
  Values values;
  EXPECT_TRUE(framing.feed(input.substr(0, cut), values).ok());
  EXPECT_TRUE(framing.feed(input.substr(cut), values).ok());
  EXPECT_TRUE(framing.finish(values).ok());
  return values.text;
}

}  // namespace

TEST(JsonValuesFraming, GivesObjectsHoweverTheyAreCut) {
  struct Case {
    std::string input;
    std::string frames;
  };
  const Case cases[] = {
      {R"([{"a":[1,{"b":"]}\"\\"}]} , {"c":2}])", R"({"a":[1,{"b":"]}\"\\"}]}|{"c":2}|)"},
      {"\xEF\xBB\xBF{\n \"a\": 1\n}\n", "{\n \"a\": 1\n}|"},
      {"{}{}\r\n{\"x\":\"\xC3\xA9\"}", "{}|{}|{\"x\":\"\xC3\xA9\"}|"},
      {"[{}, oops, {}", "{}|oops|{}|"},
      {"oops", "oops|"},
      {"[]", ""},
      // Objects that are broken: one without its end, one that is cut in a string, one in a list.
      {"{\"a\":{\"b\":1}\n{\"c\":[{}]}\n", "{\"a\":{\"b\":1}\n|{\"c\":[{}]}|"},
      {"{\"a\":\"b\n{\"c\":\"\\n{\"}", "{\"a\":\"b|{\"c\":\"\\n{\"}|"},
      {"[{\"a\":1 {\"b\":2}]", "{\"a\":1 |{\"b\":2}|"},
  };
  for (const Case& row : cases) {
    for (std::size_t cut = 0; cut <= row.input.size(); ++cut) {
      EXPECT_EQ(framed(row.input, cut), row.frames) << row.input << " cut at " << cut;
    }
  }
}

TEST(JsonValuesFraming, NoticesABodyThatIsCut) {
  framing::JsonValuesFraming framing;
  Values values;
  ASSERT_TRUE(framing.feed(R"([{"a":1},{"b":"}])", values).ok());
  EXPECT_EQ(values.text, R"({"a":1}|)");
  EXPECT_EQ(framing.finish(values).error().code, Errc::stream_truncated);
}

TEST(JsonValuesFraming, BoundsValues) {
  framing::JsonValuesFraming framing({10, 10});
  Values values;
  ASSERT_TRUE(framing.feed(R"({"a":"12)", values).ok());
  EXPECT_EQ(framing.feed(R"(3456"}{)", values).error().code, Errc::event_too_large);
}
