// AG-UI events as protobuf: the same bytes as @ag-ui/proto writes for the events of the golden file
// (test/js/ag-ui/proto.test.ts compares the file with that package).

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/json_tree.hpp"
#include "encoder/ag_ui.hpp"
#include "encoder/ag_ui_proto.hpp"
#include "support/source_folder.hpp"

using namespace millrace;

namespace {

std::string digits_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 0xf]);
  }
  return out;
}

std::string frames_of(std::string_view frames) {
  std::string out;
  encoder::append_ag_ui_proto(out, frames);
  return out;
}

std::string framed(std::string_view json) {
  return frames_of("data: " + std::string(json) + "\n\n");
}

}  // namespace

TEST(AgUiProto, HasAnEventWhereNothingHappens) {
  // As js/runs/run-bytes.ts writes it.
  EXPECT_EQ(digits_of(encoder::ag_ui_proto_keep_alive()),
            "0000001f5a1d0a02080a12136d696c6c726163652e6b6565705f616c6976651a020800");
}

TEST(AgUiProto, WritesWhatTheReferenceWrites) {
  std::ifstream file(test::source_folder() / "test/golden/encoder/ag_ui_proto.json");
  std::stringstream text;
  text << file.rdbuf();
  const auto rows = json::Tree::parse(text.str());
  ASSERT_TRUE(rows.ok());
  ASSERT_GT(rows.value().items().size(), 30U);
  for (const json::Tree& row : rows.value().items()) {
    const std::string event = row["event"].to_json();
    EXPECT_EQ(digits_of(framed(event)).substr(8), row["bytes"].string()) << event;
  }
}

TEST(AgUiProto, FramesHaveTheirLength) {
  EXPECT_EQ(digits_of(framed(R"({"type":"RUN_STARTED","threadId":"t","runId":"r"})")),
            "0000000c620a0a02080b1201741a0172");
  const std::string body(70'000, 'x');
  const std::string frame =
      framed(R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":")" + body + "\"}");
  EXPECT_EQ(digits_of(frame.substr(0, 4)), "0001117f");
  EXPECT_EQ(frame.size(), 4U + 0x1117fU);
}

TEST(AgUiProto, LeavesOutCommentsAndNumbersOfRecords) {
  const std::string event = R"(data: {"type":"STEP_STARTED","stepName":"s"})";
  EXPECT_EQ(frames_of(": keep-alive\n\nid: 7\n" + event + "\n\n"), frames_of(event + "\n\n"));
  EXPECT_EQ(frames_of(": keep-alive\n\n"), "");
}

TEST(AgUiProto, CarriesAnUnknownEventAsRaw) {
  EXPECT_EQ(framed(R"({"type":"NEW_KIND","a":1})"),
            framed(R"({"type":"RAW","event":{"type":"NEW_KIND","a":1}})"));
}

TEST(AgUiProto, CarriesAnUnknownPartAsText) {
  EXPECT_EQ(framed(R"({"type":"TOOL_CALL_RESULT","content":[{"type":"new","a":1}]})"),
            framed(R"({"type":"TOOL_CALL_RESULT","content":[)"
                   R"({"type":"text","text":"{\"type\":\"new\",\"a\":1}"}]})"));
}

TEST(AgUiProto, WritesNoLoneSurrogate) {
  EXPECT_EQ(framed("{\"type\":\"STEP_STARTED\",\"stepName\":\"\\ud800\"}"),
            framed("{\"type\":\"STEP_STARTED\",\"stepName\":\"\uFFFD\uFFFD\uFFFD\"}"));
}

TEST(AgUiProto, IsWantedByClientsThatNameIt) {
  const std::string type(encoder::ag_ui_proto_type);
  const auto wants = [](const std::string& accept, std::string_view version = "1.0") {
    return encoder::wants_ag_ui_proto(accept, version);
  };
  EXPECT_TRUE(wants(type));
  EXPECT_TRUE(wants("text/event-stream, " + type));
  EXPECT_TRUE(wants("text/event-stream;q=0.5," + type + ";q=0.9"));
  EXPECT_TRUE(wants("Application/vnd.ag-ui.event+PROTO"));
  EXPECT_FALSE(wants("text/event-stream, " + type + ";q=0.5"));
  EXPECT_FALSE(wants(type + ";q=0"));
  EXPECT_FALSE(wants(type + "x"));
  EXPECT_FALSE(wants("*/*"));
  EXPECT_FALSE(wants("application/*"));
  EXPECT_FALSE(wants(""));
  EXPECT_FALSE(wants(type, ""));
  EXPECT_FALSE(wants(type, "0.9"));
}

TEST(AgUiProto, IsWhatAnEncoderGives) {
  encoder::AgUiOptions options{"t", "r", "", "1.0"};
  encoder::AgUiEncoder text(options);
  options.is_binary = true;
  encoder::AgUiEncoder binary(options);
  for (encoder::AgUiEncoder* one : {&text, &binary}) {
    one->start();
    one->on_event({event::TextStart{"m"}, {}});
    one->on_event({event::TextDelta{"m", "hello"}, {}});
    one->finish();
  }
  EXPECT_EQ(binary.take(), frames_of(text.take()));
}
