// What user code changes in a ModelCall.
#include "model/call/call.hpp"

#include "build.hpp"
#include "call_rig.hpp"
#include "model/auth/aws_sigv4.hpp"

namespace millrace::model {
namespace {

using rig::CallRig;
using rig::chain;
using rig::link;
using namespace std::chrono_literals;

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
    ASSERT_EQ(rig.host.requested.size(), 1U);
    rig.elapsed = 5s;
    rig.timer();
    EXPECT_FALSE(rig.call.ended()) << total.count();
    rig.call.complete(rig.host.requested[0].id, "", rig.now());
    EXPECT_EQ(rig.host.sent.size(), 1U);
  }
}

TEST(ModelCall, LetsUserCodeChangeTheBody) {
  CallOptions options = chain({link()});
  options.hooks.payload = true;
  CallRig rig(std::move(options));
  rig.start();
  ASSERT_EQ(rig.host.requested.size(), 1U);
  EXPECT_TRUE(rig.host.sent.empty());
  rig.call.complete(99, R"({"wrong":1})", rig.now());
  EXPECT_TRUE(rig.host.sent.empty());
  rig.call.complete(rig.host.requested[0].id, R"({"model":"other"})", rig.now());
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
  ASSERT_EQ(rig.host.requested.size(), 1U);
  rig.call.complete(rig.host.requested[0].id, R"({"changed":true})", rig.now());
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
  rig.reject(418, R"({"error":{"message":"teapot"}})");
  ASSERT_EQ(rig.host.requested.size(), 1U);
  EXPECT_TRUE(rig.host.waits.empty());
  rig.call.complete(rig.host.requested[0].id, R"({"code":"rate_limited","message":"later"})",
                    rig.now());
  EXPECT_EQ(rig.host.waits.size(), 1U);
}

TEST(ModelCall, TellsUserCodeOfEachFurtherAttemptAndWaitsAsItSays) {
  CallOptions options = chain({link("openai", "a", 1), link("groq", "b", 0)});
  options.hooks.retry = true;
  CallRig rig(std::move(options));
  rig.start();
  rig.reject(503, R"({"error":{"message":"busy"}})");
  ASSERT_EQ(rig.host.requested.size(), 1U);
  EXPECT_EQ(rig.host.requested[0].hook, Hook::retry);
  EXPECT_TRUE(rig.host.requested[0].json.starts_with(
      R"({"provider":"openai","model":"a","attempt":1,"waitMs":250,"error":{"code":)"))
      << rig.host.requested[0].json;
  EXPECT_TRUE(rig.host.waits.empty());
  rig.call.complete(rig.host.requested[0].id, R"({"waitMs":7})", rig.now());
  ASSERT_EQ(rig.host.waits.size(), 1U);
  EXPECT_EQ(rig.host.waits[0], 7ms);
  rig.timer();
  rig.reject(503, R"({"error":{"message":"busy"}})");
  ASSERT_EQ(rig.host.requested.size(), 2U);
  EXPECT_NE(rig.host.requested[1].json.find(R"("waitMs":0,"fallback":"groq")"), std::string::npos)
      << rig.host.requested[1].json;
  EXPECT_EQ(rig.host.sent.size(), 2U);
  rig.call.complete(rig.host.requested[1].id, "", rig.now());
  EXPECT_EQ(rig.host.sent.size(), 3U);
  rig.reject(503, R"({"error":{"message":"busy"}})");
  EXPECT_TRUE(rig.call.ended());
  EXPECT_EQ(rig.host.requested.size(), 2U);
}

TEST(ModelCall, DoesNotWaitForUserCodeLongerThanForTheCall) {
  CallOptions options = chain({link("openai", "a", 1)});
  std::vector<CallLink> links{options.chain.front()};
  links.front().config.timeouts.total = 1000ms;
  options.chain = links;
  options.hooks.retry = true;
  CallRig rig(std::move(options));
  rig.start();
  rig.reject(503, R"({"error":{"message":"busy"}})");
  ASSERT_EQ(rig.host.requested.size(), 1U);
  ASSERT_FALSE(rig.host.waits.empty());
  rig.elapsed += 1000ms;
  rig.timer();
  ASSERT_TRUE(rig.call.ended());
  EXPECT_EQ(rig.call.error()->code, Errc::provider_overloaded);
  rig.call.complete(rig.host.requested[0].id, R"({"waitMs":0})", rig.now());
  EXPECT_EQ(rig.host.sent.size(), 1U);
}

TEST(ModelCall, NamesErrorsAsUserCodeDoes) {
  auto only = link("openai", "gpt-4o-mini", 0);
  only.config.error_names = {{"InvalidProviderAPIKey", "InvalidAcmeKey"}};
  CallRig named(only);
  named.start();
  named.reject(401, R"({"error":{"message":"bad key"}})");
  const std::string failure = named.call.failure_json();
  EXPECT_NE(failure.find(R"("errorType":"InvalidAcmeKey")"), std::string::npos) << failure;
  EXPECT_NE(failure.find(R"("provider":"openai")"), std::string::npos) << failure;
  EXPECT_NE(failure.find(R"("code":"authentication_failed")"), std::string::npos) << failure;

  CallOptions options;
  options.chain = std::vector<CallLink>{only};
  options.hooks.error = true;
  CallRig hooked(std::move(options));
  hooked.start();
  hooked.reject(401, R"({"error":{"message":"bad key"}})");
  hooked.call.complete(hooked.host.requested.back().id, R"({"errorType":"Mine","message":"m"})",
                       hooked.now());
  EXPECT_NE(hooked.call.failure_json().find(R"("errorType":"Mine")"), std::string::npos);
  EXPECT_TRUE(hooked.log.has(R"("errorType":"Mine")"));
}

TEST(ModelCall, ForgetsTheNameOfAnErrorThatItRetries) {
  const auto failed_once = [](CallRig& rig) {
    rig.start();
    rig.reject(503, R"({"error":{"message":"busy"}})");
    rig.call.complete(rig.host.requested.back().id, R"({"errorType":"Mine"})", rig.now());
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
  ASSERT_EQ(rig.host.requested.size(), 1U);
  EXPECT_FALSE(rig.log.has("one"));
  rig.text("two");
  rig.finish();
  EXPECT_FALSE(rig.call.ended());
  std::string changed = rig.host.requested[0].json;
  changed.replace(changed.find("one"), 3, "ONE");
  rig.call.complete(rig.host.requested[0].id, changed, rig.now());
  ASSERT_EQ(rig.host.requested.size(), 2U);
  rig.call.complete(rig.host.requested[1].id, "", rig.now());
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
  rig.call.complete(rig.host.requested.back().id, "", rig.now());
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
  payload.call.complete(payload.host.requested[0].id, "{}", payload.now());
  EXPECT_TRUE(payload.host.sent.empty());

  options.hooks = {};
  options.hooks.error = true;
  CallRig failed(options);
  failed.start();
  failed.elapsed += 600ms;
  failed.reject(401, R"({"error":{"message":"bad key"}})");
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

}  // namespace
}  // namespace millrace::model
