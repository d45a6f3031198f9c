// The checker of AG-UI's ordering rules finds every kind of violation and passes legal bodies.

#include "support/ag_ui_rules.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace millrace;

namespace {

constexpr std::string_view started = R"({"type":"RUN_STARTED","threadId":"t","runId":"r"})";
constexpr std::string_view run_finished = R"({"type":"RUN_FINISHED","threadId":"t","runId":"r"})";

std::string broken(const std::vector<std::string_view>& events) {
  std::string body;
  for (const std::string_view event : events) body.append("data: ").append(event).append("\n\n");
  test::AgUiRules rules;
  rules.check_stream(body);
  return rules.broken();
}

}  // namespace

TEST(AgUiRules, PassLegalBodies) {
  EXPECT_EQ(broken({started, run_finished}), "");
  EXPECT_EQ(broken({started, R"({"type":"TEXT_MESSAGE_START","messageId":"m"})",
                    R"({"type":"TOOL_CALL_START","toolCallId":"m","toolCallName":"f"})",
                    R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"})",
                    R"({"type":"TOOL_CALL_ARGS","toolCallId":"m","delta":"{}"})",
                    R"({"type":"TEXT_MESSAGE_END","messageId":"m"})",
                    R"({"type":"TOOL_CALL_END","toolCallId":"m"})",
                    R"({"type":"TEXT_MESSAGE_START","messageId":"m"})",
                    R"({"type":"TEXT_MESSAGE_END","messageId":"m"})", run_finished, started,
                    R"({"type":"STEP_STARTED","stepName":"s"})",
                    R"({"type":"RUN_ERROR","message":"x"})"}),
            "");
  EXPECT_EQ(broken({started, R"({"type":"REASONING_START","messageId":"m"})",
                    R"({"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"})",
                    R"({"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"a"})",
                    R"({"type":"REASONING_MESSAGE_END","messageId":"m"})",
                    R"({"type":"REASONING_END","messageId":"m"})",
                    R"({"type":"SUBAGENT_STARTED","subagentRunId":"a","name":"n"})",
                    R"({"type":"STEP_STARTED","stepName":"s","subagentRunId":"a"})",
                    R"({"type":"STEP_STARTED","stepName":"s"})",
                    R"({"type":"STEP_FINISHED","stepName":"s"})",
                    R"({"type":"STEP_FINISHED","stepName":"s","subagentRunId":"a"})",
                    R"({"type":"SUBAGENT_FINISHED","subagentRunId":"a"})",
                    R"({"type":"CUSTOM","name":"n","value":null})", run_finished}),
            "");
}

TEST(AgUiRules, FindViolations) {
  constexpr std::string_view text = R"({"type":"TEXT_MESSAGE_START","messageId":"m"})";
  constexpr std::string_view call = R"({"type":"TOOL_CALL_START","toolCallId":"c"})";
  constexpr std::string_view step = R"({"type":"STEP_STARTED","stepName":"s"})";
  constexpr std::string_view agent = R"({"type":"SUBAGENT_STARTED","subagentRunId":"a"})";
  constexpr std::string_view error = R"({"type":"RUN_ERROR","message":"x"})";
  const std::vector<std::vector<std::string_view>> cases{
      {},
      {started},
      {text, run_finished},
      {started, started, run_finished},
      {started, run_finished, text},
      {started, run_finished, run_finished},
      {started, error, run_finished},
      {started, error, error},
      {started, R"({"type":"RUN_ERROR"})"},
      {started, text, run_finished},
      {started, text, text},
      {started, R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"})", run_finished},
      {started, R"({"type":"TEXT_MESSAGE_END","messageId":"m"})", run_finished},
      {started, R"({"type":"TEXT_MESSAGE_START"})", error},
      {started, text, R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m"})", error},
      {started, call, run_finished},
      {started, call, call, error},
      {started, R"({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"a"})", run_finished},
      {started, R"({"type":"TOOL_CALL_END","toolCallId":"c"})", run_finished},
      {started, R"({"type":"REASONING_START","messageId":"m"})", run_finished},
      {started, R"({"type":"REASONING_MESSAGE_START","messageId":"m"})", run_finished},
      {started, R"({"type":"REASONING_END","messageId":"m"})", run_finished},
      {started, R"({"type":"REASONING_MESSAGE_END","messageId":"m"})", run_finished},
      {started, step, run_finished},
      {started, step, step, error},
      {started, R"({"type":"STEP_FINISHED","stepName":"s"})", run_finished},
      {started, agent, run_finished},
      {started, agent, agent, error},
      {started, R"({"type":"SUBAGENT_FINISHED","subagentRunId":"a"})", run_finished},
      {started, R"({"type":"SUBAGENT_STARTED","subagentRunId":"a","parentSubagentRunId":"b"})",
       error},
      {started, text, R"({"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":"a"})",
       run_finished},
      {started, R"({"type":"CUSTOM","subagentRunId":null})", run_finished},
      {started, "[DONE]", run_finished},
      {started, "null", run_finished},
      {started, R"({"type":""})", run_finished},
  };
  for (std::size_t at = 0; at < cases.size(); ++at) EXPECT_NE(broken(cases[at]), "") << at;
}

TEST(AgUiRules, FindBadFraming) {
  const std::string run(started);
  for (const std::string& body : {"data: " + run + "\r\n\r\n", "data:" + run + "\n\n",
                                  "event: x\ndata: " + run + "\n\n", "data: " + run + "\n"}) {
    test::AgUiRules rules;
    rules.check_stream(body);
    EXPECT_NE(rules.broken(), "") << body;
  }
}
