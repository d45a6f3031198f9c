// How close the estimate is to what tokenizers count: exactly known texts, and recorded answers.

#include "base/token_estimate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>
#include <set>

#include "adapter/decoder.hpp"
#include "model/usage.hpp"
#include "support/recordings.hpp"

using namespace millrace;

namespace {

struct Sample {
  const char* text;
  std::int64_t tokens;  // of o200k_base
};
const Sample samples[] = {
    {"Artificial intelligence is changing the way we work. Many companies use language models to "
     "answer questions, summarise documents and write code. However, it is important to always "
     "check the results before you make important decisions. The weather was lovely yesterday, so "
     "we walked along the river until the sun went down behind the mountains.",
     62},
    {"Der schnelle braune Fuchs springt \xC3\xBC"
     "ber den faulen Hund. Die Verarbeitung gro\xC3\x9F"
     "er Datenmengen erfordert sorgf\xC3\xA4ltige Planung, und die Ergebnisse m\xC3\xBCssen "
     "anschlie\xC3\x9F"
     "end \xC3\xBC"
     "berpr\xC3\xBC"
     "ft werden. Nat\xC3\xBCrlich k\xC3\xB6nnen Sie die Einstellungen jederzeit \xC3\xA4ndern, "
     "wenn Sie der Meinung sind, dass eine andere L\xC3\xB6sung besser geeignet w\xC3\xA4re.",
     57},
    {"\xE4\xBA\xBA\xE5\xB7\xA5\xE6\x99\xBA\xE8\x83\xBD\xE6\xAD\xA3\xE5\x9C\xA8\xE6\x94\xB9\xE5\x8F"
     "\x98\xE6\x88\x91\xE4\xBB\xAC\xE7\x9A\x84\xE5\xB7\xA5\xE4\xBD\x9C\xE6\x96\xB9\xE5\xBC\x8F"
     "\xE3\x80\x82",
     10},
    {"In 1998 there were 12345 people, 3.14159 pi, 2026-11-22, $1,299.99, 192.168.0.1, "
     "0xDEADBEEF, +49 170 1234567",
     57},
    {"## Steps\n\n1. **Install** the package:\n\n```bash\nnpm install millrace\n```\n\n2. Run `npm "
     "test` to check.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n- item one\n- item two\n  - "
     "nested\n",
     60},
};

// What of an answer counts as output, and what the provider counted.
class Listener final : public event::EventSink {
 public:
  void on_event(const event::Event& event) override {
    if (const auto* text = std::get_if<event::TextDelta>(&event.body)) said.append(text->delta);
    if (const auto* text = std::get_if<event::ReasoningDelta>(&event.body)) {
      thought.append(text->delta);
    }
    if (std::holds_alternative<event::ToolStart>(event.body) ||
        std::holds_alternative<event::Foreign>(event.body)) {
      text_only = false;
    }
    if (const auto* report = std::get_if<event::Usage>(&event.body)) {
      usage = model::read_vendor_usage(*report);
      model = std::string(report->model);
    }
  }

  std::string said;
  std::string thought;
  std::string model;
  bool text_only = true;
  model::ModelUsage usage;
};

// Shortened by who recorded them, so that the count does not belong to the text.
const std::set<std::string> shortened{"duplicate-message-start.chunks.txt",
                                      "perplexity-text.chunks.txt", "openai-phase.1.chunks.txt"};

// Bedrock's answers do not name their model; whoever asks knows it.
std::string_view model_of(const Listener& answer, const test::Recording& recording) {
  return recording.wire->name == "bedrock_converse" ? "claude" : std::string_view(answer.model);
}

// The tokens of what was streamed. The Responses API shows no thoughts, at most a summary of them.
std::int64_t reported_output(const Listener& answer, std::string_view wire) {
  const std::int64_t output = answer.usage[model::Tokens::total_output].value_or(0);
  if (!answer.thought.empty() && wire != "openai_responses") return output;
  return output - answer.usage[model::Tokens::output_reasoning].value_or(0);
}

}  // namespace

TEST(TokenEstimate, IsNearATokenizer) {
  for (const Sample& sample : samples) {
    const std::int64_t tokens = estimate_tokens(sample.text);
    const auto allowed = std::max<double>(2, 0.15 * static_cast<double>(sample.tokens));
    EXPECT_NEAR(static_cast<double>(tokens), static_cast<double>(sample.tokens), allowed)
        << sample.text;
  }
}

TEST(TokenEstimate, DoesNotDependOnThePieces) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const Sample& sample : samples) {
    const std::string text = sample.text;
    TokenEstimator pieces;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t size = 1 + random() % 5;
      while (at + size < text.size() && (static_cast<unsigned char>(text[at + size]) >> 6U) == 2U) {
        ++size;
      }
      pieces.add(std::string_view(text).substr(at, size));
      at += size;
    }
    EXPECT_EQ(pieces.tokens(), estimate_tokens(text)) << text;
  }
}

TEST(TokenEstimate, IsZeroOnlyForNothing) {
  EXPECT_EQ(estimate_tokens(""), 0);
  EXPECT_EQ(estimate_tokens(" "), 1);
  EXPECT_EQ(estimate_tokens("\xff\xfe"), 3);
}

TEST(TokenEstimate, IsWithin15PercentOfRecordedAnswers) {
  if (!std::filesystem::is_directory(test::recordings_folder())) {
    GTEST_SKIP() << "no recordings in " << test::recordings_folder();
  }
  double reported_sum = 0;
  double estimated_sum = 0;
  int answers = 0;
  for (const auto& file : test::recordings()) {
    const test::Recording recording = test::read_recording(file);
    if (recording.wire == nullptr || shortened.contains(recording.name)) continue;
    CountingIds ids("id-");
    Listener answer;
    adapter::Decoder decoder(*recording.wire, {}, ids, answer);
    if (!decoder.feed(recording.body) || !decoder.finish()) continue;
    const auto reported = static_cast<double>(reported_output(answer, recording.wire->name));
    if (!answer.text_only || reported <= 0 || answer.said.empty()) continue;
    const std::string_view model = model_of(answer, recording);
    const auto estimated = static_cast<double>(estimate_tokens(answer.said, model) +
                                               estimate_tokens(answer.thought, model));
    std::cout << recording.name << " (" << model << "): reported " << reported << ", estimated "
              << estimated << "\n";
    // Marks of turns and thoughts are tokens, too: of short answers they are a large part.
    EXPECT_NEAR(estimated, reported, std::max(0.15 * reported, 8.0)) << recording.name;
    reported_sum += reported;
    estimated_sum += estimated;
    ++answers;
  }
  EXPECT_GE(answers, 5);
  EXPECT_NEAR(estimated_sum / reported_sum, 1.0, 0.15);
  std::cout << answers << " answers: " << estimated_sum / reported_sum << " of what was reported\n";
}
