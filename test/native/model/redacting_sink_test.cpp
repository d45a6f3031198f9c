// What a reader sees of secrets that a provider repeats.
#include "model/call/redacting_sink.hpp"

#include <gtest/gtest.h>

#include "support/collect.hpp"

using namespace millrace;

TEST(RedactingSink, CleansFailuresAndLeavesAnswersAlone) {
  test::Collector collector;
  model::RedactingSink sink(collector, {"topsecret1"});
  sink.on_event({event::TextStart{"m"}});
  sink.on_event({event::TextDelta{"m", "topsecret1 and sk-0123456789"}});
  sink.on_event({event::TextEnd{"m"}});
  sink.on_event({event::Failed{"no topsecret1 and no sk-0123456789 here", "x"}});
  const std::string text = collector.text(false);
  EXPECT_NE(text.find("\"delta\":\"topsecret1 and sk-0123456789\""), std::string::npos) << text;
  EXPECT_NE(text.find("no [redacted] and no sk-[redacted] here"), std::string::npos) << text;
}

TEST(RedactingSink, CleansBeforeItCuts) {
  const std::string key = "my-own-secret-key-0123456789";
  for (std::size_t before = 4070; before < 4096; ++before) {
    test::Collector collector;
    model::RedactingSink sink(collector, {key});
    const std::string message = std::string(before, ' ') + key;
    sink.on_event({event::Failed{message, "x"}});
    EXPECT_EQ(collector.text(false).find("my-own"), std::string::npos) << before;
  }
}
