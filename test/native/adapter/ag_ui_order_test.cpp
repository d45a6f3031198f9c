// Random AG-UI sources, legal and not, through the strict adapter and the encoder: the result keeps
// AG-UI's rules for clients of both lines, and a legal source comes out as it went in.

#include <gtest/gtest.h>

#include <random>

#include "adapter/decoder.hpp"
#include "encoder/ag_ui.hpp"
#include "support/ag_ui_rules.hpp"

using namespace millrace;

namespace {

// Writes one random source.
class RandomSource {
 public:
  explicit RandomSource(unsigned seed) : random_(seed) {}

  std::string body() {
    std::string out;
    const bool framed = below(5) > 0;
    if (framed) out += frame(R"({"type":"RUN_STARTED","threadId":"t","runId":"r"})");
    for (std::size_t left = below(40); left > 0; --left) out += frame(record());
    if (framed && below(3) > 0)
      out += frame(R"({"type":"RUN_FINISHED","threadId":"t","runId":"r"})");
    return out;
  }

 private:
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }
  std::string pick(std::initializer_list<const char*> words) {
    return *(words.begin() + below(words.size()));
  }
  static std::string frame(const std::string& json) { return "data: " + json + "\n\n"; }

  std::string record() {
    // Weighted towards what opens and closes.
    std::string json = R"({"type":")" +
                       pick({"TEXT_MESSAGE_START",
                             "TEXT_MESSAGE_CONTENT",
                             "TEXT_MESSAGE_END",
                             "TEXT_MESSAGE_CHUNK",
                             "TOOL_CALL_START",
                             "TOOL_CALL_ARGS",
                             "TOOL_CALL_END",
                             "TOOL_CALL_CHUNK",
                             "TOOL_CALL_RESULT",
                             "REASONING_START",
                             "REASONING_END",
                             "REASONING_MESSAGE_START",
                             "REASONING_MESSAGE_CONTENT",
                             "REASONING_MESSAGE_END",
                             "REASONING_MESSAGE_CHUNK",
                             "REASONING_ENCRYPTED_VALUE",
                             "THINKING_START",
                             "THINKING_END",
                             "THINKING_TEXT_MESSAGE_START",
                             "THINKING_TEXT_MESSAGE_CONTENT",
                             "THINKING_TEXT_MESSAGE_END",
                             "STATE_SNAPSHOT",
                             "STATE_DELTA",
                             "MESSAGES_SNAPSHOT",
                             "ACTIVITY_SNAPSHOT",
                             "STEP_STARTED",
                             "STEP_FINISHED",
                             "SUBAGENT_STARTED",
                             "SUBAGENT_FINISHED",
                             "SUBAGENT_ERROR",
                             "RUN_STARTED",
                             "RUN_FINISHED",
                             "CUSTOM",
                             "RAW",
                             "LATER"}) +
                       "\"";
    const auto member = [&](const char* key, const std::string& value, std::size_t one_in) {
      if (below(one_in) == 0) json += std::string(",\"") + key + "\":" + value;
    };
    const std::string id = pick({"\"a\"", "\"b\"", "\"c\""});
    if (below(12) > 0) {
      json += ",\"messageId\":" + id + ",\"toolCallId\":" + id + ",\"stepName\":" + id;
    }
    member("parentMessageId", pick({"\"a\"", "\"b\"", "null"}), 3);
    member("entityId", id, 1);
    member("subtype", R"("message")", 1);
    member("encryptedValue", R"("v")", 1);
    member("toolCallName", R"("f")", 1);
    member("delta", pick({R"("x")", R"("")", R"("\ud83d")", R"("\ude00")", "null", "[]"}), 1);
    member("subagentRunId", pick({R"("s")", R"("k")", R"("s")", "null"}), 3);
    member("parentSubagentRunId", pick({R"("s")", R"("k")"}), 3);
    member("name", R"("n")", 1);
    member("role", pick({R"("assistant")", R"("reasoning")", "null"}), 2);
    member("content", pick({R"("text")", "{}", R"([{"type":"text","text":"t"}])", "null"}), 1);
    member("activityType", R"("p")", 1);
    member("snapshot", "{}", 2);
    member("messages", R"([{"id":"a","role":"assistant","subagentRunId":"k"}])", 2);
    member("metadata", pick({"{}", "null", "5"}), 6);
    member("timestamp", pick({"1", "1.5", "null"}), 6);
    return json + "}";
  }

  std::mt19937 random_;
};

std::string passed_on(const std::string& body, const std::string& version) {
  CountingIds ids("id-");
  encoder::AgUiEncoder encoder({"t", "r", "", version});
  adapter::Decoder decoder(*adapter::find_wire("ag_ui"), {}, ids, encoder);
  EXPECT_TRUE(decoder.feed(body).ok());
  EXPECT_TRUE(decoder.finish().ok());
  encoder.finish();
  return encoder.take();
}

// What the encoder adds to a run whose source did not say which calls are unanswered.
std::string without_outcome(std::string body) {
  const std::size_t at = body.find(R"(,"outcome":)");
  if (at != std::string::npos) body.erase(at, body.find("]}", at) + 2 - at);
  return body;
}

}  // namespace

TEST(AgUiOrder, MakesAnySourceLegalForEveryClient) {
  const unsigned first = std::random_device{}();
  for (unsigned round = 0; round < 500; ++round) {
    const unsigned seed = first + round;
    const std::string body = RandomSource(seed).body();
    for (const char* version : {"", "1.0"}) {
      test::AgUiRules rules;
      rules.check_stream(passed_on(body, version));
      ASSERT_EQ(rules.broken(), "") << "seed " << seed << ", version \"" << version << "\"\n"
                                    << body;
    }
  }
}

TEST(AgUiOrder, ChangesNothingThatIsLegal) {
  const unsigned first = std::random_device{}();
  for (unsigned round = 0; round < 500; ++round) {
    const unsigned seed = first + round;
    const std::string legal = passed_on(RandomSource(seed).body(), "1.0");
    ASSERT_EQ(without_outcome(passed_on(legal, "1.0")), without_outcome(legal)) << "seed " << seed;
  }
}
