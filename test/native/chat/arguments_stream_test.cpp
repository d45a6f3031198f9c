#include "chat/arguments_stream.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "chat/job_rig.hpp"
#include "chat/redaction.hpp"

namespace millrace::chat {
namespace {

std::string streamed(std::string_view text, std::size_t piece) {
  ArgumentsStream stream;
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece)
    out += stream.feed(text.substr(at, piece));
  return out;
}

TEST(ArgumentsStream, GivesTheRedactedTextInAnyPieces) {
  const std::vector<std::string_view> texts{
      R"({"a":1,"b":[true,null,-1.5e3,"x"],"c":{"d":"e"}})",
      R"({"password":"hunter2","after":"shown"})",
      R"({"secret":{"deep":["x",{"y":"z"}]},"after":1})",
      R"({"token":["a","b"],"after":{"cookie":12,"more":"m"}})",
      R"({"text":"Authorization: Bearer abc","q":"a\"b\\c\u00e9\n"})",
      R"([{"api_key":null},{"api_key":"x"}])",
      R"({"a":"","":"b"})",
  };
  for (const std::string_view text : texts) {
    json::Tree expected = parsed(text);
    redact(expected);
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      EXPECT_EQ(streamed(text, piece), expected.to_json(json::Surrogates::replace));
    }
  }
}

TEST(ArgumentsStream, PassesNothingOnThatIsNoJson) {
  EXPECT_EQ(streamed("password hunter2", 3), "");
  EXPECT_EQ(streamed(R"("text")", 3), "");
  EXPECT_EQ(streamed("{password: hunter2}", 3), "{");
  EXPECT_EQ(streamed(R"({"a":1} password hunter2)", 3), R"({"a":1})");
}

TEST(ArgumentsStream, HoldsAStringUntilItIsWhole) {
  ArgumentsStream stream;
  EXPECT_EQ(stream.feed(R"({"a":"pass)"), R"({"a":)");
  EXPECT_EQ(stream.feed("word=x y"), "");
  EXPECT_EQ(stream.feed(R"(")"), R"("password=[redacted] y")");
}

}  // namespace
}  // namespace millrace::chat
