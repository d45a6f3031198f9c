// Every recorded stream through the Decoder in both modes: the same
// events whole, byte by byte and at random splits, and a strict output that AG-UI's clients accept.
//
// The recordings stand beside the repository in ../shared/recordings, or where MILLRACE_RECORDINGS
// says; without them the tests are skipped.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <random>

#include "adapter/decoder.hpp"
#include "encoder/ag_ui.hpp"
#include "support/ag_ui_rules.hpp"
#include "support/collect.hpp"
#include "support/recordings.hpp"

using namespace millrace;
using test::Recording;

namespace {

constexpr int splits = 64;

// Recordings that end in an error: the provider's, a refusal, and a last record that is not JSON.
constexpr std::array<std::string_view, 3> failing{"anthropic-refusal.chunks.txt",
                                                  "openai-error.1.chunks.txt",
                                                  "parallel-tool-call-wrapper.1.chunks.txt"};

// Gives the events to the text that is compared and, in strict mode, to the encoder.
class EncodingListener final : public event::EventSink {
 public:
  void on_event(const event::Event& event) override {
    event::write_json(text, event, spelling_);
    text.push_back('\n');
    encoder.on_event(event);
  }
  std::string text;
  encoder::AgUiEncoder encoder{{"thread", "run", "", "1.0"}};

 private:
  event::Spelling spelling_{event::Extras::diagnostic, json::Surrogates::keep, true, true};
};

// Feeds pieces of 1 to `longest` bytes, or everything at once when that is 0.
void decode(const Recording& recording, event::Mode mode, std::size_t longest, std::mt19937& random,
            EncodingListener& listener) {
  CountingIds ids("id-");
  adapter::DecoderOptions options;
  options.mode = mode;
  adapter::Decoder decoder(*recording.wire, options, ids, listener);
  std::uniform_int_distribution<std::size_t> step(1, std::max<std::size_t>(longest, 1));
  for (std::string_view rest = recording.body; !rest.empty();) {
    const std::size_t size = longest == 0 ? rest.size() : std::min(step(random), rest.size());
    ASSERT_TRUE(decoder.feed(rest.substr(0, size)).ok());
    rest.remove_prefix(size);
  }
  ASSERT_TRUE(decoder.finish().ok());
}

void check(const Recording& recording, event::Mode mode, std::mt19937& random) {
  EncodingListener whole;
  decode(recording, mode, 0, random, whole);
  EXPECT_FALSE(whole.text.empty());
  for (int round = 0; round <= splits; ++round) {
    EncodingListener pieces;
    decode(recording, mode, round == 0 ? 1 : 8192, random, pieces);
    ASSERT_EQ(pieces.text, whole.text);
  }
  if (mode == event::Mode::as_received) return;
  whole.encoder.finish();
  test::AgUiRules rules;
  rules.check_stream(whole.encoder.pending());
  EXPECT_EQ(rules.broken(), "");
  const bool expected = std::find(failing.begin(), failing.end(), recording.name) != failing.end();
  EXPECT_EQ(rules.run_failed(), expected);
}

}  // namespace

TEST(Recordings, GiveTheSameLegalEventsHoweverTheyAreCut) {
  if (!std::filesystem::is_directory(test::recordings_folder()))
    GTEST_SKIP() << "no recordings in " << test::recordings_folder();
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  std::size_t checked = 0;
  for (const auto& file : test::recordings()) {
    const Recording recording = test::read_recording(file);
    ASSERT_NE(recording.wire, nullptr) << "no adapter reads " << recording.name;
    SCOPED_TRACE(recording.name + ", seed " + std::to_string(seed));
    check(recording, event::Mode::strict, random);
    check(recording, event::Mode::as_received, random);
    // Sanitizers take minutes for all of them.
    if (++checked % 10 == 0) std::cout << checked << " recordings" << std::endl;
  }
  EXPECT_GT(checked, 0U);
}
