// How many answers a call asked for, and what of them it reads.
#include "call_rig.hpp"

namespace millrace::model {
namespace {

std::string texts_read(std::optional<std::int64_t> requested_for,
                       std::string_view changed_body = {}) {
  CallOptions options;
  options.chain = std::vector<CallLink>{rig::link()};
  options.hooks.payload = !changed_body.empty();
  rig::CallRig rig(std::move(options), "Say hello.", requested_for);
  rig.start();
  if (!changed_body.empty())
    rig.call.complete(rig.host.requested.at(0).id, changed_body, rig.now());
  rig.head(200);
  rig.data(R"({"choices":[{"index":1,"message":{"content":"one "},"finish_reason":"stop"},)"
           R"({"index":0,"message":{"content":"two"},"finish_reason":"stop"}]})");
  rig.done();
  EXPECT_FALSE(rig.call.error());
  std::string texts;
  for (const std::string_view word : {"one ", "two"}) {
    if (rig.log.has(R"("delta":")" + std::string(word) + '"')) texts.append(word);
  }
  return texts;
}

TEST(CallChoices, AreReadByTheNumberOfAnswersThatWereAskedFor) {
  // The one beside it is an alternative.
  EXPECT_EQ(texts_read(std::nullopt), "one ");
  EXPECT_EQ(texts_read(1), "one ");
  EXPECT_EQ(texts_read(2), "two");
}

TEST(CallChoices, AreReadAsUserCodeAskedForThem) {
  EXPECT_EQ(texts_read(std::nullopt, R"({"model":"m","n":2})"), "two");
  EXPECT_EQ(texts_read(2, R"({"model":"m"})"), "one ");
  EXPECT_EQ(texts_read(std::nullopt, R"({"tools":[{"n":2}]})"), "one ");
}

TEST(CallChoices, AreReadAsTheSettingsAskedForThem) {
  for (const std::string_view setting : {R"("body":{"n":2})", R"("extraBody":{"n":2})"}) {
    auto config = read_config(R"({"provider":"openai","apiKey":"k",)" + std::string(setting) + "}");
    ASSERT_TRUE(config.ok()) << config.error().message;
    rig::CallRig rig(CallLink{std::move(config).value(), "gpt-4o-mini"});
    rig.start();
    rig.head(200);
    rig.data(R"({"choices":[{"index":1,"message":{"content":"one "},"finish_reason":"stop"},)"
             R"({"index":0,"message":{"content":"two"},"finish_reason":"stop"}]})");
    rig.done();
    EXPECT_TRUE(rig.log.has(R"("delta":"two")")) << rig.log.all();
    EXPECT_FALSE(rig.log.has(R"("delta":"one ")")) << rig.log.all();
  }
}

// Models that reason between tags in their text do so behind its first words as well.
TEST(LateThinkTags, AreReasoningByTheModel) {
  const auto events_of = [](std::string_view provider, const std::string& model) {
    rig::CallRig rig(rig::link(provider, model));
    rig.start();
    rig.head(200);
    for (const std::string_view piece : {"Start ", "<think>", "Why", "</think>", " End"}) {
      rig.data(R"(data: {"choices":[{"index":0,"delta":{"content":")" + std::string(piece) +
               "\"}}]}\n\n");
    }
    rig.data(
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
        "data: [DONE]\n\n");
    rig.done();
    return rig.log.has(R"(REASONING_MESSAGE_CONTENT)");
  };
  EXPECT_TRUE(events_of("deepseek", "deepseek-chat"));
  EXPECT_TRUE(events_of("groq", "DeepSeek-R1-Distill-Llama-70B"));
  EXPECT_TRUE(events_of("vllm", "my-own"));
  EXPECT_FALSE(events_of("openai", "gpt-4o-mini"));
}

}  // namespace
}  // namespace millrace::model
