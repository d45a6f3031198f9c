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
  const auto rejected = read_agent_input(body, options, ids);
  ASSERT_FALSE(rejected.ok());
  EXPECT_EQ(rejected.error().code, Errc::invalid_body);
  EXPECT_NE(rejected.error().message.find("`body`"), std::string::npos) << rejected.error().message;
}

}  // namespace
}  // namespace millrace::run
