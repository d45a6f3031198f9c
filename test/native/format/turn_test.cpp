// A model's answer is streamed, folded into messages and sent back: the next request must hold what
// the provider needs of it.
//
// A golden file's prose names `Wire:` and `Format:`. A case has the stream (`in`), the canonical
// `messages` it makes and the `api` data of the next request. Without the golden files: every
// recorded stream, into every format.

#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "adapter/decoder.hpp"
#include "base/json_tree.hpp"
#include "format/format.hpp"
#include "message/fold.hpp"
#include "message/history.hpp"
#include "support/collect.hpp"
#include "support/golden.hpp"
#include "support/recordings.hpp"
#include "support/source_folder.hpp"

using namespace millrace;
using test::compact;

namespace {

struct TurnRow {
  std::string file;
  std::string wire;
  std::string format;
  test::GoldenCase golden;
};

void PrintTo(const TurnRow& row, std::ostream* out) {
  *out << row.file << ": " << row.golden.name;
}

std::string word_behind(const std::string& file, const std::string& mark) {
  std::ifstream stream(test::source_folder().string() + "/test/golden/" + file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(mark)) return line.substr(mark.size());
  }
  return {};
}

std::vector<TurnRow> turn_rows() {
  std::vector<TurnRow> result;
  for (const std::string& file : test::golden_files("turn")) {
    for (auto& golden : test::golden_cases(file)) {
      result.push_back(
          {file, word_behind(file, "Wire: "), word_behind(file, "Format: "), std::move(golden)});
    }
  }
  return result;
}

// Gives events to a folder as they are, and to a collector.
class Both final : public event::EventSink {
 public:
  Both(message::Folder& folder, event::EventSink& other) : folder_(folder), other_(other) {}
  void on_event(const event::Event& event) override {
    folder_.feed(event);
    other_.on_event(event);
  }

 private:
  message::Folder& folder_;
  event::EventSink& other_;
};

// The messages that the engine makes of the body; an AG-UI host gets the same.
message::Messages messages_of(const adapter::Wire& wire, const std::string& body) {
  CountingIds ids("id-");
  CountingIds none("none-");
  test::Collector events({event::Extras::custom, json::Surrogates::keep, true, true});
  message::Folder typed(none);
  Both both(typed, events);
  adapter::Decoder decoder(wire, {}, ids, both);
  EXPECT_TRUE(decoder.feed(body).ok());
  EXPECT_TRUE(decoder.finish().ok());
  message::Folder folder(ids);
  for (const std::string& event : events.lines) EXPECT_TRUE(folder.feed("[" + event + "]").ok());
  EXPECT_EQ(compact(typed.messages_json()), compact(folder.messages_json()));
  const auto tree = json::Tree::parse(typed.messages_json());
  EXPECT_TRUE(tree.ok() && message::to_tree(typed.messages()) == tree.value());
  return typed.messages();
}

std::string there_and_back(const format::Format& format, const std::string& messages) {
  const auto api = format::to_api(format, messages);
  EXPECT_TRUE(api.ok()) << api.error().message;
  CountingIds ids("back-");
  const auto back = format::from_api(format, api.value(), ids);
  EXPECT_TRUE(back.ok()) << back.error().message;
  return back.value();
}

class Turn : public testing::TestWithParam<TurnRow> {};

}  // namespace

TEST_P(Turn, ComesBackToItsProvider) {
  const TurnRow& row = GetParam();
  const adapter::Wire* wire = adapter::find_wire(row.wire);
  const format::Format* format = format::find_format(row.format);
  ASSERT_NE(wire, nullptr);
  ASSERT_NE(format, nullptr);
  const auto messages = messages_of(*wire, row.golden.input());
  const std::string* expected = row.golden.block("messages");
  ASSERT_NE(expected, nullptr);
  EXPECT_EQ(compact(message::to_json(messages)), compact(*expected));
  message::JsonBuilder api(json::Surrogates::replace);
  format->write(api, messages);
  const std::string* request = row.golden.block("api");
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(compact(api.take()), compact(*request));
}

INSTANTIATE_TEST_SUITE_P(Golden, Turn, testing::ValuesIn(turn_rows()),
                         [](const testing::TestParamInfo<TurnRow>& row) {
                           return std::regex_replace(row.param.wire + "_" + row.param.golden.name,
                                                     std::regex("[^A-Za-z0-9]+"), "_");
                         });

// A format that leaves out ids of others gets new ones each time it is read.
std::string without_made_ids(const std::string& json) {
  return std::regex_replace(json, std::regex("back-[0-9]+"), "back");
}

TEST(RecordedTurns, GoIntoEveryFormat) {
  if (!std::filesystem::is_directory(test::recordings_folder())) {
    GTEST_SKIP() << "no recordings in " << test::recordings_folder();
  }
  std::size_t filled = 0;
  for (const auto& file : test::recordings()) {
    const test::Recording recording = test::read_recording(file);
    if (recording.wire == nullptr) continue;
    SCOPED_TRACE(recording.name);
    auto messages = messages_of(*recording.wire, recording.body);
    filled += messages.empty() ? 0 : 1;
    CountingIds ids("mended-");
    (void)message::repair_history(messages, ids);
    EXPECT_TRUE(message::check_history(messages).ok());
    for (const format::Format& format : format::formats()) {
      SCOPED_TRACE(format.name);
      const std::string once = there_and_back(format, message::to_json(messages));
      EXPECT_EQ(without_made_ids(there_and_back(format, once)), without_made_ids(once));
    }
  }
  EXPECT_GT(filled, 0U);
}
