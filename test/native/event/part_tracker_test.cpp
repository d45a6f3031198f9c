// PartTracker: its single behaviours, and that random calls in any order give a legal order.

#include "event/part_tracker.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/collect.hpp"
#include "support/order_checker.hpp"

using namespace millrace;
using event::Mode;
using event::PartTracker;

namespace {

// A tracker whose events are JSON lines; ids it makes are id-1, id-2 ...
struct Bench {
  explicit Bench(event::TrackerOptions options = {}) : parts(options, ids, collector) {}
  std::string text() const { return collector.text(); }

  CountingIds ids{"id-"};
  test::Collector collector;
  PartTracker parts;
};

event::TrackerOptions as_received() {
  event::TrackerOptions options;
  options.mode = Mode::as_received;
  return options;
}

// Says one random thing to the tracker.
class RandomVendor {
 public:
  RandomVendor(PartTracker& parts, unsigned seed) : parts_(parts), random_(seed) {}

  void step() {
    const std::string key = pick({"a", "b", "c", ""});
    const std::string id = pick({"x", "y", "z", "", "id-1"});
    const std::string text = pick({"t", "", "\xED\xA0\xBD", "\xED\xB8\x80!", "more"});
    switch (below(19)) {
      case 0: parts_.text_open(key, id); break;
      case 1:
      case 2: parts_.text_delta(key, text); break;
      case 3: parts_.text_close(key); break;
      case 4: parts_.reasoning_open(key, id); break;
      case 5: parts_.reasoning_delta(key, text); break;
      case 6: parts_.reasoning_close(key); break;
      case 7: parts_.reasoning_encrypted(key, "opaque"); break;
      case 8:
      case 9: parts_.tool_open(key, id, pick({"f", "g", ""}), "parent"); break;
      case 10:
      case 11: parts_.tool_args(key, text); break;
      case 12: parts_.tool_close(key); break;
      case 13: give_result(id); break;
      case 14: parts_.close_reasoning(); break;
      case 15: parts_.close_texts(); break;
      case 16: parts_.close_tools(); break;
      case 17: parts_.pass(event::Stage{"stage", {}}); break;
      default:
        if (below(40) == 0) parts_.fail("code", "sentence");
        if (below(8) == 0) parts_.close_all();
    }
  }

 private:
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }
  std::string pick(std::initializer_list<const char*> words) {
    return *(words.begin() + below(words.size()));
  }
  void give_result(const std::string& id) {
    event::ToolResult result;
    result.message_id = "result";
    result.id = id;
    result.content = "content";
    parts_.tool_result(result);
  }

  PartTracker& parts_;
  std::mt19937 random_;
};

}  // namespace

TEST(PartTracker, ShowsTheSentenceOfAFailureWithoutTerminalSequences) {
  Bench bench;
  bench.parts.fail("code", "Wait\x1B[2J\x1B]0;title\x07 a\tlittle\nplease\x9B");
  EXPECT_NE(bench.text().find(R"(Wait a\tlittle\nplease)"), std::string::npos) << bench.text();
  EXPECT_EQ(bench.text().find("title"), std::string::npos);
}

TEST(PartTracker, GivesALegalOrderWhateverTheVendorSays) {
  const unsigned first = std::random_device{}();
  for (unsigned round = 0; round < 3000; ++round) {
    const unsigned seed = first + round;
    CountingIds ids("id-");
    test::OrderChecker checker;
    PartTracker parts({}, ids, checker);
    RandomVendor vendor(parts, seed);
    for (int step = 0; step < 60; ++step) vendor.step();
    parts.close_all();
    checker.finish();
    ASSERT_EQ(checker.broken(), "") << "seed " << seed;
  }
}

TEST(PartTracker, StartsATextWithItsFirstWords) {
  Bench bench;
  bench.parts.text_open("k", "m", "user", "Ada");
  bench.parts.text_delta("k", "");
  EXPECT_EQ(bench.text(), "");
  EXPECT_EQ(bench.parts.id_of("k"), "m");
  bench.parts.text_delta("k", "Hi");
  bench.parts.text_close("k");
  EXPECT_EQ(bench.text(),
            R"({"type":"TEXT_MESSAGE_START","messageId":"m","role":"user","name":"Ada"})"
            "\n"
            R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hi"})"
            "\n"
            R"({"type":"TEXT_MESSAGE_END","messageId":"m"})"
            "\n");
}

TEST(PartTracker, ReplacesAnIdThatWasUsedBefore) {
  Bench bench;
  for (int turn = 0; turn < 2; ++turn) {
    bench.parts.text_open("k", "m");
    bench.parts.text_delta("k", "Hi");
    bench.parts.text_close("k");
  }
  EXPECT_NE(bench.text().find(R"("messageId":"id-1")"), std::string::npos);
}

TEST(PartTracker, KeepsARepeatedIdWhenTheSourceMayReopen) {
  event::TrackerOptions options;
  options.distinct_ids = false;
  Bench bench(options);
  for (int turn = 0; turn < 2; ++turn) {
    bench.parts.text_open("k", "m");
    bench.parts.text_delta("k", "Hi");
    bench.parts.text_close("k");
  }
  EXPECT_EQ(bench.text().find("id-1"), std::string::npos);
}

TEST(PartTracker, GivesAResultToTheCallThatTookAnotherId) {
  Bench bench;
  for (int turn = 0; turn < 2; ++turn) {
    bench.parts.tool_open("k", "call", "f");
    bench.parts.tool_close("k");
  }
  bench.parts.tool_result({"r", "call", "done"});
  EXPECT_EQ(bench.collector.lines.back(),
            R"({"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"id-1","content":"done"})");
}

TEST(PartTracker, LetsCallsFollowOneAnother) {
  Bench bench;
  bench.parts.tool_open("a", "1", "f");
  bench.parts.tool_open("b", "2", "g");
  bench.parts.tool_args("b", "{}");
  bench.parts.tool_close("b");
  bench.parts.tool_result({"r", "2", "done"});
  bench.parts.tool_args("a", "[]");
  bench.parts.tool_close("a");
  EXPECT_EQ(bench.text(),
            R"({"type":"TOOL_CALL_START","toolCallId":"1","toolCallName":"f"})"
            "\n"
            R"({"type":"TOOL_CALL_ARGS","toolCallId":"1","delta":"[]"})"
            "\n"
            R"({"type":"TOOL_CALL_END","toolCallId":"1"})"
            "\n"
            R"({"type":"TOOL_CALL_START","toolCallId":"2","toolCallName":"g"})"
            "\n"
            R"({"type":"TOOL_CALL_ARGS","toolCallId":"2","delta":"{}"})"
            "\n"
            R"({"type":"TOOL_CALL_END","toolCallId":"2"})"
            "\n"
            R"({"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"2","content":"done"})"
            "\n");
}

TEST(PartTracker, KeepsTheStateOfAWaitingCallUntilItStarts) {
  Bench bench;
  bench.parts.tool_open("a", "1", "f");
  bench.parts.tool_open("b", "2", "g");
  bench.parts.tool_args("b", "{}");
  bench.parts.pass(event::ProviderState{"p", "item", "2", "true"});
  bench.parts.pass(event::ProviderState{"p", "item", "1", "false"});
  bench.parts.tool_result({"r", "2", "done"});
  bench.parts.tool_close("a");
  EXPECT_EQ(
      bench.collector.text(true),
      R"({"type":"TOOL_CALL_START","toolCallId":"1","toolCallName":"f"})"
      "\n"
      R"({"type":"@provider_state","provider":"p","kind":"item","entityId":"1","state":false})"
      "\n"
      R"({"type":"TOOL_CALL_END","toolCallId":"1"})"
      "\n"
      R"({"type":"TOOL_CALL_START","toolCallId":"2","toolCallName":"g"})"
      "\n"
      R"({"type":"TOOL_CALL_ARGS","toolCallId":"2","delta":"{}"})"
      "\n"
      R"({"type":"@provider_state","provider":"p","kind":"item","entityId":"2","state":true})"
      "\n"
      R"({"type":"TOOL_CALL_END","toolCallId":"2"})"
      "\n"
      R"({"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"2","content":"done"})"
      "\n");
}

TEST(PartTracker, LetsCallsStandSideBySideWhereAsked) {
  event::TrackerOptions options;
  options.calls_side_by_side = true;
  Bench bench(options);
  bench.parts.tool_open("0", "a", "f", "m");
  bench.parts.tool_open("1", "b", "g", "m");
  bench.parts.tool_args("1", "{");
  bench.parts.tool_args("0", "{}");
  bench.parts.tool_args("1", "}");
  bench.parts.tool_open("2", "c", "", "m");
  bench.parts.tool_result({"r", "c", "done"});
  bench.parts.close_all();
  EXPECT_EQ(
      bench.text(),
      R"({"type":"TOOL_CALL_START","toolCallId":"a","toolCallName":"f","parentMessageId":"m"})"
      "\n"
      R"({"type":"TOOL_CALL_START","toolCallId":"b","toolCallName":"g","parentMessageId":"m"})"
      "\n"
      R"({"type":"TOOL_CALL_ARGS","toolCallId":"b","delta":"{"})"
      "\n"
      R"({"type":"TOOL_CALL_ARGS","toolCallId":"a","delta":"{}"})"
      "\n"
      R"({"type":"TOOL_CALL_ARGS","toolCallId":"b","delta":"}"})"
      "\n"
      R"({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"","parentMessageId":"m"})"
      "\n"
      R"({"type":"TOOL_CALL_END","toolCallId":"c"})"
      "\n"
      R"({"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c","content":"done"})"
      "\n"
      R"({"type":"TOOL_CALL_END","toolCallId":"a"})"
      "\n"
      R"({"type":"TOOL_CALL_END","toolCallId":"b"})"
      "\n");
}

TEST(PartTracker, WaitsForTheNameOfACall) {
  Bench bench(as_received());
  bench.parts.tool_open("k", "", "f");
  EXPECT_EQ(bench.text(), "");
  bench.parts.tool_open("k", "1", "");
  EXPECT_EQ(bench.text(), R"({"type":"TOOL_CALL_START","toolCallId":"1","toolCallName":"f"})"
                          "\n");
}

TEST(PartTracker, MakesAMissingCallIdAtTheFirstArguments) {
  Bench bench;
  bench.parts.tool_open("k", "", "f", "parent");
  bench.parts.tool_args("k", "{");
  EXPECT_EQ(bench.collector.lines.front(),
            R"({"type":"TOOL_CALL_START","toolCallId":"id-1","toolCallName":"f",)"
            R"("parentMessageId":"parent"})");
}

TEST(PartTracker, EndsTextAndReasoningBeforeACall) {
  Bench bench;
  bench.parts.text_delta("t", "a");
  bench.parts.reasoning_delta("r", "b");
  bench.parts.tool_open("k", "1", "f");
  EXPECT_TRUE(bench.collector.lines.back().starts_with(R"({"type":"TOOL_CALL_START")"));
  EXPECT_FALSE(bench.parts.is_open("t"));
  EXPECT_FALSE(bench.parts.is_open("r"));
}

TEST(PartTracker, StartsAThoughtThatHasOnlyAnOpaqueValue) {
  Bench bench;
  bench.parts.reasoning_open("r", "m");
  bench.parts.reasoning_encrypted("r", "opaque");
  bench.parts.reasoning_close("r");
  EXPECT_EQ(bench.text(),
            R"({"type":"REASONING_START","messageId":"m"})"
            "\n"
            R"({"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"})"
            "\n"
            R"({"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"m",)"
            R"("encryptedValue":"opaque"})"
            "\n"
            R"({"type":"REASONING_MESSAGE_END","messageId":"m"})"
            "\n"
            R"({"type":"REASONING_END","messageId":"m"})"
            "\n");
}

TEST(PartTracker, JoinsASplitSurrogatePair) {
  Bench bench;
  bench.parts.text_delta("t", "\xED\xA0\xBD");
  bench.parts.text_delta("t", "\xED\xB8\x80");
  EXPECT_EQ(
      bench.collector.lines.back(),
      "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"id-1\",\"delta\":\"\xF0\x9F\x98\x80\"}");
  Bench lone;
  lone.parts.text_delta("t", "\xED\xA0\xBD");
  lone.parts.text_close("t");
  EXPECT_EQ(lone.collector.lines.at(1),
            R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"id-1","delta":"\ud83d"})");
}

TEST(PartTracker, FailsOnceAndEndsWhatIsOpenFirst) {
  Bench bench;
  bench.parts.text_delta("t", "a");
  bench.parts.fail("code", "sentence");
  bench.parts.fail("other", "again");
  bench.parts.text_delta("t", "b");
  bench.parts.pass(event::Stage{"stage", {}});
  ASSERT_EQ(bench.collector.lines.size(), 4U);
  EXPECT_EQ(bench.collector.lines.at(2), R"({"type":"TEXT_MESSAGE_END","messageId":"id-1"})");
  EXPECT_EQ(bench.collector.lines.at(3),
            R"({"type":"RUN_ERROR","message":"sentence","code":"code"})");
  EXPECT_TRUE(bench.parts.failed());
}

TEST(PartTracker, AbandonsWhatIsOpen) {
  Bench strict;
  strict.parts.text_open("silent", "s");
  strict.parts.tool_open("k", "1", "f");
  strict.parts.tool_args("k", "{\"a");
  strict.parts.tool_open("waits", "2", "g");
  strict.parts.abandon_all();
  EXPECT_EQ(strict.collector.lines.size(), 3U) << strict.text();
  EXPECT_EQ(strict.collector.lines.back(), R"({"type":"TOOL_CALL_END","toolCallId":"1"})");
  EXPECT_FALSE(strict.parts.any_open());
  Bench dropped(as_received());
  dropped.parts.text_delta("t", "a");
  const std::string before = dropped.text();
  dropped.parts.abandon_all();
  EXPECT_EQ(dropped.text(), before) << "an end was invented";
  EXPECT_FALSE(dropped.parts.any_open());
}

TEST(PartTracker, InventsNoEndsInDropInMode) {
  Bench bench(as_received());
  bench.parts.text_open("t", "m");
  bench.parts.tool_open("k", "1", "f", "m");
  bench.parts.tool_result({"r", "1", "done"});
  bench.parts.fail("code", "sentence");
  EXPECT_EQ(bench.text(),
            R"({"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"})"
            "\n"
            R"({"type":"TOOL_CALL_START","toolCallId":"1","toolCallName":"f"})"
            "\n"
            R"({"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"1","content":"done"})"
            "\n"
            R"({"type":"RUN_ERROR","message":"sentence","code":"code"})"
            "\n");
}

TEST(PartTracker, LimitsTheArgumentsOfACall) {
  event::TrackerOptions options;
  options.tool_arguments_limit_bytes = 3;
  Bench bench(options);
  bench.parts.tool_open("k", "1", "f");
  bench.parts.tool_args("k", "123");
  EXPECT_FALSE(bench.parts.failed());
  bench.parts.tool_args("k", "4");
  EXPECT_NE(bench.collector.lines.back().find("tool_arguments_too_large"), std::string::npos);
  EXPECT_NE(bench.collector.lines.back().find("larger than 3 bytes"), std::string::npos);
}

TEST(PartTracker, LimitsThePartsOfAnAnswer) {
  event::TrackerOptions options;
  options.parts_limit = 3;
  Bench bench(options);
  for (const char* key : {"a", "b"}) {
    bench.parts.text_open(key, key);
    bench.parts.text_delta(key, "x");
    bench.parts.text_close(key);
  }
  bench.parts.pass(event::Body{event::ProviderState{"p", "k", "b", "1"}});
  EXPECT_FALSE(bench.parts.failed());
  bench.parts.text_open("c", "c");
  EXPECT_TRUE(bench.parts.failed());
  EXPECT_NE(bench.collector.lines.back().find("too_many_parts"), std::string::npos);
}

TEST(PartTracker, LimitsThePartsOfAnAnswerInStrictModeOnly) {
  event::TrackerOptions options = as_received();
  options.parts_limit = 3;
  Bench bench(options);
  for (int count = 0; count < 10; ++count) {
    bench.parts.text_open("a", "a");
    bench.parts.text_close("a");
  }
  EXPECT_FALSE(bench.parts.failed());
}

TEST(PartTracker, LimitsTheOpenParts) {
  for (const event::Mode mode : {event::Mode::strict, event::Mode::as_received}) {
    event::TrackerOptions options;
    options.mode = mode;
    options.open_parts_limit = 2;
    Bench bench(options);
    bench.parts.tool_open("a", "1", "f");
    bench.parts.tool_open("b", "2", "f");
    bench.parts.tool_args("b", "{}");
    EXPECT_FALSE(bench.parts.failed());
    bench.parts.tool_open("c", "3", "f");
    EXPECT_NE(bench.collector.lines.back().find("too_many_parts"), std::string::npos);
    EXPECT_EQ(bench.text().find(R"("toolCallId":"3")"), std::string::npos);
  }
}
