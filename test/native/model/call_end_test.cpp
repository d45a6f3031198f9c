// How an answer of ModelCall ends, and what is counted of it.
#include "model/call/call.hpp"

#include "build.hpp"
#include "call_rig.hpp"
#include "model/call/call_usage.hpp"

namespace millrace::model {
namespace {

using rig::CallRig;
using rig::chain;
using rig::link;
using namespace std::chrono_literals;

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

TEST(ModelCall, EndsACompleteAnswerWhoseServerGoesOnWithComments) {
  CallRig rig(link());
  rig.start();
  rig.head(200);
  rig.text("Hello");
  rig.data("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
  for (int second = 1; second < 3; ++second) {
    rig.elapsed = std::chrono::seconds(second);
    rig.data(": still here\n\n");
  }
  rig.elapsed = 3s;
  rig.timer();
  EXPECT_TRUE(rig.call.ended());
  EXPECT_FALSE(rig.call.error());
  EXPECT_EQ(rig.host.abandoned, 1);
}

TEST(ModelCall, EndsACompleteAnswerWhoseServerGoesOnWithPings) {
  CallRig rig(link("anthropic", "claude-sonnet-4-5"));
  rig.start();
  rig.head(200);
  rig.data("data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n");
  rig.data("data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n");
  rig.elapsed = 2s;
  rig.data("data: {\"type\":\"ping\"}\n\n");
  rig.elapsed = 3s;
  rig.timer();
  EXPECT_TRUE(rig.call.ended());
  EXPECT_EQ(rig.host.abandoned, 1);
}

TEST(ModelCall, StopsWhileItWaits) {
  CallRig rig(link());
  rig.start();
  rig.reject(503, "{}");
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
  const RecordedUsage& usage = rig.call.attempts().back().usage;
  EXPECT_EQ(usage.source, UsageSource::reported);
  EXPECT_EQ(usage.total_tokens, 17);
}

// Also of a server whose quirk the user set.
TEST(ModelCall, CountsReasoningAsItsServerDoes) {
  for (const bool is_beside : {true, false}) {
    CallLink own = link();
    own.config.quirks.set(Quirk::reasoning_beside, is_beside);
    CallRig rig(std::move(own));
    rig.start();
    rig.head(200);
    rig.text("Whole");
    rig.data(
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":20,"
        "\"completion_tokens_details\":{\"reasoning_tokens\":5}}}\n\ndata: [DONE]\n\n");
    rig.done();
    const ModelUsage usage = model_usage(rig.call.attempts().back());
    EXPECT_EQ(usage[Tokens::total_output], is_beside ? 25 : 20);
    EXPECT_EQ(usage[Tokens::output_reasoning], 5);
  }
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

TEST(ModelCall, ReadsTheWrittenCallsOfSeedModelsThatHaveTools) {
  constexpr std::string_view tools =
      R"([{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}])";
  const auto events_of = [](std::string model, std::string_view with) {
    std::vector<CallLink> links{link("volcengine", std::move(model), 0)};
    CallRig rig(CallOptions{std::move(links), {}, {}, {}, {}}, "Look.", std::nullopt, with);
    rig.start();
    rig.head(200);
    rig.data(R"(data: {"choices":[{"index":0,"delta":{"content":"seed:tool_call<function )"
             R"(name=\"look\"><parameter name=\"at\" string=\"true\">7</parameter></function>)"
             R"(</seed:tool_call>"},"finish_reason":"stop"}]})"
             "\n\n");
    rig.done();
    return rig.log.all();
  };
  const std::string called = events_of("Doubao-Seed-2.0-pro", tools);
  EXPECT_NE(called.find(R"("toolCallName":"look")"), std::string::npos) << called;
  EXPECT_EQ(called.find("TEXT_MESSAGE_CONTENT"), std::string::npos) << called;
  for (const std::string& text :
       {events_of("doubao-pro-32k", tools), events_of("doubao-seed-2.0-pro", "[]")}) {
    EXPECT_EQ(text.find("TOOL_CALL_START"), std::string::npos) << text;
    EXPECT_NE(text.find("</seed:tool_call>"), std::string::npos) << text;
  }
}

// Source: a recorded answer in tests of lobehub/lobehub (2026).
constexpr std::string_view silent_counts =
    R"("usageMetadata":{"promptTokenCount":266,"totalTokenCount":266,"promptTokensDetails":[)"
    R"({"modality":"TEXT","tokenCount":8},{"modality":"IMAGE","tokenCount":258}]}})";

TEST(ModelCall, TakesATotalOfTheInputAloneForAnAnswerWithoutTokens) {
  CallRig rig(link("google", "gemini-2.5-flash", 0));
  rig.start();
  rig.head(200);
  rig.data(std::string(R"(data: {"candidates":[{"content":{"role":"model"},)")
               .append(R"("finishReason":"STOP","index":0}],)")
               .append(silent_counts)
               .append("\n\n"));
  rig.done();
  const Attempt& attempt = rig.call.attempts().back();
  EXPECT_EQ(attempt.usage->source, UsageSource::reported);
  EXPECT_EQ(attempt.usage->output_tokens, 0);
  EXPECT_EQ(attempt.usage->total_tokens, 266);
  const ModelUsage usage = model_usage(attempt);
  EXPECT_EQ(usage[Tokens::input_text], 8);
  EXPECT_EQ(usage[Tokens::input_image], 258);
}

TEST(ModelCall, KeepsWhatWasReportedOfTheInputBesideAnEstimate) {
  CallRig rig(link("google", "gemini-2.5-flash", 0));
  rig.start();
  rig.head(200);
  rig.data(std::string(R"(data: {"candidates":[{"content":{"parts":[{"text":"A few words."}]},)")
               .append(R"("finishReason":"STOP","index":0}],)")
               .append(silent_counts)
               .append("\n\n"));
  rig.done();
  const Attempt& attempt = rig.call.attempts().back();
  EXPECT_EQ(attempt.usage->source, UsageSource::estimated);
  EXPECT_FALSE(attempt.usage->view("google", "m").json.empty());
  const ModelUsage usage = model_usage(attempt);
  EXPECT_EQ(usage.source, UsageSource::estimated);
  EXPECT_EQ(usage[Tokens::input_text], 8);
  EXPECT_EQ(usage[Tokens::input_image], 258);
  EXPECT_GT(usage[Tokens::output_text], 0);
  EXPECT_EQ(usage[Tokens::total], 266 + *usage[Tokens::output_text]);
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

}  // namespace
}  // namespace millrace::model
