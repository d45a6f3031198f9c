// Every recorded Anthropic stream through the strict Decoder: the same events however the bytes are
// cut, a legal order, and nothing of the text, the thoughts and the arguments lost.
//
// The recordings stand beside the repository in ../shared/recordings, or where MILLRACE_RECORDINGS
// says; without them the test is skipped.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "adapter/decoder.hpp"
#include "support/collect.hpp"
#include "support/order_checker.hpp"
#include "support/source_folder.hpp"

using namespace millrace;

namespace {

std::filesystem::path recordings() {
  if (const char* folder = std::getenv("MILLRACE_RECORDINGS")) return folder;
  return test::source_folder() / ".." / "shared" / "recordings";
}

// What the records say, read without the adapter.
struct Received {
  std::string text;
  std::string thinking;
  std::string arguments;
  std::size_t results = 0;

  void add(const json::Value& record) {
    const json::Value delta = record["delta"];
    text.append(delta["type"].string() == "text_delta" ? delta["text"].string() : "");
    thinking.append(delta["thinking"].string());
    arguments.append(delta["partial_json"].string());
    if (record["content_block"]["type"].string().ends_with("_tool_result")) ++results;
  }
  bool operator==(const Received&) const = default;
};

// What the events say.
class Listener final : public event::EventSink {
 public:
  void on_event(const event::Event& event) override {
    order.on_event(event);
    lines.on_event(event);
    if (const auto* text = std::get_if<event::TextDelta>(&event.body))
      received.text.append(text->delta);
    if (const auto* text = std::get_if<event::ReasoningDelta>(&event.body)) {
      received.thinking.append(text->delta);
    }
    // Empty arguments are the one thing that the adapter adds.
    const auto* arguments = std::get_if<event::ToolArgs>(&event.body);
    if (arguments != nullptr && arguments->delta != "{}")
      received.arguments.append(arguments->delta);
    if (std::holds_alternative<event::ToolResult>(event.body)) ++received.results;
  }

  test::OrderChecker order;
  test::Collector lines;
  Received received;
};

std::string framed(const std::filesystem::path& file, Received& received) {
  std::ifstream stream(file);
  std::string body;
  std::string line;
  json::Document document;
  while (std::getline(stream, line)) {
    const auto record = document.parse(line);
    if (!record) continue;
    received.add(record.value());
    body.append("event: ").append(record.value()["type"].string());
    body.append("\ndata: ").append(line).append("\n\n");
  }
  return body;
}

void decode(const std::string& body, const std::vector<std::size_t>& cuts, Listener& listener) {
  CountingIds ids("id-");
  adapter::Decoder decoder(*adapter::find_wire("anthropic"), {}, ids, listener);
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    EXPECT_TRUE(decoder.feed(std::string_view(body).substr(from, cut - from)).ok());
    from = cut;
  }
  EXPECT_TRUE(decoder.feed(std::string_view(body).substr(from)).ok());
  EXPECT_TRUE(decoder.finish().ok());
}

std::vector<std::size_t> cuts_of(std::size_t size, std::size_t longest, std::mt19937& random) {
  std::vector<std::size_t> cuts;
  std::uniform_int_distribution<std::size_t> step(1, longest);
  for (std::size_t at = step(random); at < size; at += step(random)) cuts.push_back(at);
  return cuts;
}

void check_recording(const std::filesystem::path& file) {
  SCOPED_TRACE(file.filename().string());
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  Received expected;
  const std::string body = framed(file, expected);
  ASSERT_FALSE(body.empty());
  Listener whole;
  decode(body, {}, whole);
  whole.order.finish();
  EXPECT_EQ(whole.order.broken(), "");
  EXPECT_TRUE(whole.received == expected);
  for (int round = 0; round < 65; ++round) {
    Listener pieces;
    decode(body, cuts_of(body.size(), round == 0 ? 1 : 4096, random), pieces);
    ASSERT_EQ(pieces.lines.text(true), whole.lines.text(true)) << "seed " << seed;
  }
}

}  // namespace

TEST(AnthropicRecordings, GiveTheSameEventsHoweverTheyAreCut) {
  const std::filesystem::path folder = recordings() / "anthropic";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no recordings in " << folder;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    check_recording(entry.path());
    ++files;
  }
  EXPECT_GT(files, 0U);
}
