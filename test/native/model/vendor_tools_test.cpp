#include "model/payload/vendor_tools.hpp"

#include <gtest/gtest.h>

#include <string>

#include "build.hpp"

namespace millrace::model {
namespace {

using test::has;

// A chat of an agent, which leaves out what the provider does not take.
Result<ChatRequest> chat(const std::string& provider, const std::string& more,
                         bool is_fallback = true) {
  CountingIds ids("id-");
  auto config = read_config(test::settings_of(provider));
  if (!config) return std::move(config).error();
  auto payload = read_payload(test::question("m", more), ids);
  if (!payload) return std::move(payload).error();
  return build_chat(config.value(), payload.value(), ids, {test::test_time, 0, "t"}, is_fallback);
}

constexpr const char* both = R"("tools":[{"type":"shell"},{"type":"bash_20250124","name":"bash"}])";

TEST(VendorTools, AreSentToTheirVendorAlone) {
  struct Row {
    std::string provider;
    bool has_shell;
    bool has_bash;
  };
  for (const auto& [provider, has_shell, has_bash] :
       {Row{"openai", true, false}, Row{"anthropic", false, true}, Row{"vertexai", false, false},
        Row{"google", false, false}, Row{"xai", false, false}, Row{"groq", false, false},
        Row{"bedrock", false, false}}) {
    const auto built = chat(provider, both);
    ASSERT_TRUE(built.ok()) << provider << built.error().message;
    const std::string body = test::body_of(built);
    EXPECT_EQ(has(body, R"({"type":"shell"})"), has_shell) << provider << body;
    EXPECT_EQ(has(body, "bash_20250124"), has_bash) << provider << body;
    std::string notes;
    for (const Note& note : built.value().notes) notes.append(note.sentence);
    EXPECT_EQ(has(notes, "The tool 'shell' (shell) is left out"), !has_shell) << provider;
    EXPECT_EQ(has(notes, "The tool 'bash' (bash_20250124) is left out"), !has_bash) << provider;
  }
}

TEST(VendorTools, TakeAChoiceOfThemAlong) {
  for (const char* choice :
       {R"("tool_choice":{"type":"shell"})", R"("tool_choice":{"type":"tool","name":"shell"})",
        R"("tool_choice":"required")"}) {
    const auto built = chat("anthropic", std::string(R"("tools":[{"type":"shell"}],)") + choice);
    ASSERT_TRUE(built.ok()) << test::body_of(built);
    EXPECT_FALSE(has(test::body_of(built), "tool_choice")) << choice;
  }
}

TEST(VendorTools, AreSentAsTheyAreWhereOneProviderIsAsked) {
  const auto built = chat("groq", both, false);
  EXPECT_TRUE(has(test::body_of(built), "bash_20250124")) << test::body_of(built);
}

}  // namespace
}  // namespace millrace::model
