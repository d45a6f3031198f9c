// The tables of the wires against what vendors send: of recorded answers, and of the golden cases
// but a few, no member is unknown or of another type.
#include "adapter/record_shape.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "adapter/decoder.hpp"
#include "support/collect.hpp"
#include "support/golden.hpp"
#include "support/recordings.hpp"

namespace millrace {
namespace {

// What is named of an answer: `unknownMembers`, `wrongTypes` and `unknownEvents`.
std::set<std::string> names_in(const adapter::Wire& wire, std::string_view body) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.details = true;
  adapter::Decoder decoder(wire, options, ids, events);
  EXPECT_TRUE(decoder.feed(body).ok());
  EXPECT_TRUE(decoder.finish().ok());
  std::set<std::string> names;
  for (const std::string& line : events.lines) {
    json::Document document;
    const auto event = document.parse(line);
    if (!event) continue;
    for (const std::string_view list : {"unknownMembers", "wrongTypes", "unknownEvents"}) {
      for (const json::Value name : event.value()["details"][list].items()) {
        names.insert(std::string(name.string()));
      }
    }
  }
  return names;
}

// Names that golden cases give because they are about what no vendor sends, or another wire.
struct Odd {
  std::string_view wire;
  std::string_view name;
};
constexpr std::array odd_cases{
    Odd{"ag_ui", "a"},
    Odd{"ag_ui", "response.created"},
    Odd{"ag_ui", "type"},
    Odd{"anthropic", "response.created"},
    Odd{"gemini", "object"},
    Odd{"langgraph", "response.output_text.delta"},
    Odd{"langgraph", "stream.record"},
    Odd{"openai_chat", "code"},
    Odd{"openai_chat", "message_delta"},
    Odd{"openai_chat", "message_start"},
    Odd{"openai_chat", "message_stop"},
    Odd{"openai_responses", "choices"},
    Odd{"openai_responses", "keepalive"},
    Odd{"openai_responses", "output_text.delta.delta"},
    Odd{"openai_responses", "response.something_new"},
};

std::string wire_of_golden(const std::string& file) {
  std::ifstream stream(test::source_folder().string() + "/test/golden/" + file);
  std::string line;
  while (std::getline(stream, line)) {
    if (line.starts_with("Wire: ")) return line.substr(6);
  }
  return {};
}

}  // namespace

TEST(RecordShapes, KnowWhatVendorsSend) {
  if (!std::filesystem::is_directory(test::recordings_folder()))
    GTEST_SKIP() << "no recordings in " << test::recordings_folder();
  for (const auto& file : test::recordings()) {
    const test::Recording recording = test::read_recording(file);
    ASSERT_NE(recording.wire, nullptr) << recording.name;
    EXPECT_EQ(names_in(*recording.wire, recording.body), std::set<std::string>()) << file;
  }
}

TEST(RecordShapes, KnowWhatGoldenCasesHave) {
  std::map<std::string, std::set<std::string>> named;
  for (const std::string& file : test::golden_files("adapter")) {
    const adapter::Wire* wire = adapter::find_wire(wire_of_golden(file));
    ASSERT_NE(wire, nullptr) << file;
    for (const test::GoldenCase& golden : test::golden_cases(file)) {
      for (const std::string& name : names_in(*wire, golden.input())) {
        named[std::string(wire->name) + " " + name].insert(golden.name);
      }
    }
  }
  for (const Odd& odd : odd_cases) {
    const auto found = named.find(std::string(odd.wire) + " " + std::string(odd.name));
    ASSERT_NE(found, named.end()) << odd.wire << " " << odd.name << " is not named any more";
    named.erase(found);
  }
  for (const auto& [name, cases] : named) ADD_FAILURE() << name << " of: " << *cases.begin();
}

// Records that differ in texts and numbers alone are known by the first of them, but for the values
// that decide. With a space in every other one each is looked at by itself.
TEST(RecordShapes, AreTheSameForARecordThatRepeatsAnother) {
  const auto choice = [](std::string_view id, std::string_view index, std::string_view more,
                         std::string_view rest = R"("finish_reason":null)") {
    return R"({"id":")" + std::string(id) + R"(","choices":[{"index":)" + std::string(index) +
           R"(,"delta":{"content":"a")" + std::string(more) + "}," + std::string(rest) + "}]}";
  };
  const auto block = [](std::string_view index, std::string_view type, std::string_view zz) {
    return R"({"type":"content_block_delta","index":)" + std::string(index) +
           R"(,"delta":{"type":")" + std::string(type) + R"(","text":"a","zz":")" +
           std::string(zz) + R"("}})";
  };
  const auto message = [](std::string_view type, std::string_view zz) {
    return R"([{"id":"m","type":")" + std::string(type) + R"(","content":"a","zz":")" +
           std::string(zz) + R"("},{"langgraph_step":1}])";
  };
  const std::string start = R"({"type":"message_start","message":{"id":"m","content":[]}})";
  const std::string begun =
      R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})";
  const std::string stop = R"("finish_reason":"stop")";
  struct Sequence {
    std::string_view wire;
    std::vector<std::string> records;
    std::string_view named;
  };
  const Sequence sequences[] = {
      {"anthropic",
       {start, begun, block("0", "text_delta", ""), block("0", "text_delta", ""),
        block("0", "text_delta", "x"), block("0", "text_delta", "y")},
       R"("unknownMembers":["delta.zz"])"},
      {"anthropic",
       {start, begun, block("0", "text_delta", "x"), block("0", "text_delta", "x"),
        block("-1", "text_delta", "x"), block("0", "text_delta", "x")},
       R"("wrongTypes":["content_block_delta.index"])"},
      {"anthropic",
       {start, begun, block("0", "text_delta", ""), block("0", "text_delta", ""),
        block("0", "some_delta", "x"), block("0", "text_delta", "")},
       R"("unknownMembers":["delta.zz"])"},
      {"openai_chat",
       {choice("1", "0", R"(,"zz":1)"), choice("1", "0", R"(,"zz":2)"),
        choice("1", "0", R"(,"zz":3)"), choice("1", "0", R"(,"zz":3)", stop),
        choice("2", "0", R"(,"zz":4)"), choice("2", "0", R"(,"zz":5)"),
        choice("2", "0", R"(,"zz":6)"), choice("2", "0", R"(,"zz":6)", stop)},
       R"("unknownMembers":["delta.zz"])"},
      {"openai_chat",
       {choice("1", "0", "", R"("extra":"a")"), choice("1", "0", "", R"("extra":"b")"),
        choice("1", "0", "", R"("extra":"c")"), choice("1", "1", "", R"("extra":"d")"),
        choice("1", "0", "", stop)},
       R"("extra":"c")"},
      {"langgraph",
       {message("human", "x"), message("human", "x"), message("human", "x"), message("ai", "x"),
        message("ai", "y")},
       "zz"},
  };
  for (const Sequence& sequence : sequences) {
    const auto events_of = [&](bool is_spaced) {
      CountingIds ids("id-");
      test::Collector events;
      adapter::DecoderOptions options;
      options.details = true;
      adapter::Decoder decoder(*adapter::find_wire(sequence.wire), options, ids, events);
      bool has_space = false;
      for (std::string record : sequence.records) {
        if (is_spaced && (has_space = !has_space)) record.insert(1, " ");
        const std::string frame = "event: messages\ndata: " + record + "\n\n";
        EXPECT_TRUE(decoder.feed(frame).ok());
      }
      EXPECT_TRUE(decoder.finish().ok());
      return events.text(true);
    };
    const std::string events = events_of(false);
    EXPECT_EQ(events, events_of(true));
    EXPECT_NE(events.find(sequence.named), std::string::npos) << events;
  }
}

}  // namespace millrace
