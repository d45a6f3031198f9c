// ModelCall as a pure state machine: no socket, no clock, no chance.
#include "model/call/call.hpp"

#include "build.hpp"
#include "call_rig.hpp"

namespace millrace::model {
namespace {

using rig::CallRig;
using rig::link;
using namespace std::chrono_literals;

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
  rig.reject(503, "{}");
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

TEST(ModelCall, TellsThatABodyCouldNotBeBuilt) {
  CallRig rig(link(), std::string(300'000, 'x'));
  rig.host.has_threads = true;
  rig.start();
  rig.built(0);
  ASSERT_TRUE(rig.call.error());
  EXPECT_EQ(rig.call.error()->code, Errc::internal);
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

TEST(ModelCall, NeverRepeatsAKey) {
  CallRig rig(link("openai", "m", 0));
  rig.start();
  rig.reject(401, R"({"error":{"message":"Incorrect API key provided: )" + std::string(rig::key) +
                      R"("}})");
  EXPECT_EQ(rig.log.all().find("secret-of-the-test"), std::string::npos) << rig.log.all();
  EXPECT_EQ(rig.call.report_json().find("secret-of-the-test"), std::string::npos);
  EXPECT_EQ(rig.call.error()->detail.find("secret-of-the-test"), std::string::npos);
}

TEST(ModelCall, TakesEarlierAttemptsFromTheTimeOfTheCall) {
  CallLink only = link();
  only.config.timeouts.total = 60s;
  CallRig rig(only);
  rig.start();
  EXPECT_EQ(rig.host.sent[0].timeouts.total, 60s);
  rig.elapsed += 50s;
  rig.reject(503, "{}", {{"Retry-After", "5"}});
  rig.elapsed += 5s;
  rig.timer();
  ASSERT_EQ(rig.host.sent.size(), 2U);
  EXPECT_EQ(rig.host.sent[1].timeouts.total, 5s);
  rig.reject(503, "{}", {{"Retry-After", "5"}});
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

}  // namespace
}  // namespace millrace::model
