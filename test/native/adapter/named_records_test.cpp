// Names, ids and texts of SSE records, however the bytes are cut.

#include "adapter/named_records.hpp"

#include <gtest/gtest.h>

#include <random>

using namespace millrace;

namespace {

std::string split(std::string_view body, std::size_t piece, framing::FramingLimits limits = {}) {
  std::string out;
  adapter::NamedRecords records(out, limits);
  for (std::size_t at = 0; at < body.size(); at += piece) {
    if (!records.feed(body.substr(at, piece))) return out + "<error>";
  }
  if (!records.finish()) out.append("<error>");
  return out;
}

}  // namespace

TEST(NamedRecords, GivesNameIdAndTextHoweverTheyAreCut) {
  const std::string body =
      ": hello\n\nid: 1\nevent: text\ndata: \"a b\"\n\nevent: stop\ndata: \"end\"\r\n\r\n"
      "data: {\"a\":\n data: 1}\ndata: [2]\n\ndata:\n\ndata: [DONE]\n\nevent: usage\ndata: {}";
  const std::string expected =
      "text\n1\n\"a b\"\rstop\n1\n\"end\"\r\n1\n{\"a\":\n[2]\rusage\n1\n{}\r";
  for (std::size_t piece = 1; piece <= body.size(); ++piece) {
    ASSERT_EQ(split(body, piece), expected) << "pieces of " << piece;
  }
}

TEST(NamedRecords, GivesABodyWithoutRecordsAsText) {
  EXPECT_EQ(split("plain\r\ntext", 3), "text\n\n\"plain\\r\\ntext\"\r");
  EXPECT_EQ(split("a\xff", 1), "text\n\n\"a\xEF\xBF\xBD\"\r");
  EXPECT_EQ(split("", 1), "");
  EXPECT_EQ(split(" \n\t", 1), "");
  EXPECT_EQ(split(": keep-alive\n\n: keep-alive\n\n", 5), "");
}

TEST(NamedRecords, HoldsBoundedBodies) {
  const framing::FramingLimits limits{16, 32};
  EXPECT_EQ(split("0123456789abcdefg", 4, limits), "<error>");
  const std::string lines = "1234567\n1234567\n1234567\n1234567\n1234567\n";
  EXPECT_EQ(split(lines, 4, limits), "<error>");
  EXPECT_EQ(split("data: 1\n\n" + lines + lines, 4, limits), "\n\n1\r");
}
