// The tables of the wires against what vendors send: of recorded answers, and of the golden cases
// but a few, no member is unknown or of another type.
#include "adapter/record_shape.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <set>

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

}  // namespace millrace
