#include "framing/aws_event_stream.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/aws_event_stream.hpp"

using namespace millrace;

namespace {

class Messages final : public framing::FrameSink {
 public:
  void on_frame(const framing::Frame& frame) override {
    text.append(frame.event).append("=").append(frame.data).append("|");
  }
  std::string text;
};

Errc fed(const std::string& bytes) {
  framing::AwsEventStreamFraming framing;
  Messages messages;
  const auto result = framing.feed(bytes, messages);
  return result ? Errc::internal : result.error().code;
}

}  // namespace

TEST(AwsEventStream, SumsAsZlibDoes) {
  EXPECT_EQ(framing::crc32("123456789"), 0xCBF43926U);
  EXPECT_EQ(framing::crc32("56789", framing::crc32("1234")), 0xCBF43926U);
  EXPECT_EQ(framing::crc32(""), 0U);
}

TEST(AwsEventStream, GivesMessagesHoweverTheyAreCut) {
  const std::string body =
      test::aws_message({{":message-type", "event"}, {":event-type", "messageStart"}}, "{}") +
      test::aws_message({{":message-type", "event"},
                         {":event-type", "messageStop"},
                         {":content-type", "application/json"}},
                        R"({"stopReason":"end_turn"})") +
      test::aws_message(
          {{":message-type", "exception"}, {":exception-type", "throttlingException"}},
          R"({"message":"Slow down."})") +
      test::aws_message({{":message-type", "error"},
                         {":error-code", "InternalFailure"},
                         {":error-message", "Broken \"inside\"."}},
                        "");
  for (std::size_t cut = 0; cut <= body.size(); ++cut) {
    framing::AwsEventStreamFraming framing;
    Messages messages;
    ASSERT_TRUE(framing.feed(std::string_view(body).substr(0, cut), messages).ok());
    ASSERT_TRUE(framing.feed(std::string_view(body).substr(cut), messages).ok());
    ASSERT_TRUE(framing.finish(messages).ok());
    EXPECT_EQ(messages.text,
              "messageStart={}|messageStop={\"stopReason\":\"end_turn\"}|"
              "failure throttlingException={\"message\":\"Slow down.\"}|"
              "failure InternalFailure={\"message\":\"Broken \\\"inside\\\".\"}|")
        << "cut at " << cut;
  }
}

TEST(AwsEventStream, NoticesEveryDamagedByte) {
  const std::string body =
      test::aws_message({{":message-type", "event"}, {":event-type", "metadata"}}, R"({"a":1})");
  for (std::size_t at = 0; at < body.size(); ++at) {
    std::string damaged = body;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_EQ(fed(damaged), Errc::stream_corrupt) << "byte " << at;
  }
}

TEST(AwsEventStream, NoticesABodyThatIsCut) {
  const std::string body = test::aws_message({{":message-type", "event"}}, "{}");
  for (const std::size_t size : {std::size_t{1}, std::size_t{12}, body.size() - 1}) {
    framing::AwsEventStreamFraming framing;
    Messages messages;
    ASSERT_TRUE(framing.feed(std::string_view(body).substr(0, size), messages).ok());
    EXPECT_EQ(framing.finish(messages).error().code, Errc::stream_truncated);
  }
}

TEST(AwsEventStream, BoundsMessages) {
  framing::AwsEventStreamFraming framing({64, 64});
  Messages messages;
  const std::string body = test::aws_message({}, std::string(64, ' '));
  EXPECT_EQ(framing.feed(body, messages).error().code, Errc::event_too_large);
}

TEST(AwsEventStream, RefusesHeadersThatDoNotFit) {
  EXPECT_EQ(fed(test::aws_message_with_headers(std::string("\x05:ab", 4), "")),
            Errc::stream_corrupt);
  EXPECT_EQ(fed(test::aws_message_with_headers(std::string("\x01x\x0B", 3), "")),
            Errc::stream_corrupt);
  EXPECT_EQ(fed(test::aws_message_with_headers(std::string("\x01x\x07\x00\x09z", 6), "")),
            Errc::stream_corrupt);
  // A header of another type is passed over: a number, a flag, an id.
  EXPECT_EQ(fed(test::aws_message_with_headers(
                std::string("\x01x\x04\x00\x00\x00\x01\x01y\x00", 10), "")),
            Errc::internal);
}
