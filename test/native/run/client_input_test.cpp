// What a request of a client may not set.
#include <gtest/gtest.h>

#include "base/ids.hpp"
#include "run/input.hpp"

namespace millrace::run {
namespace {

TEST(ClientInput, ChangesNoRequestToAProvider) {
  constexpr const char* body =
      R"({"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"Hi"}],)"
      R"("body":{"store":true}})";
  CountingIds ids("made-");
  InputOptions options;
  options.from_client = true;
  const auto refused = read_agent_input(body, options, ids);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::invalid_body);
  EXPECT_NE(refused.error().message.find("`body`"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace millrace::run
