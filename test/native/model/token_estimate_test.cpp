// How close the estimate is to what tokenizers count: exactly known texts, and recorded answers.

#include "base/token_estimate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "adapter/decoder.hpp"
#include "model/usage/usage.hpp"
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

// Texts that are no running English, and how near the estimate has to come.
struct Odd {
  const char* name;
  std::string text;
  std::int64_t tokens;  // of o200k_base
  double least;
  double most;
};

// Letters in an order that means nothing, the same each time.
std::string letters(std::string_view of, std::uint64_t& state) {
  std::string text;
  for (int at = 0; at < 20'000; ++at) {
    state = state * 48271 % 2147483647;
    text.push_back(of[state % of.size()]);
  }
  return text;
}

std::vector<Odd> odd_texts() {
  std::uint64_t state = 20261122;
  std::vector<Odd> texts{
      {"Finnish",
       "Teko\303\244ly muuttaa tapaamme ty\303\266skennell\303\244 nopeammin kuin kukaan osa"
       "si odottaa. Monet yritykset k\303\244ytt\303\244v\303\244t kielimalleja asiakaspalve"
       "lussa, ohjelmistokehityksess\303\244 ja asiakirjojen tiivist\303\244misess\303\244. "
       "Tietoturvallisuudesta huolehtiminen edellytt\303\244\303\244 kuitenkin huolellista s"
       "uunnittelua, sill\303\244 arkaluonteisten henkil\303\266tietojen k\303\244sittelyyn "
       "sovelletaan tietosuojalains\303\244\303\244d\303\244nt\303\266\303\244.",
       109, 0.65, 1.15},
      {"German compounds",
       "Die Bundesverfassungsgerichtsentscheidung zur Vorratsdatenspeicherung beeinflusst di"
       "e Telekommunikations\303\274berwachungsverordnung. Rechtsschutzversicherungsgesellsc"
       "haften und Krankenhausverwaltungsabteilungen pr\303\274fen die Datenschutzgrundveror"
       "dnung sowie die Arbeitsunf\303\244higkeitsbescheinigungen ihrer Versicherungsnehmer."
       " Das Geschwindigkeitsbegrenzungsschild steht vor der Stra\303\237enbahnhaltestelle a"
       "m Hauptbahnhofsvorplatz.",
       85, 0.75, 1.25},
      {"Japanese",
       "\344\272\272\345\267\245\347\237\245\350\203\275\343\201\257\347\247\201\343\201\237"
       "\343\201\241\343\201\256\345\203\215\343\201\215\346\226\271\343\202\222\345\244\211"
       "\343\201\210\343\201\244\343\201\244\343\201\202\343\202\212\343\201\276\343\201\231"
       "\343\200\202\345\244\232\343\201\217\343\201\256\344\274\201\346\245\255\343\201\214"
       "\350\263\252\345\225\217\343\201\270\343\201\256\345\233\236\347\255\224\343\202\204"
       "\346\226\207\346\233\270\343\201\256\350\246\201\347\264\204\343\200\201\343\203\227"
       "\343\203\255\343\202\260\343\203\251\343\203\240\343\201\256\344\275\234\346\210\220"
       "\343\201\253\350\250\200\350\252\236\343\203\242\343\203\207\343\203\253\343\202\222"
       "\345\210\251\347\224\250\343\201\227\343\201\246\343\201\204\343\201\276\343\201\231"
       "\343\200\202\343\201\227\343\201\213\343\201\227\343\200\201\351\207\215\350\246\201"
       "\343\201\252\346\261\272\345\256\232\343\202\222\344\270\213\343\201\231\345\211\215"
       "\343\201\253\345\277\205\343\201\232\347\265\220\346\236\234\343\202\222\347\242\272"
       "\350\252\215\343\201\231\343\202\213\343\201\223\343\201\250\343\201\214\345\244\247"
       "\345\210\207\343\201\247\343\201\231\343\200\202\346\230\250\346\227\245\343\201\257"
       "\345\244\251\346\260\227\343\201\214\350\211\257\343\201\213\343\201\243\343\201\237"
       "\343\201\256\343\201\247\343\200\201\345\267\235\346\262\277\343\201\204\343\202\222"
       "\346\225\243\346\255\251\343\201\227\343\201\276\343\201\227\343\201\237\343\200\202",
       86, 0.85, 1.15},
      {"Russian",
       "\320\230\321\201\320\272\321\203\321\201\321\201\321\202\320\262\320\265\320\275"
       "\320\275\321\213\320\271 \320\270\320\275\321\202\320\265\320\273\320\273\320\265"
       "\320\272\321\202 \320\274\320\265\320\275\321\217\320\265\321\202 \321\202\320\276, "
       "\320\272\320\260\320\272 \320\274\321\213 \321\200\320\260\320\261\320\276\321\202"
       "\320\260\320\265\320\274. \320\234\320\275\320\276\320\263\320\270\320\265 \320\272"
       "\320\276\320\274\320\277\320\260\320\275\320\270\320\270 \320\270\321\201\320\277"
       "\320\276\320\273\321\214\320\267\321\203\321\216\321\202 \321\217\320\267\321\213"
       "\320\272\320\276\320\262\321\213\320\265 \320\274\320\276\320\264\320\265\320\273"
       "\320\270, \321\207\321\202\320\276\320\261\321\213 \320\276\321\202\320\262\320\265"
       "\321\207\320\260\321\202\321\214 \320\275\320\260 \320\262\320\276\320\277\321\200"
       "\320\276\321\201\321\213 \320\270 \320\272\321\200\320\260\321\202\320\272\320\276 "
       "\320\270\320\267\320\273\320\260\320\263\320\260\321\202\321\214 \320\264\320\276"
       "\320\272\321\203\320\274\320\265\320\275\321\202\321\213.",
       34, 0.85, 1.15},
      {"Arabic",
       "\330\247\331\204\330\260\331\203\330\247\330\241 \330\247\331\204\330\247\330\265"
       "\330\267\331\206\330\247\330\271\331\212 \331\212\330\272\331\212\330\261 \330\267"
       "\330\261\331\212\331\202\330\251 \330\271\331\205\331\204\331\206\330\247. \330\252"
       "\330\263\330\252\330\256\330\257\331\205 \330\247\331\204\330\271\330\257\331\212"
       "\330\257 \331\205\331\206 \330\247\331\204\330\264\330\261\331\203\330\247\330\252 "
       "\331\206\331\205\330\247\330\260\330\254 \330\247\331\204\331\204\330\272\330\251 "
       "\331\204\331\204\330\245\330\254\330\247\330\250\330\251 \330\271\331\206 \330\247"
       "\331\204\330\243\330\263\330\246\331\204\330\251 \331\210\330\252\331\204\330\256"
       "\331\212\330\265 \330\247\331\204\331\205\330\263\330\252\331\206\330\257\330\247"
       "\330\252 \331\210\331\203\330\252\330\247\330\250\330\251 \330\247\331\204\330\250"
       "\330\261\330\247\331\205\330\254. \331\210\331\205\330\271 \330\260\331\204\331\203 "
       "\331\205\331\206 \330\247\331\204\331\205\331\207\331\205 \330\247\331\204\330\252"
       "\330\255\331\202\331\202 \330\257\330\247\330\246\331\205\330\247 \331\205\331\206 "
       "\330\247\331\204\331\206\330\252\330\247\330\246\330\254 \331\202\330\250\331\204 "
       "\330\247\330\252\330\256\330\247\330\260 \330\247\331\204\331\202\330\261\330\247"
       "\330\261\330\247\330\252.",
       51, 0.85, 1.15},
      {"English in capitals",
       "THIS AGREEMENT SHALL BE GOVERNED BY AND CONSTRUED IN ACCORDANCE WITH THE LAWS OF THE"
       " STATE. NOTWITHSTANDING ANYTHING TO THE CONTRARY, THE CONTRACTOR INDEMNIFIES THE CUS"
       "TOMER.",
       46, 0.85, 1.15},
      {"code",
       "export async function readAll(stream) {\n  const chunks = [];\n  for await (const chunk of "
       "stream) chunks.push(chunk);\n  return Buffer.concat(chunks).toString(\"utf8\");\n}\n",
       40, 0.85, 1.15},
  };
  texts.push_back({"DNA", letters("ACGT", state), 10356, 0.85, 1.15});
  texts.push_back({"protein", letters("ACDEFGHIKLMNPQRSTVWY", state), 11070, 0.85, 1.15});
  const std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz";
  texts.push_back({"random letters", letters(alphabet, state), 10393, 0.85, 1.15});
  return texts;
}

// What of an answer counts as output, and what the provider counted.
class Listener final : public event::EventSink {
 public:
  void on_event(const event::Event& event) override {
    if (const auto* text = std::get_if<event::TextDelta>(&event.body)) received.append(text->delta);
    if (const auto* text = std::get_if<event::ReasoningDelta>(&event.body)) {
      reasoning_part.append(text->delta);
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

  std::string received;
  std::string reasoning_part;
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
  if (!answer.reasoning_part.empty() && wire != "openai_responses") return output;
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

TEST(TokenEstimate, IsNearATokenizerForTextsOfOtherKinds) {
  for (const Odd& odd : odd_texts()) {
    const double ratio =
        static_cast<double>(estimate_tokens(odd.text)) / static_cast<double>(odd.tokens);
    EXPECT_GE(ratio, odd.least) << odd.name;
    EXPECT_LE(ratio, odd.most) << odd.name;
  }
}

// Limits of a context rely on it.
TEST(TokenEstimate, CountsLettersWithoutSpaces) {
  for (const std::string_view piece : {"a", "abcdefgh", "no"}) {
    std::string text;
    while (text.size() < 1'000'000) text.append(piece);
    EXPECT_GE(estimate_tokens(text), 249'000) << piece;
  }
}

// Of these, pieces stand for the whole.
TEST(TokenEstimate, IsTheSameForLongTexts) {
  std::string all;
  for (const auto& sample : samples) {
    std::string text;
    while (text.size() < 400'000) text.append(sample.text).append("\n");
    all += text;
    TokenEstimator whole;
    whole.add(text);
    const auto expected = static_cast<double>(whole.tokens());
    EXPECT_NEAR(static_cast<double>(estimate_tokens(text)) / expected, 1, 0.05) << sample.text;
  }
  TokenEstimator whole;
  whole.add(all);
  const auto expected = static_cast<double>(whole.tokens());
  EXPECT_NEAR(static_cast<double>(estimate_tokens(all)) / expected, 1, 0.25);
  EXPECT_GT(estimate_tokens(std::string(1'000'000, '\x80')), 0);
}

TEST(TokenEstimate, CountsOneLetterAgainAndAgainLow) {
  EXPECT_LT(estimate_tokens(std::string(65'536, 'x')), 17'000);
  EXPECT_LT(estimate_tokens(std::string(65'536, 'X')), 17'000);
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
    if (!answer.text_only || reported <= 0 || answer.received.empty()) continue;
    const std::string_view model = model_of(answer, recording);
    const auto estimated = static_cast<double>(estimate_tokens(answer.received, model) +
                                               estimate_tokens(answer.reasoning_part, model));
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
