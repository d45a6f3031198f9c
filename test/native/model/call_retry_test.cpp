// Retries, fallbacks and circuits of ModelCall.
#include "model/call/call.hpp"

#include "build.hpp"
#include "call_rig.hpp"

namespace millrace::model {
namespace {

using rig::CallRig;
using rig::chain;
using rig::link;
using namespace std::chrono_literals;

TEST(ModelCall, RetriesBeforeTheFirstTokenWithoutATrace) {
  CallRig rig(link());
  rig.start();
  rig.reject(503, R"({"error":{"message":"overloaded"}})");
  ASSERT_EQ(rig.host.waits.size(), 1U);
  EXPECT_EQ(rig.host.waits[0], 250ms);  // half of the first wait
  EXPECT_FALSE(rig.call.ended());
  rig.timer();
  ASSERT_EQ(rig.host.sent.size(), 2U);
  rig.head(200);
  rig.text("Hello");
  rig.finish();
  EXPECT_FALSE(rig.call.error());
  EXPECT_FALSE(rig.log.has("millrace.reset"));
  EXPECT_TRUE(rig.log.has("millrace.retry"));
  ASSERT_EQ(rig.call.attempts().size(), 2U);
  EXPECT_EQ(rig.call.attempts()[0].error->code, Errc::provider_overloaded);
  EXPECT_EQ(rig.call.attempts()[1].waited, 250ms);
}

// OpenAI's reasoning models and Claude give values that nobody can read before their first words.
TEST(ModelCall, RetriesAfterAThoughtWithoutAWord) {
  const auto reasoning_part = [](CallRig& rig) {
    rig.head(200);
    rig.data(
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"a\",\"role\":\"assistant\","
        "\"content\":[],\"model\":\"m\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n"
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":"
        "{\"type\":\"redacted_thinking\",\"data\":\"c2VjcmV0\"}}\n\n"
        "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n");
  };
  CallRig rig(link("anthropic"));
  rig.start();
  reasoning_part(rig);
  EXPECT_FALSE(rig.log.has("REASONING")) << rig.log.all();
  rig.data("data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n");
  ASSERT_FALSE(rig.call.ended());
  EXPECT_FALSE(rig.call.attempts().at(0).shown);
  rig.timer();
  reasoning_part(rig);
  rig.data(
      "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":"
      "{\"type\":\"text\",\"text\":\"\"}}\n\n"
      "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":"
      "{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n");
  EXPECT_FALSE(rig.log.has("millrace.reset"));
  const std::string all = rig.log.all();
  std::size_t at = 0;
  for (const char* part : {"REASONING_START", "c2VjcmV0", "REASONING_END", "Hello"}) {
    at = all.find(part, at);
    ASSERT_NE(at, std::string::npos) << part << '\n' << all;
  }
  EXPECT_EQ(all.find("c2VjcmV0"), all.rfind("c2VjcmV0"));
}

TEST(ModelCall, WaitsAsLongAsTheProviderSays) {
  CallRig rig(link());
  rig.random_source.value = 0;
  rig.start();
  rig.reject(429, "{}", {{"Retry-After", "7"}});
  EXPECT_EQ(rig.host.waits.at(0), 7s);
  rig.timer();
  rig.reject(429, "{}", {{"Retry-After", "86400"}});
  EXPECT_EQ(rig.host.waits.at(1), 60s);
}

TEST(ModelCall, GivesUpAfterItsRetries) {
  CallRig rig(link("openai", "m", 2));
  rig.start();
  for (int attempt = 0; attempt < 3; ++attempt) {
    rig.reject(500, "{}");
    rig.timer();
  }
  EXPECT_TRUE(rig.call.ended());
  EXPECT_EQ(rig.host.sent.size(), 3U);
  EXPECT_EQ(rig.call.error()->code, Errc::provider_error);
  EXPECT_TRUE(rig.log.has("RUN_ERROR"));
}

TEST(ModelCall, NeverSendsAFatalRequestTwice) {
  for (const int status : {400, 401, 403, 404, 413, 422}) {
    CallRig rig(link());
    rig.start();
    rig.reject(status, R"({"error":{"message":"no"}})");
    EXPECT_TRUE(rig.call.ended()) << status;
    EXPECT_EQ(rig.host.sent.size(), 1U) << status;
    EXPECT_EQ(rig.host.opens, 0) << status;
  }
}

TEST(ModelCall, AsksTheFallbackBeforeTheFirstToken) {
  CallRig rig(chain({link("openai", "a", 0), link("anthropic", "b", 0)}));
  rig.start();
  rig.reject(401, R"({"error":{"message":"bad key"}})");
  ASSERT_EQ(rig.host.sent.size(), 2U);
  EXPECT_NE(rig.host.sent[1].url.find("api.anthropic.com"), std::string::npos);
  EXPECT_FALSE(rig.log.has("millrace.reset"));
}

TEST(ModelCall, NamesTheFirstFailureWhereTheFallbackFails) {
  CallLink keyless = link("anthropic", "b", 0);
  keyless.config.api_keys.clear();
  CallRig rig(chain({link("openai", "a", 0), keyless}));
  rig.start();
  rig.reject(503, R"({"error":{"message":"busy today"}})");
  ASSERT_TRUE(rig.call.ended());
  EXPECT_EQ(rig.host.sent.size(), 1U);
  EXPECT_EQ(rig.call.error()->code, Errc::missing_api_key);
  EXPECT_NE(rig.call.error()->message.find("openai failed with provider_overloaded: "),
            std::string::npos)
      << rig.call.error()->message;
  EXPECT_NE(rig.call.error()->message.find("busy today"), std::string::npos);
  EXPECT_NE(rig.call.failure_json().find(R"("cause":{"code":"provider_overloaded",)"),
            std::string::npos)
      << rig.call.failure_json();
  EXPECT_NE(rig.log.all().find(R"("cause":{"code":"provider_overloaded",)"), std::string::npos);

  CallRig stopped(chain({link("openai", "a", 0), link("openai", "b", 0)}));
  stopped.start();
  stopped.reject(503, "{}");
  stopped.call.stop(stopped.now());
  EXPECT_EQ(stopped.call.failure_json().find("cause"), std::string::npos);
}

TEST(ModelCall, TakesAnAbandonedAnswerBackForTheFallback) {
  CallRig rig(chain({link("openai", "a", 0), link("openai", "b", 0)}));
  rig.start();
  rig.head(200);
  rig.text("Half");
  rig.lost();
  ASSERT_EQ(rig.host.sent.size(), 2U);
  const std::string so_far = rig.log.all();
  const std::size_t end = so_far.find("TEXT_MESSAGE_END");
  const std::size_t reset = so_far.find("millrace.reset");
  const std::size_t snapshot = so_far.find("MESSAGES_SNAPSHOT");
  ASSERT_NE(snapshot, std::string::npos) << so_far;
  EXPECT_LT(end, reset);
  EXPECT_LT(reset, snapshot);
  EXPECT_NE(so_far.find(R"("messageIds":["id-2"])"), std::string::npos) << so_far;
  EXPECT_EQ(so_far.find("Half", snapshot), std::string::npos);
  EXPECT_NE(so_far.find("Say hello.", snapshot), std::string::npos);
  rig.head(200);
  rig.text("Whole");
  rig.finish();
  EXPECT_FALSE(rig.call.error());
  const std::string after = rig.log.all().substr(snapshot);
  EXPECT_EQ(after.find(R"("messageId":"id-2")"), std::string::npos) << after;
  EXPECT_NE(after.find("Whole"), std::string::npos);
  ASSERT_EQ(rig.call.attempts().size(), 2U);
  EXPECT_EQ(rig.call.attempts()[0].usage->source, UsageSource::estimated);
  EXPECT_GT(rig.call.attempts()[0].usage->output_tokens, 0);
}

// A refusal's own word counts for that attempt alone, and less than what user code makes of it.
TEST(ModelCall, AsksAgainWhereTheRefusalSaysSo) {
  CallRig rig(link());
  rig.start();
  rig.reject(418, "{}", {{"X-Should-Retry", "true"}});
  ASSERT_EQ(rig.host.waits.size(), 1U);
  rig.timer();
  rig.reject(418, "{}");
  EXPECT_TRUE(rig.call.ended());

  CallRig final_word(link());
  final_word.start();
  final_word.reject(503, "{}", {{"x-should-retry", "false"}});
  EXPECT_TRUE(final_word.call.ended());

  CallOptions options = chain({link()});
  options.hooks.error = true;
  CallRig hooked(std::move(options));
  hooked.start();
  hooked.reject(503, "{}", {{"x-should-retry", "false"}});
  hooked.call.complete(hooked.host.requested.back().id, R"({"code":"rate_limited"})", hooked.now());
  EXPECT_FALSE(hooked.call.ended());
}

TEST(ModelCall, TellsOfEachPartOnceThatAFallbackCannotTake) {
  constexpr std::string_view parts =
      R"([{"type":"text","text":"q"},{"type":"video_url","video_url":{"url":"https://a.b/c.mp4"}}])";
  CallRig rig(
      chain({link("qwen", "qwen-vl-max", 0), link("openai", "a", 0), link("openai", "b", 0)}),
      parts);
  rig.start();
  rig.head(200);
  rig.text("Half");
  EXPECT_FALSE(rig.log.has("millrace.warning")) << rig.log.all();
  rig.lost();
  rig.head(200);
  EXPECT_TRUE(rig.log.has("video left out")) << rig.log.all();
  rig.text("Half");
  rig.lost();
  const std::size_t lines = rig.log.lines.size();
  rig.head(200);
  rig.text("Whole");
  rig.finish();
  EXPECT_FALSE(rig.call.error());
  for (std::size_t i = lines; i < rig.log.lines.size(); ++i) {
    EXPECT_EQ(rig.log.lines[i].find("left out"), std::string::npos) << rig.log.lines[i];
  }
}

TEST(ModelCall, ShowsAnIdOfAnAbandonedAnswerNeverAgain) {
  CountingIds ids("fresh-");
  rig::EventLog log;
  const VoidIds void_ids{"m1"};
  const std::vector<Tool> no_tools;
  AttemptEvents events(log, ids, void_ids, no_tools, "openai", "m");
  events.on_event({event::TextStart{"m1"}});
  events.on_event({event::TextDelta{"m1", "again"}});
  events.on_event({event::ToolStart{"t1", "pay", "m1"}});
  EXPECT_FALSE(log.has("\"m1\"")) << log.all();
  EXPECT_EQ(events.message_ids(), std::vector<std::string>{"fresh-1"});
  EXPECT_TRUE(log.has(R"("parentMessageId":"fresh-1")"));
}

TEST(ModelCall, NamesTheIssuerBeforeTheState) {
  CallRig rig(chain({link("anthropic", "claude-sonnet-4-5", 0)}));
  rig.start();
  rig.head(200);
  for (const std::string_view event :
       {R"({"type":"message_start","message":{"id":"msg_1","role":"assistant"}})",
        R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking"}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta",)"
        R"("thinking":"Well"}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta",)"
        R"("signature":"sig-1"}})",
        R"({"type":"content_block_stop","index":0})"}) {
    rig.data("data: " + std::string(event) + "\n\n");
  }
  // Also of an answer that broke off.
  rig.lost();
  const std::string all = rig.log.all();
  const std::size_t issuer = all.find(R"("kind":"issuer","entityId":"id-2","state":"anthropic")");
  ASSERT_NE(issuer, std::string::npos) << all;
  EXPECT_LT(issuer, all.find("sig-1"));
}

TEST(ModelCall, NamesTheFallbackAsTheIssuerOfItsState) {
  CallRig rig(chain({link("openai", "gpt-5", 0), link("openrouter", "google/gemini-3-pro", 0)}));
  rig.start();
  rig.reject(503, "");
  rig.head(200);
  rig.data(R"(data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1",)"
           R"("type":"function","function":{"name":"t","arguments":"{}"},)"
           R"("extra_content":{"google":{"thought_signature":"ts-1"}}}]}}]})"
           "\n\n");
  rig.finish();
  EXPECT_TRUE(rig.log.has(R"("kind":"issuer","entityId":"c1","state":"openrouter")"))
      << rig.log.all();
  EXPECT_FALSE(rig.log.has(R"("state":"openai")"));
}

TEST(ModelCall, SkipsAProviderWhoseCircuitIsOpen) {
  CallRig rig(chain({link("openai", "a", 3), link("anthropic", "b", 0)}));
  const ProviderConfig openai = link("openai").config;
  for (int i = 0; i < 10; ++i) {
    rig.circuits.failed(openai, 0, make_error(Errc::connect_failed), rig.now().steady);
  }
  rig.start();
  ASSERT_EQ(rig.host.sent.size(), 1U);
  EXPECT_NE(rig.host.sent[0].url.find("api.anthropic.com"), std::string::npos);
  EXPECT_TRUE(rig.log.has("circuit_open"));
  EXPECT_TRUE(rig.host.waits.empty());
  ASSERT_EQ(rig.call.attempts().size(), 1U) << "a request that was not sent is no attempt";
  EXPECT_EQ(rig.call.attempts()[0].provider, "anthropic");
}

TEST(ModelCall, OpensTheCircuitItself) {
  CallRig rig(chain({link("openai", "a", 20)}));
  const ProviderConfig openai = link("openai").config;
  for (int i = 0; i < 9; ++i) {
    rig.circuits.failed(openai, 0, make_error(Errc::connect_failed), rig.now().steady);
  }
  rig.start();
  rig.lost(Errc::connect_failed);
  EXPECT_FALSE(rig.circuits.enter(openai, 0, rig.now().steady).ok());
  while (!rig.call.ended()) rig.timer();
  EXPECT_EQ(rig.host.sent.size(), 1U);
  EXPECT_EQ(rig.call.error()->code_name(), "circuit_open");
}

TEST(ModelCall, CountsOnceForItsCircuit) {
  CallRig rig(chain({link("openai", "a", 20)}));
  rig.start();
  while (!rig.call.ended()) {
    rig.lost(Errc::connect_failed);
    if (!rig.call.ended()) rig.timer();
  }
  EXPECT_EQ(rig.host.sent.size(), 21U);
  EXPECT_NE(rig.circuits.json(rig.now().steady).find(R"("failures":1,)"), std::string::npos);
}

TEST(ModelCall, RetriesFiveTimesAtMostWithAllItsFallbacks) {
  CallRig rig(chain({link("openai", "a", 3), link("anthropic", "b", 3), link("groq", "c", 3)}));
  rig.start();
  while (!rig.call.ended()) {
    ASSERT_LE(rig.host.sent.size(), 20U);
    const std::size_t waits = rig.host.waits.size();
    rig.lost(Errc::connect_failed);
    if (rig.host.waits.size() > waits) rig.timer();
  }
  EXPECT_EQ(rig.host.sent.size(), 3U + 5U) << "each link once, and five retries";
}

TEST(ModelCall, AsksTheSameModelAgainAfterAPartOnlyWhenTold) {
  for (const bool reported : {false, true}) {
    CallOptions options = chain({link()});
    options.retry.after_first_token = reported;
    CallRig rig(std::move(options));
    rig.start();
    rig.head(200);
    rig.text("Half");
    rig.lost();
    EXPECT_EQ(rig.call.ended(), !reported);
    EXPECT_EQ(rig.log.has("millrace.reset"), reported);
  }
}

TEST(ModelCall, NeverAsksAgainAfterAToolIntent) {
  CallOptions options = chain({link(), link("anthropic", "b")});
  options.retry.after_first_token = true;
  CallRig rig(std::move(options));
  rig.start();
  rig.head(200);
  rig.data(
      "data: "
      "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":"
      "\"t1\",\"function\":{\"name\":\"pay\",\"arguments\":\"{\"}}]}}]}\n\n");
  rig.lost();
  EXPECT_TRUE(rig.call.ended());
  EXPECT_EQ(rig.host.sent.size(), 1U);
  EXPECT_EQ(rig.call.error()->code, Errc::connection_lost);
  EXPECT_TRUE(rig.log.has("TOOL_CALL_END"));
}

// A gateway asked again in the middle of an answer.
TEST(ModelCall, TakesBackAnAnswerThatItsProviderBeganAnew) {
  constexpr std::string_view begin =
      R"(data: {"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],)"
      R"("usage":{"input_tokens":5,"output_tokens":1}}})"
      "\n\n";
  const auto call = [](const std::string& arguments) {
    std::string text =
        R"(data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use",)"
        R"("id":"toolu_1","name":"f","input":{}}})"
        "\n\n";
    text.append(R"(data: {"type":"content_block_delta","index":0,"delta":)");
    return text.append(R"({"type":"input_json_delta","partial_json":")" + arguments + "\"}}\n\n");
  };
  CallRig rig(link("anthropic", "claude-sonnet-4-5"));
  rig.start();
  rig.head(200);
  rig.data(std::string(begin) + call("{"));
  rig.data(std::string(begin) + call("{}"));
  rig.data(
      "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},"
      "\"usage\":{\"output_tokens\":3}}\n\ndata: {\"type\":\"message_stop\"}\n\n");
  rig.done();
  ASSERT_FALSE(rig.call.error()) << rig.log.all();
  const std::string all = rig.log.all();
  const std::size_t reset = all.find("millrace.reset");
  const std::size_t thread = all.find("MESSAGES_SNAPSHOT");
  const std::size_t again = all.rfind("TOOL_CALL_START");
  EXPECT_LT(all.find("TOOL_CALL_START"), reset) << all;
  EXPECT_TRUE(reset < thread && thread < again && again != all.npos) << all;
  EXPECT_TRUE(rig.log.has(R"("messageIds":["msg_1"])")) << all;
  ASSERT_EQ(rig.call.attempts().size(), 1U);
  EXPECT_EQ(rig.call.attempts()[0].usage->input_tokens, 10) << "the first answer is paid for, too";
  EXPECT_EQ(rig.call.attempts()[0].usage->output_tokens, 4);
}

TEST(ModelCall, AsksAgainWhenTheProviderFailedInTheEnd) {
  CallRig rig(link());
  rig.start();
  rig.head(200);
  rig.data("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"error\"}]}\n\n");
  rig.done();
  EXPECT_FALSE(rig.call.ended());
  rig.timer();
  EXPECT_EQ(rig.host.sent.size(), 2U);
}

TEST(ModelCall, TriesTheNextProviderWhenAKeyIsMissing) {
  auto without = read_config(R"({"provider":"openai"})");
  ASSERT_TRUE(without.ok());
  CallRig rig(chain({{std::move(without).value(), "a"}, link("anthropic", "b")}));
  rig.start();
  ASSERT_EQ(rig.host.sent.size(), 1U);
  EXPECT_NE(rig.host.sent[0].url.find("anthropic"), std::string::npos);
}

}  // namespace
}  // namespace millrace::model
