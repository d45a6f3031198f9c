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

}  // namespace
}  // namespace millrace::model
