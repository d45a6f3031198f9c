// ModelCall as a pure state machine: no socket, no clock, no chance.
#include "model/call/call.hpp"

#include "build.hpp"
#include "call_rig.hpp"
#include "model/auth/aws_sigv4.hpp"

namespace millrace::model {
namespace {

using rig::CallRig;
using rig::link;
using namespace std::chrono_literals;

CallOptions chain(std::vector<CallLink> links) {
  CallOptions options;
  options.chain = std::move(links);
  return options;
}

TEST(ModelCall, StreamsAnAnswerAndBooksItsTokens) {
  CallRig rig(link());
  rig.start();
  ASSERT_EQ(rig.host.sent.size(), 1U);
  EXPECT_EQ(rig.host.sent[0].url, "https://api.openai.com/v1/chat/completions");
  rig.head(200);
  EXPECT_EQ(rig.host.opens, 1);
  rig.elapsed = 40ms;
  rig.text("Hel");
  rig.text("lo");
  rig.elapsed = 90ms;
  rig.finish();
  EXPECT_TRUE(rig.call.ended());
  EXPECT_FALSE(rig.call.error());
  EXPECT_EQ(rig.call.finish_reason(), "stop");
  ASSERT_EQ(rig.call.attempts().size(), 1U);
  const Attempt& attempt = rig.call.attempts()[0];
  EXPECT_EQ(attempt.status, 200);
  EXPECT_EQ(attempt.first_token, 40ms);
  EXPECT_EQ(attempt.duration, 90ms);
  EXPECT_EQ(attempt.usage->source, UsageSource::reported);
  EXPECT_EQ(attempt.usage->input_tokens, 5);
  EXPECT_EQ(attempt.usage->output_tokens, 7);
  EXPECT_TRUE(rig.log.has("Hel"));
  EXPECT_FALSE(rig.log.has("RUN_ERROR"));
}

// Other streams wait for nothing that another thread can do.
TEST(ModelCall, BuildsTheBodyOfALongConversationAside) {
  const std::string content(300'000, 'x');
  CallRig rig(link(), content);
  rig.host.has_threads = true;
  rig.start();
  ASSERT_EQ(rig.host.works.size(), 1U);
  EXPECT_TRUE(rig.host.sent.empty());
  rig.host.works[0]();
  EXPECT_TRUE(rig.host.sent.empty());
  rig.built(0);
  rig.built(0);
  ASSERT_EQ(rig.host.sent.size(), 1U);
  EXPECT_NE(rig.host.sent[0].body.find(content), std::string::npos);
  rig.refuse(503, "{}");
  rig.timer();
  EXPECT_EQ(rig.host.works.size(), 2U);
}

TEST(ModelCall, BuildsAShortBodyOrOneWithoutThreadsItself) {
  CallRig brief(link());
  brief.host.has_threads = true;
  brief.start();
  EXPECT_EQ(brief.host.sent.size(), 1U);
  CallRig alone(link(), std::string(300'000, 'x'));
  alone.start();
  EXPECT_EQ(alone.host.sent.size(), 1U);
}

TEST(ModelCall, MayBeStoppedWhileItsBodyIsBuilt) {
  std::function<void()> work;
  {
    CallRig rig(link(), std::string(300'000, 'x'));
    rig.host.has_threads = true;
    rig.start();
    ASSERT_EQ(rig.host.works.size(), 1U);
    work = rig.host.works[0];
    rig.call.stop(rig.now());
    rig.built(0);
    EXPECT_TRUE(rig.call.ended());
    EXPECT_TRUE(rig.host.sent.empty());
  }
  work();
}

// Threads that are busy are as silent as a provider, but none of its failures.
TEST(ModelCall, WaitsForItsBodyAsLongAsForAnAnswer) {
  CallLink only = link();
  only.config.timeouts.first_byte = 5s;
  only.config.timeouts.total = 20s;
  only.config.circuit.failures = 1;
  CallRig rig(only, std::string(300'000, 'x'));
  rig.host.has_threads = true;
  rig.start();
  ASSERT_EQ(rig.host.waits.back(), 5s);
  rig.elapsed = 4s;
  rig.timer();
  EXPECT_EQ(rig.host.waits.back(), 1s);
  rig.elapsed = 5s;
  rig.timer();
  EXPECT_TRUE(rig.log.has("first_byte_timeout")) << rig.log.all();
  rig.timer();
  ASSERT_EQ(rig.host.works.size(), 2U);
  // What was given up is of no more use.
  rig.host.works[0]();
  rig.built(0);
  EXPECT_TRUE(rig.host.sent.empty());
  rig.elapsed = 6s;
  rig.host.works[1]();
  rig.built(1);
  ASSERT_EQ(rig.host.sent.size(), 1U);
  EXPECT_EQ(rig.host.sent[0].timeouts.total, 14s);
  rig.timer();
  rig.built(0);
  EXPECT_EQ(rig.host.sent.size(), 1U);
}

TEST(ModelCall, EndsWithItsTimeWhileItsBodyIsBuilt) {
  CallLink only = link();
  only.config.timeouts.total = 3s;
  CallRig rig(only, std::string(300'000, 'x'));
  rig.host.has_threads = true;
  rig.start();
  ASSERT_EQ(rig.host.waits.back(), 3s);
  rig.elapsed = 3s;
  rig.timer();
  ASSERT_TRUE(rig.call.error());
  EXPECT_EQ(rig.call.error()->code, Errc::total_timeout);
  rig.host.works[0]();
  rig.built(0);
  EXPECT_TRUE(rig.host.sent.empty());
}

// The timer of a body that is done may still ring.
TEST(ModelCall, LeavesAHookOnlyWhenItsOwnTimeIsOver) {
  for (const std::chrono::milliseconds total : {0ms, 600'000ms}) {
    CallLink only = link();
    only.config.timeouts.first_byte = 5s;
    only.config.timeouts.total = total;
    CallOptions options = chain({only});
    options.hooks.payload = true;
    CallRig rig(std::move(options), std::string(300'000, 'x'));
    rig.host.has_threads = true;
    rig.start();
    rig.host.works[0]();
    rig.built(0);
    ASSERT_EQ(rig.host.asked.size(), 1U);
    rig.elapsed = 5s;
    rig.timer();
    EXPECT_FALSE(rig.call.ended()) << total.count();
    rig.call.complete(rig.host.asked[0].id, "", rig.now());
    EXPECT_EQ(rig.host.sent.size(), 1U);
  }
}

TEST(ModelCall, TellsThatABodyCouldNotBeBuilt) {
  CallRig rig(link(), std::string(300'000, 'x'));
  rig.host.has_threads = true;
  rig.start();
  rig.built(0);
  ASSERT_TRUE(rig.call.error());
  EXPECT_EQ(rig.call.error()->code, Errc::internal);
}

TEST(ModelCall, RetriesBeforeTheFirstTokenWithoutATrace) {
  CallRig rig(link());
  rig.start();
  rig.refuse(503, R"({"error":{"message":"overloaded"}})");
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
  const auto thought = [](CallRig& rig) {
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
  thought(rig);
  EXPECT_FALSE(rig.log.has("REASONING")) << rig.log.all();
  rig.data("data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n");
  ASSERT_FALSE(rig.call.ended());
  EXPECT_FALSE(rig.call.attempts().at(0).shown);
  rig.timer();
  thought(rig);
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
  rig.chance.value = 0;
  rig.start();
  rig.refuse(429, "{}", {{"Retry-After", "7"}});
  EXPECT_EQ(rig.host.waits.at(0), 7s);
  rig.timer();
  rig.refuse(429, "{}", {{"Retry-After", "86400"}});
  EXPECT_EQ(rig.host.waits.at(1), 60s);
}

TEST(ModelCall, GivesUpAfterItsRetries) {
  CallRig rig(link("openai", "m", 2));
  rig.start();
  for (int attempt = 0; attempt < 3; ++attempt) {
    rig.refuse(500, "{}");
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
    rig.refuse(status, R"({"error":{"message":"no"}})");
    EXPECT_TRUE(rig.call.ended()) << status;
    EXPECT_EQ(rig.host.sent.size(), 1U) << status;
    EXPECT_EQ(rig.host.opens, 0) << status;
  }
}

TEST(ModelCall, AsksTheFallbackBeforeTheFirstToken) {
  CallRig rig(chain({link("openai", "a", 0), link("anthropic", "b", 0)}));
  rig.start();
  rig.refuse(401, R"({"error":{"message":"bad key"}})");
  ASSERT_EQ(rig.host.sent.size(), 2U);
  EXPECT_NE(rig.host.sent[1].url.find("api.anthropic.com"), std::string::npos);
  EXPECT_FALSE(rig.log.has("millrace.reset"));
}

TEST(ModelCall, NamesTheFirstFailureWhereTheFallbackFails) {
  CallLink keyless = link("anthropic", "b", 0);
  keyless.config.api_keys.clear();
  CallRig rig(chain({link("openai", "a", 0), keyless}));
  rig.start();
  rig.refuse(503, R"({"error":{"message":"busy today"}})");
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
  stopped.refuse(503, "{}");
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
  rig.refuse(418, "{}", {{"X-Should-Retry", "true"}});
  ASSERT_EQ(rig.host.waits.size(), 1U);
  rig.timer();
  rig.refuse(418, "{}");
  EXPECT_TRUE(rig.call.ended());

  CallRig final_word(link());
  final_word.start();
  final_word.refuse(503, "{}", {{"x-should-retry", "false"}});
  EXPECT_TRUE(final_word.call.ended());

  CallOptions options = chain({link()});
  options.hooks.error = true;
  CallRig hooked(std::move(options));
  hooked.start();
  hooked.refuse(503, "{}", {{"x-should-retry", "false"}});
  hooked.call.complete(hooked.host.asked.back().id, R"({"code":"rate_limited"})", hooked.now());
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
  rig.refuse(503, "");
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

TEST(ModelCall, GoesWhereTheTokenSendsIt) {
  CallRig rig(link("githubcopilot", "gpt-4o"));
  rig.start();
  rig.head(200);
  rig.data(R"({"token":"t","expires_at":1700009999,"endpoints":{"api":"https://api.x"}})");
  rig.done();
  ASSERT_EQ(rig.host.sent.size(), 2U);
  EXPECT_EQ(rig.host.sent[1].url, "https://api.x/chat/completions");
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
  for (const bool told : {false, true}) {
    CallOptions options = chain({link()});
    options.retry.after_first_token = told;
    CallRig rig(std::move(options));
    rig.start();
    rig.head(200);
    rig.text("Half");
    rig.lost();
    EXPECT_EQ(rig.call.ended(), !told);
    EXPECT_EQ(rig.log.has("millrace.reset"), told);
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

TEST(ModelCall, ReadsAnErrorInsideAGoodAnswer) {
  CallRig rig(link("openai", "m", 1));
  rig.start();
  rig.head(200);
  rig.data(
      "data: {\"error\":{\"message\":\"Rate limit "
      "reached\",\"code\":\"rate_limit_exceeded\"}}\n\n");
  EXPECT_EQ(rig.host.abandoned, 1);
  EXPECT_EQ(rig.host.waits.size(), 1U);
  EXPECT_EQ(rig.call.attempts()[0].error->code, Errc::rate_limited);
}

TEST(ModelCall, StopsAndBooksWhatWasShown) {
  CallRig rig(link());
  rig.start();
  rig.head(200);
  rig.text("Half of an answer");
  rig.call.stop(rig.now());
  EXPECT_EQ(rig.host.abandoned, 1);
  EXPECT_EQ(rig.call.error()->code, Errc::cancelled);
  EXPECT_TRUE(rig.log.has("TEXT_MESSAGE_END"));
  EXPECT_EQ(rig.call.attempts()[0].usage->source, UsageSource::estimated);
  EXPECT_GT(*rig.call.attempts()[0].usage->output_tokens, 0);
  EXPECT_GT(*rig.call.attempts()[0].usage->input_tokens, 0);
  // What comes later changes nothing.
  rig.text("more");
  rig.lost();
  EXPECT_FALSE(rig.log.has("more"));
}

TEST(ModelCall, EndsACompleteAnswerWhoseConnectionStaysOpen) {
  CallRig rig(link());
  rig.start();
  rig.head(200);
  rig.text("Hello");
  EXPECT_TRUE(rig.host.waits.empty());
  rig.data("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
  EXPECT_EQ(rig.host.waits.at(0), 3s);
  rig.elapsed = 2s;
  rig.data(
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7,"
      "\"total_tokens\":12}}\n\n");
  rig.elapsed = 3s;
  rig.timer();
  EXPECT_FALSE(rig.call.ended());
  EXPECT_EQ(rig.host.waits.at(1), 2s);
  rig.elapsed = 5s;
  rig.timer();
  EXPECT_TRUE(rig.call.ended());
  EXPECT_FALSE(rig.call.error());
  EXPECT_EQ(rig.host.abandoned, 1);
  EXPECT_EQ(rig.call.attempts()[0].usage->output_tokens, 7);
}

TEST(ModelCall, WaitsOnlyShortlyBehindTheEndMark) {
  CallRig rig(link());
  rig.start();
  rig.head(200);
  rig.text("Hello");
  rig.data("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
  rig.elapsed = 1s;
  rig.data(
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7,"
      "\"total_tokens\":12}}\n\ndata: [DONE]\n\n");
  EXPECT_EQ(rig.host.waits.back(), 250ms);
  // A server that goes on with comments has no more to say.
  const std::size_t waits = rig.host.waits.size();
  rig.elapsed = 1200ms;
  rig.data(": still here\n\n");
  EXPECT_EQ(rig.host.waits.size(), waits);
  rig.elapsed = 1250ms;
  rig.timer();
  EXPECT_TRUE(rig.call.ended());
  EXPECT_FALSE(rig.call.error());
  EXPECT_EQ(rig.host.abandoned, 1);
  EXPECT_EQ(rig.call.attempts()[0].usage->output_tokens, 7);
}

TEST(ModelCall, StopsWhileItWaits) {
  CallRig rig(link());
  rig.start();
  rig.refuse(503, "{}");
  rig.call.stop(rig.now());
  EXPECT_TRUE(rig.call.ended());
  rig.timer();
  EXPECT_EQ(rig.host.sent.size(), 1U);
}

TEST(ModelCall, TreatsTheTokenLimitAsAnEndThatIsTold) {
  CallRig rig(link());
  rig.start();
  rig.head(200);
  rig.text("Half");
  rig.data("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n");
  rig.done();
  EXPECT_EQ(rig.call.error()->code, Errc::output_limit_reached);
  EXPECT_EQ(rig.call.finish_reason(), "length");
  EXPECT_EQ(rig.host.sent.size(), 1U);
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

// What reached the limit before its first word, too.
TEST(ModelCall, TellsTheReasonOfAnEmptyAnswer) {
  struct Row {
    std::string_view provider;
    std::string_view body;
    std::string_view reason;
  };
  for (const Row& row :
       {Row{"cohere", R"({"type":"message-end","delta":{"finish_reason":"MAX_TOKENS"}})",
            "MAX_TOKENS"},
        Row{"openai", R"({"choices":[{"index":0,"delta":{},"finish_reason":"length"}]})",
            "length"}}) {
    CallRig rig(chain({link(row.provider, "m"), link("openai", "b")}));
    rig.start();
    rig.head(200);
    rig.data("data: " + std::string(row.body) + "\n\n");
    rig.done();
    EXPECT_EQ(rig.call.error()->code, Errc::output_limit_reached);
    EXPECT_TRUE(rig.log.has("\"millrace.finish\"") &&
                rig.log.has("\"reason\":\"" + std::string(row.reason) + '"'))
        << rig.log.all();
    EXPECT_EQ(rig.host.sent.size(), 1U) << "somebody else was asked";
  }
}

TEST(ModelCall, NeverPaysTwiceForAnAnswerThatEndedByItself) {
  struct Row {
    std::string_view provider;
    std::string_view body;
    Errc code;
  };
  const Row rows[] = {
      {"google",
       R"({"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS","index":0}],)"
       R"("usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":1,"totalTokenCount":11}})",
       Errc::output_limit_reached},
      {"google", R"({"candidates":[{"finishReason":"RECITATION","index":0}]})",
       Errc::content_filtered},
      {"google", R"({"promptFeedback":{"blockReason":"BLOCKLIST"}})", Errc::content_filtered},
      {"google", R"({"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","index":0}]})",
       Errc::provider_error},
      {"cohere", R"({"type":"message-end","delta":{"finish_reason":"MAX_TOKENS"}})",
       Errc::output_limit_reached},
      {"openai", R"({"choices":[{"index":0,"delta":{},"finish_reason":"sensitive"}]})",
       Errc::content_filtered},
      {"openai", R"({"error":{"message":"no money","type":"insufficient_quota","code":null}})",
       Errc::insufficient_quota},
      {"openai",
       R"({"error":{"message":"Failed to call a function.","type":"invalid_request_error",)"
       R"("code":"tool_use_failed"}})",
       Errc::provider_bad_request},
  };
  for (const Row& row : rows) {
    CallRig rig(link(row.provider, "m"));
    rig.start();
    rig.head(200);
    rig.data("data: " + std::string(row.body) + "\n\n");
    rig.done();
    ASSERT_TRUE(rig.call.ended()) << row.body << " is asked for again";
    ASSERT_TRUE(rig.call.error()) << row.body;
    EXPECT_EQ(rig.call.error()->code, row.code) << row.body;
    EXPECT_EQ(rig.host.sent.size(), 1U) << row.body;
    EXPECT_TRUE(rig.log.has(R"("code":")" + std::string(row_of(row.code).code) + '"'))
        << rig.log.all();
  }
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

// Support desks ask for it, however the answer failed.
TEST(ModelCall, NamesTheRequestOfAnAnswerThatFailedInItsMiddle) {
  CallRig rig(link("openai", "m", 0));
  rig.start();
  rig.head(200, {{"X-Request-Id", "req_1"}});
  rig.text("Half");
  rig.data("data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"server_error\"}}\n\n");
  rig.done();
  ASSERT_TRUE(rig.call.error());
  EXPECT_EQ(rig.call.error()->request_id, "req_1");
  EXPECT_TRUE(rig.log.has(R"("requestId":"req_1")")) << rig.log.all();
  CallRig again(link("openai", "m", 1));
  again.start();
  again.head(200, {{"X-Request-Id", "req_1"}});
  again.lost();
  again.timer();
  again.lost(Errc::connect_failed);
  ASSERT_TRUE(again.call.error());
  EXPECT_EQ(again.call.error()->request_id, "");
}

// What no provider saw is no attempt.
TEST(ModelCall, BooksNoRequestThatWasStoppedBeforeItWentOut) {
  CallRig rig(link());
  rig.host.goes_out = false;
  rig.start();
  rig.call.stop(rig.now());
  EXPECT_TRUE(rig.call.ended());
  EXPECT_EQ(rig.call.error()->code, Errc::cancelled);
  EXPECT_TRUE(rig.call.attempts().empty());
}

// Its prompt may have been read and is paid for, whatever comes of it.
TEST(ModelCall, EstimatesARequestThatWasGivenUpBeforeItsHead) {
  CallRig stopped(link());
  stopped.start();
  stopped.call.stop(stopped.now());
  CallRig silent(link("openai", "m", 0));
  silent.start();
  silent.lost(Errc::first_byte_timeout);
  for (const CallRig* rig : {&stopped, &silent}) {
    ASSERT_EQ(rig->call.attempts().size(), 1U);
    const Attempt& attempt = rig->call.attempts()[0];
    EXPECT_TRUE(attempt.counts);
    EXPECT_EQ(attempt.status, 0);
    EXPECT_EQ(attempt.usage->source, UsageSource::estimated);
    EXPECT_GT(attempt.usage->input_tokens.value_or(0), 0);
    EXPECT_EQ(attempt.usage->output_tokens, 0);
    EXPECT_TRUE(rig->log.has("millrace.usage")) << rig->log.all();
  }
}

TEST(ModelCall, BooksNoTokensOfARequestThatReachedNobody) {
  CallRig rig(link("openai", "m", 1));
  rig.start();
  rig.lost(Errc::connect_failed);
  // Stopped while it waits for the next attempt.
  rig.call.stop(rig.now());
  ASSERT_EQ(rig.call.attempts().size(), 1U);
  EXPECT_FALSE(rig.call.attempts()[0].counts);
  EXPECT_FALSE(rig.log.has("millrace.usage")) << rig.log.all();
}

// The idle timeout sees bytes, and the refusal is known since its head.
TEST(ModelCall, DoesNotWaitForAnErrorThatDrips) {
  CallRig rig(link("openai", "m", 0));
  rig.start();
  rig.head(401);
  rig.data("{");
  rig.elapsed = 9s;
  rig.data("\"");
  EXPECT_FALSE(rig.call.ended());
  rig.elapsed = 10s;
  rig.data("m");
  ASSERT_TRUE(rig.call.ended());
  EXPECT_EQ(rig.call.error()->code, Errc::authentication_failed);
  EXPECT_EQ(rig.host.abandoned, 1);
}

TEST(ModelCall, TellsTheProvidersWordBesideItsOwnCode) {
  CallRig rig(link("openai", "m", 0));
  rig.start();
  rig.head(200);
  rig.text("Half");
  rig.data("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"error\"}]}\n\n");
  rig.done();
  EXPECT_TRUE(rig.log.has(R"("code":"provider_overloaded")")) << rig.log.all();
  EXPECT_TRUE(rig.log.has(R"("providerCode":"error")")) << rig.log.all();
}

TEST(ModelCall, CountsAsReportedWhatTheProviderReportedOfACutAnswer) {
  CallRig rig(link());
  rig.start();
  rig.head(200);
  rig.text("Half");
  rig.data(
      "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":7,"
      "\"total_tokens\":17}}\n\n");
  rig.done();
  const BookedUsage& usage = rig.call.attempts().back().usage;
  EXPECT_EQ(usage.source, UsageSource::reported);
  EXPECT_EQ(usage.total_tokens, 17);
}

TEST(ModelCall, TakesTheReasonToStopForTheEndOfAMessage) {
  CallRig rig(link("anthropic", "m", 0));
  rig.start();
  rig.head(200);
  rig.data(
      "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"content\":[],\"usage\":"
      "{\"input_tokens\":9,\"output_tokens\":1}}}\n\n"
      "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":"
      "{\"output_tokens\":3}}\n\n");
  rig.lost();
  EXPECT_FALSE(rig.call.error());
  EXPECT_EQ(rig.call.attempts().back().usage->source, UsageSource::reported);
}

TEST(ModelCall, EstimatesAnAnswerThatFailsBehindItsReasonToFinish) {
  CallRig rig(link("openai", "m", 0));
  rig.start();
  rig.head(200);
  rig.data(R"(data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}],)"
           R"("usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}})"
           "\n\ndata: {\"error\":{\"message\":\"Broken.\",\"code\":\"500\"}}\n\n");
  ASSERT_TRUE(rig.call.error());
  EXPECT_EQ(rig.call.attempts().back().usage->source, UsageSource::estimated);
}

TEST(ModelCall, EstimatesAnAnswerWhoseConnectionBroke) {
  CallRig rig(link("openai", "m", 0));
  rig.start();
  rig.head(200);
  rig.data(R"(data: {"choices":[{"index":0,"delta":{"content":"Half"}}],)"
           R"("usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}})"
           "\n\n");
  rig.lost();
  EXPECT_EQ(rig.call.attempts().back().usage->source, UsageSource::estimated);
}

TEST(ModelCall, NeverRepeatsAKey) {
  CallRig rig(link("openai", "m", 0));
  rig.start();
  rig.refuse(401, R"({"error":{"message":"Incorrect API key provided: )" + std::string(rig::key) +
                      R"("}})");
  EXPECT_EQ(rig.log.all().find("secret-of-the-test"), std::string::npos) << rig.log.all();
  EXPECT_EQ(rig.call.report_json().find("secret-of-the-test"), std::string::npos);
  EXPECT_EQ(rig.call.error()->detail.find("secret-of-the-test"), std::string::npos);
}

TEST(ModelCall, LetsUserCodeChangeTheBody) {
  CallOptions options = chain({link()});
  options.hooks.payload = true;
  CallRig rig(std::move(options));
  rig.start();
  ASSERT_EQ(rig.host.asked.size(), 1U);
  EXPECT_TRUE(rig.host.sent.empty());
  rig.call.complete(99, R"({"wrong":1})", rig.now());
  EXPECT_TRUE(rig.host.sent.empty());
  rig.call.complete(rig.host.asked[0].id, R"({"model":"other"})", rig.now());
  ASSERT_EQ(rig.host.sent.size(), 1U);
  EXPECT_EQ(rig.host.sent[0].body, R"({"model":"other"})");
}

TEST(ModelCall, SignsAChangedBodyAgain) {
  auto config = read_config(R"({"provider":"bedrock","accessKeyId":"AKID","secretAccessKey":"s",)"
                            R"("sessionToken":"t"})");
  ASSERT_TRUE(config.ok());
  CallOptions options = chain({{std::move(config).value(), "anthropic.claude"}});
  options.hooks.payload = true;
  CallRig rig(std::move(options));
  rig.start();
  ASSERT_EQ(rig.host.asked.size(), 1U);
  rig.call.complete(rig.host.asked[0].id, R"({"changed":true})", rig.now());
  ASSERT_EQ(rig.host.sent.size(), 1U);
  const net::Request& sent = rig.host.sent[0];
  net::Request unsigned_request = sent;
  std::erase_if(unsigned_request.headers, [](const net::Header& header) {
    return header.name == "Authorization" || header.name.starts_with("X-Amz-");
  });
  EXPECT_EQ(sent.headers.size() - unsigned_request.headers.size(), 3U);
  sign_aws(unsigned_request, {"AKID", "s", "t"}, {"us-east-1", "bedrock"}, rig.now().wall);
  EXPECT_EQ(test::header_of(sent, "Authorization"),
            test::header_of(unsigned_request, "Authorization"));
}

TEST(ModelCall, LetsUserCodeJudgeAnError) {
  CallOptions options = chain({link()});
  options.hooks.error = true;
  CallRig rig(std::move(options));
  rig.start();
  rig.refuse(418, R"({"error":{"message":"teapot"}})");
  ASSERT_EQ(rig.host.asked.size(), 1U);
  EXPECT_TRUE(rig.host.waits.empty());
  rig.call.complete(rig.host.asked[0].id, R"({"code":"rate_limited","message":"later"})",
                    rig.now());
  EXPECT_EQ(rig.host.waits.size(), 1U);
}

TEST(ModelCall, TellsUserCodeOfEachFurtherAttemptAndWaitsAsItSays) {
  CallOptions options = chain({link("openai", "a", 1), link("groq", "b", 0)});
  options.hooks.retry = true;
  CallRig rig(std::move(options));
  rig.start();
  rig.refuse(503, R"({"error":{"message":"busy"}})");
  ASSERT_EQ(rig.host.asked.size(), 1U);
  EXPECT_EQ(rig.host.asked[0].hook, Hook::retry);
  EXPECT_TRUE(rig.host.asked[0].json.starts_with(
      R"({"provider":"openai","model":"a","attempt":1,"waitMs":250,"error":{"code":)"))
      << rig.host.asked[0].json;
  EXPECT_TRUE(rig.host.waits.empty());
  rig.call.complete(rig.host.asked[0].id, R"({"waitMs":7})", rig.now());
  ASSERT_EQ(rig.host.waits.size(), 1U);
  EXPECT_EQ(rig.host.waits[0], 7ms);
  rig.timer();
  rig.refuse(503, R"({"error":{"message":"busy"}})");
  ASSERT_EQ(rig.host.asked.size(), 2U);
  EXPECT_NE(rig.host.asked[1].json.find(R"("waitMs":0,"fallback":"groq")"), std::string::npos)
      << rig.host.asked[1].json;
  EXPECT_EQ(rig.host.sent.size(), 2U);
  rig.call.complete(rig.host.asked[1].id, "", rig.now());
  EXPECT_EQ(rig.host.sent.size(), 3U);
  rig.refuse(503, R"({"error":{"message":"busy"}})");
  EXPECT_TRUE(rig.call.ended());
  EXPECT_EQ(rig.host.asked.size(), 2U);
}

TEST(ModelCall, DoesNotWaitForUserCodeLongerThanForTheCall) {
  CallOptions options = chain({link("openai", "a", 1)});
  std::vector<CallLink> links{options.chain.front()};
  links.front().config.timeouts.total = 1000ms;
  options.chain = links;
  options.hooks.retry = true;
  CallRig rig(std::move(options));
  rig.start();
  rig.refuse(503, R"({"error":{"message":"busy"}})");
  ASSERT_EQ(rig.host.asked.size(), 1U);
  ASSERT_FALSE(rig.host.waits.empty());
  rig.elapsed += 1000ms;
  rig.timer();
  ASSERT_TRUE(rig.call.ended());
  EXPECT_EQ(rig.call.error()->code, Errc::provider_overloaded);
  rig.call.complete(rig.host.asked[0].id, R"({"waitMs":0})", rig.now());
  EXPECT_EQ(rig.host.sent.size(), 1U);
}

TEST(ModelCall, NamesErrorsAsUserCodeDoes) {
  auto only = link("openai", "gpt-4o-mini", 0);
  only.config.error_names = {{"InvalidProviderAPIKey", "InvalidAcmeKey"}};
  CallRig named(only);
  named.start();
  named.refuse(401, R"({"error":{"message":"bad key"}})");
  const std::string failure = named.call.failure_json();
  EXPECT_NE(failure.find(R"("errorType":"InvalidAcmeKey")"), std::string::npos) << failure;
  EXPECT_NE(failure.find(R"("provider":"openai")"), std::string::npos) << failure;
  EXPECT_NE(failure.find(R"("code":"authentication_failed")"), std::string::npos) << failure;

  CallOptions options;
  options.chain = std::vector<CallLink>{only};
  options.hooks.error = true;
  CallRig hooked(std::move(options));
  hooked.start();
  hooked.refuse(401, R"({"error":{"message":"bad key"}})");
  hooked.call.complete(hooked.host.asked.back().id, R"({"errorType":"Mine","message":"m"})",
                       hooked.now());
  EXPECT_NE(hooked.call.failure_json().find(R"("errorType":"Mine")"), std::string::npos);
  EXPECT_TRUE(hooked.log.has(R"("errorType":"Mine")"));
}

TEST(ModelCall, ForgetsTheNameOfAnErrorThatItRetries) {
  const auto failed_once = [](CallRig& rig) {
    rig.start();
    rig.refuse(503, R"({"error":{"message":"busy"}})");
    rig.call.complete(rig.host.asked.back().id, R"({"errorType":"Mine"})", rig.now());
    ASSERT_EQ(rig.host.waits.size(), 1U);
  };
  CallOptions options = chain({link()});
  options.hooks.error = true;

  CallRig waiting(options);
  failed_once(waiting);
  waiting.call.stop(waiting.now());
  EXPECT_NE(waiting.call.failure_json().find(R"("code":"cancelled")"), std::string::npos);
  EXPECT_FALSE(waiting.log.has("Mine")) << waiting.log.all();
  EXPECT_EQ(waiting.call.failure_json().find("Mine"), std::string::npos);

  CallRig again(options);
  failed_once(again);
  again.timer();
  ASSERT_EQ(again.host.sent.size(), 2U);
  again.call.stop(again.now());
  EXPECT_FALSE(again.log.has("Mine")) << again.log.all();
}

TEST(ModelCall, LetsUserCodeChangeEventsInTheirOrder) {
  CallOptions options = chain({link()});
  options.hooks.events = true;
  CallRig rig(std::move(options));
  rig.start();
  rig.head(200);
  rig.text("one");
  ASSERT_EQ(rig.host.asked.size(), 1U);
  EXPECT_FALSE(rig.log.has("one"));
  rig.text("two");
  rig.finish();
  EXPECT_FALSE(rig.call.ended());
  std::string changed = rig.host.asked[0].json;
  changed.replace(changed.find("one"), 3, "ONE");
  rig.call.complete(rig.host.asked[0].id, changed, rig.now());
  ASSERT_EQ(rig.host.asked.size(), 2U);
  rig.call.complete(rig.host.asked[1].id, "", rig.now());
  EXPECT_TRUE(rig.call.ended());
  EXPECT_FALSE(rig.call.error());
  const std::string all = rig.log.all();
  EXPECT_LT(all.find("ONE"), all.find("two"));
  EXPECT_NE(all.find("two"), std::string::npos);
}

TEST(ModelCall, KeepsBackWhatUserCodeHasNotSeenWhenItIsStopped) {
  CallOptions options = chain({link()});
  options.hooks.events = true;
  CallRig rig(std::move(options));
  rig.start();
  rig.head(200);
  rig.text("one");
  rig.call.complete(rig.host.asked.back().id, "", rig.now());
  rig.text("two");
  rig.text("three");
  rig.call.stop(rig.now());
  EXPECT_TRUE(rig.call.ended());
  const std::string all = rig.log.all();
  EXPECT_NE(all.find("one"), std::string::npos) << all;
  EXPECT_NE(all.find("TEXT_MESSAGE_END"), std::string::npos) << all;
  EXPECT_EQ(all.find("two"), std::string::npos) << all;
  EXPECT_EQ(all.find("three"), std::string::npos) << all;
}

TEST(ModelCall, GivesUserCodeTheTimeOfTheCall) {
  CallLink only = link();
  only.config.timeouts.total = 1s;
  CallOptions options = chain({only});
  options.hooks.payload = true;
  CallRig payload(options);
  payload.start();
  ASSERT_EQ(payload.host.waits.size(), 1U);
  EXPECT_EQ(payload.host.waits[0], 1s);
  payload.elapsed += 1s;
  payload.timer();
  ASSERT_TRUE(payload.call.ended());
  EXPECT_EQ(payload.call.error()->code, Errc::total_timeout);
  payload.call.complete(payload.host.asked[0].id, "{}", payload.now());
  EXPECT_TRUE(payload.host.sent.empty());

  options.hooks = {};
  options.hooks.error = true;
  CallRig failed(options);
  failed.start();
  failed.elapsed += 600ms;
  failed.refuse(401, R"({"error":{"message":"bad key"}})");
  EXPECT_EQ(failed.host.waits.back(), 400ms);
  failed.elapsed += 400ms;
  failed.timer();
  ASSERT_TRUE(failed.call.ended());
  EXPECT_EQ(failed.call.error()->code, Errc::authentication_failed);

  options.hooks = {};
  options.hooks.events = true;
  CallRig events(options);
  events.start();
  events.head(200);
  events.text("one");
  events.finish();
  EXPECT_FALSE(events.call.ended());
  events.elapsed += 1s;
  events.timer();
  ASSERT_TRUE(events.call.ended());
  EXPECT_EQ(events.call.error()->code, Errc::total_timeout);
  EXPECT_EQ(events.log.all().find("one"), std::string::npos);
}

TEST(ModelCall, TakesEarlierAttemptsFromTheTimeOfTheCall) {
  CallLink only = link();
  only.config.timeouts.total = 60s;
  CallRig rig(only);
  rig.start();
  EXPECT_EQ(rig.host.sent[0].timeouts.total, 60s);
  rig.elapsed += 50s;
  rig.refuse(503, "{}", {{"Retry-After", "5"}});
  rig.elapsed += 5s;
  rig.timer();
  ASSERT_EQ(rig.host.sent.size(), 2U);
  EXPECT_EQ(rig.host.sent[1].timeouts.total, 5s);
  rig.refuse(503, "{}", {{"Retry-After", "5"}});
  EXPECT_TRUE(rig.call.ended());
}

TEST(ModelCall, TellsMissingCredentialsAsTheProvidersUsersKnowThem) {
  for (const auto& [provider, type] : {std::pair{"bedrock", "InvalidBedrockCredentials"},
                                       std::pair{"vertexai", "InvalidVertexCredentials"},
                                       std::pair{"groq", "InvalidProviderAPIKey"}}) {
    auto without = read_config(R"({"provider":")" + std::string(provider) + R"(","project":"p"})");
    ASSERT_TRUE(without.ok());
    CallRig rig(CallLink{std::move(without).value(), "m"});
    rig.start();
    ASSERT_TRUE(rig.call.error().has_value());
    EXPECT_EQ(rig.call.error()->type_name(), type);
  }
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
