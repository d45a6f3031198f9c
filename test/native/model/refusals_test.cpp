// Settings that a model's vendor refuses: they go in the spelling that it takes, or not at all.
#include <gtest/gtest.h>

#include <array>

#include "model/build.hpp"

namespace millrace {
namespace {

constexpr std::string_view a_tool =
    R"("tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object"}}}])";

struct Refusal {
  std::string_view provider;
  std::string_view model;
  std::string_view more;
  std::string_view sent;  // what the body holds, or "" ...
  std::string_view gone;  // ... and what it does not, or ""
  bool is_noted = true;
};

void expect_refusal(const Refusal& row) {
  SCOPED_TRACE(
      std::string(row.provider).append(" ").append(row.model).append(" ").append(row.more));
  const auto built =
      test::build(test::settings_of(row.provider), test::question(row.model, row.more));
  const std::string body = test::body_of(built);
  ASSERT_TRUE(built.ok()) << body;
  if (!row.sent.empty()) {
    EXPECT_NE(body.find(row.sent), body.npos) << body;
  }
  if (!row.gone.empty()) {
    EXPECT_EQ(body.find(row.gone), body.npos) << body;
  }
  EXPECT_EQ(built.value().notes.empty(), !row.is_noted) << body;
}

// Source: https://docs.x.ai/docs/guides/reasoning (2026).
TEST(Refusals, LeaveGrokTheEffortsThatItTakes) {
  constexpr std::string_view high = R"("reasoning_effort":"high","apiMode":"chatCompletion")";
  constexpr std::string_view none = R"("reasoning_effort":"none","apiMode":"chatCompletion")";
  for (const std::string_view model :
       {"grok-4", "grok-4-0709", "grok-4-latest", "grok-4-fast", "grok-4-fast-non-reasoning",
        "grok-4-1-fast-reasoning", "grok-4.20-0309-reasoning", "grok-code-fast-1", "grok-3"}) {
    expect_refusal({"xai", model, high, "", "reasoning_effort"});
    expect_refusal({"xai", model, R"("reasoning_effort":"high")", "", R"("effort")"});
  }
  for (const Refusal& row : {
           Refusal{"xai", "grok-4.3", none, R"("reasoning_effort":"none")", "", false},
           Refusal{"xai", "grok-4.3", high, R"("reasoning_effort":"high")", "", false},
           Refusal{"xai", "grok-4.5", none, R"("reasoning_effort":"low")", ""},
           Refusal{"xai", "grok-4.20-multi-agent", R"("reasoning_effort":"xhigh")",
                   R"("reasoning":{"effort":"xhigh"})", "", false},
           Refusal{"xai", "grok-3-mini", R"("reasoning_effort":"medium","apiMode":"chat")",
                   R"("reasoning_effort":"high")", ""},
           Refusal{"openrouter", "x-ai/grok-4", R"("reasoning_effort":"high")",
                   R"("reasoning":{"enabled":true})", ""},
           Refusal{"xai", "grok-4-fast-non-reasoning", R"("stop":["x"],"apiMode":"chat")",
                   R"("stop":["x"])", "", false},
           Refusal{"xai", "grok-4.3", R"("reasoning_effort":"xhigh","apiMode":"chat")",
                   R"("reasoning_effort":"xhigh")", "", false},
           Refusal{"xai", "grok-4.7", R"("reasoning_effort":"none","apiMode":"chat")",
                   R"("reasoning_effort":"low")", ""},
           Refusal{"xai", "grok-build-0.1", R"("reasoning_effort":"high","apiMode":"chat")", "",
                   "reasoning_effort"},
           Refusal{"xai", "grok-5", R"("stop":["x"],"apiMode":"chat")", "", R"("stop")"},
           Refusal{"xai", "grok-latest", R"("presence_penalty":1,"apiMode":"chat")", "",
                   "presence_penalty"},
           Refusal{"xai", "grok-2-1212", R"("presence_penalty":1,"apiMode":"chat")",
                   R"("presence_penalty":1)", "", false},
       }) {
    expect_refusal(row);
  }
}

// Source: https://console.groq.com/docs/reasoning (2026); the API's own sentence "json mode cannot
// be combined with tool/function calling".
TEST(Refusals, LeaveGroqWhatItTakes) {
  const std::string both =
      std::string(a_tool) +
      R"(,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}})";
  const std::string object = std::string(a_tool) + R"(,"response_format":{"type":"json_object"})";
  constexpr std::string_view qwen = "qwen/qwen3-32b";
  for (const Refusal& row : {
           Refusal{"groq", qwen, R"("reasoning_effort":"high")", R"("reasoning_effort":"default")",
                   "high"},
           Refusal{"groq", qwen, R"("reasoning_effort":"none")", R"("reasoning_effort":"none")", "",
                   false},
           Refusal{"groq", qwen, R"("thinking":{"type":"disabled"})",
                   R"("reasoning_effort":"none")", "", false},
           Refusal{"groq", "openai/gpt-oss-20b", R"("reasoning_effort":"high")",
                   R"("reasoning_effort":"high")", "", false},
           Refusal{"groq", qwen, R"("logprobs":true,"top_logprobs":2)", "", "logprobs"},
           Refusal{"groq", qwen, R"("logit_bias":{"1":1})", "", "logit_bias"},
           Refusal{"groq", qwen, R"("n":2)", "", R"("n":)"},
           Refusal{"groq", qwen, R"("n":1)", R"("n":1)", "", false},
           Refusal{"groq", qwen, R"("top_k":4)", "", "top_k"},
           Refusal{"groq", "openai/gpt-oss-20b", both, R"("stream":true)", "response_format"},
           Refusal{"groq", "llama-3.3-70b-versatile", both, R"("tools":[)", "response_format"},
           Refusal{"groq", "llama-3.3-70b-versatile", object, R"("tools":[)", "response_format"},
           Refusal{"openai", "gpt-4.1", both, "response_format", "", false},
       }) {
    expect_refusal(row);
  }
}

// Sources: https://platform.kimi.ai/docs/api/models-overview and
// .../guide/use-kimi-k2-thinking-model (2026); the API's own sentences "only 1 is allowed for this
// model" and "tool_choice 'required' is incompatible with thinking enabled".
TEST(Refusals, LeaveKimiWhatItTakes) {
  const std::string demand = std::string(a_tool) + R"(,"tool_choice":"required")";
  const std::string named =
      std::string(a_tool) + R"(,"tool_choice":{"type":"function","function":{"name":"t"}})";
  const std::string without_thinking = demand + R"(,"thinking":{"type":"disabled"})";
  constexpr std::string_view off = R"("thinking":{"type":"disabled"})";
  for (const Refusal& row : {
           Refusal{"moonshot", "kimi-k3", R"("temperature":0.15,"top_p":0.5,"presence_penalty":1)",
                   "", R"("temperature")"},
           Refusal{"moonshot", "kimi-k3", R"("top_p":0.5)", "", R"("top_p")"},
           Refusal{"moonshot", "kimi-k3", off, "", R"("thinking")"},
           Refusal{"moonshot", "kimi-k3", R"("reasoning_effort":"none")",
                   R"("reasoning_effort":"low")", ""},
           Refusal{"moonshot", "kimi-k3", demand, R"("tool_choice":"required")", "", false},
           Refusal{"moonshot", "kimi-k3", R"("n":2)", "", R"("n":)"},
           Refusal{"moonshot", "kimi-k3.1-pro", R"("temperature":0.15)", "", R"("temperature")"},
           Refusal{"moonshot", "kimi-k2.7-code", R"("n":2)", "", R"("n":)"},
           Refusal{"moonshot", "kimi-k2.7-code", R"("reasoning_effort":"high")", "",
                   "reasoning_effort"},
           Refusal{"moonshot", "kimi-k2.7-code", off, R"("temperature":1,)", R"("thinking")"},
           Refusal{"moonshot", "kimi-k2.7-code", without_thinking, "", R"("tool_choice")"},
           Refusal{"moonshot", "kimi-k2.6", demand, "", R"("tool_choice")"},
           Refusal{"moonshot", "kimi-k2.5", named, "", R"("tool_choice")"},
           Refusal{"moonshot", "kimi-k2.6", without_thinking, R"("tool_choice":"required")", "",
                   false},
           Refusal{"moonshot", "kimi-k2.6", off, R"("temperature":0.6)", "", false},
       }) {
    expect_refusal(row);
  }
}

}  // namespace
}  // namespace millrace
