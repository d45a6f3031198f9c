// The log of a run of engine agents: facts of calls and sub-agents, texts that a request takes
// back.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chat/job_log.hpp"
#include "chat/job_rig.hpp"

namespace millrace::chat {
namespace {

using journal::CallKind;
using journal::CallState;
using journal::RunState;
using json::Tree;

journal::ToolIntent intent(std::string_view call, std::string_view name,
                           CallKind kind = CallKind::tool) {
  journal::ToolIntent fact;
  fact.call = call;
  fact.name = name;
  fact.args_json = R"({"q":"test","api_key":"sk-live"})";
  fact.kind = kind;
  return fact;
}

journal::ToolResult result(std::string_view call, CallState status, std::string_view content) {
  journal::ToolResult fact;
  fact.call = call;
  fact.status = status;
  fact.content = content;
  return fact;
}

// What a model's answer with one call has.
void ask(RecordList& list, std::string_view call, std::string_view name, std::uint32_t branch = 0) {
  list.event(event::ToolStart{call, name}, branch);
  list.event(event::ToolArgs{call, R"({"q":)"}, branch);
  list.event(event::ToolArgs{call, R"("test","api_key":"sk-live"})"}, branch);
  list.event(event::ToolEnd{call}, branch);
  list.event(event::Finish{"tool_calls"}, branch);
}

void answer(RecordList& list, std::string_view call, std::string_view content,
            std::uint32_t branch = 0) {
  list.fact(result(call, CallState::ok, content), branch);
  list.event(event::ToolResult{"m", call, content}, branch);
}

RecordList& with_tool(RecordList& list) {
  list.begin().fact(journal::StepStarted{1}).fact(journal::ModelRequested{1, 1, 0});
  list.message("t1", "Let me look.");
  ask(list, "call_1", "search");
  list.fact(intent("call_1", "search")).fact(journal::ToolStarted{"call_1", 1}).wait(5);
  answer(list, "call_1", R"({"password":"hunter2","hits":3})");
  list.fact(journal::StepStarted{2}).fact(journal::ModelRequested{2, 1, 0});
  return list.message("t2", "Three hits.");
}

std::vector<std::string> names_of(const RecordList& list) {
  return names(log_of(list).events_after(5));
}

const JobEvent& event_named(const std::vector<JobEvent>& events, std::string_view name) {
  for (const JobEvent& event : events) {
    if (event.event == name) return event;
  }
  ADD_FAILURE() << "no " << name;
  return events.front();
}

TEST(JobRun, ShowsTheStepsOfAModel) {
  RecordList list;
  with_tool(list).event(event::Finish{"stop"}).event(event::RunEnd{});
  list.end(RunState::completed);
  const JobLog log = log_of(list);
  EXPECT_EQ(names_of(list),
            (std::vector<std::string>{"stage:context_ready", "stage:waiting_model",
                                      "stage:sending_message", "message", "stage:preparing_tools",
                                      "stage:waiting_tools", "tool_start", "tool_end",
                                      "stage:waiting_model", "stage:sending_message", "message",
                                      "stage:finalizing", "stage:done", "done"}));
  const std::vector<JobEvent> events = log.events_after(0);
  EXPECT_EQ(events[6].payload["detail"].string(), "iteration=1");
  EXPECT_EQ(events[9].payload["detail"].string(), "1");
  EXPECT_EQ(events[10].payload["detail"].string(), "search");
  EXPECT_TRUE(has_all(event_named(events, "tool_start").payload,
                      parsed(R"({"tool_call_id":"call_1","webchat_call_id":"call_1",
                         "parent_webchat_call_id":"","name":"search","api_name":"search",
                         "arguments_preview":"{\"q\":\"test\",\"api_key\":\"[redacted]\"}",
                         "is_agent":false,"depth":0,"agent_path":[]})")));
  EXPECT_TRUE(has_all(event_named(events, "tool_end").payload,
                      parsed(R"({"ok":true,"status":"done","duration_ms":5,
                         "result_preview":"{\"password\":\"[redacted]\",\"hits\":3}"})")));
  EXPECT_EQ(log.reply(), "Let me look.\n\nThree hits.");
}

TEST(JobRun, NestsAgentsThatWorkForCalls) {
  RecordList list;
  list.begin().fact(journal::ModelRequested{1, 1, 0});
  ask(list, "c1", "delegate");
  list.fact(intent("c1", "delegate", CallKind::child)).fact(journal::ToolStarted{"c1", 1});
  list.fact(journal::ChildStarted{"c1", "run_child", "web_agent", 1});
  list.event(event::SubagentStart{"child", "web_agent"}, 1);
  list.fact(journal::ModelRequested{1, 1, 0}, 1);
  ask(list, "c1", "search", 1);
  list.fact(intent("c1", "search"), 1).fact(journal::ToolStarted{"c1", 1}, 1);
  answer(list, "c1", "nested result", 1);
  list.event(event::TextStart{"x"}, 1).event(event::TextDelta{"x", "inner text"}, 1);
  list.event(event::TextEnd{"x"}, 1);
  list.end(RunState::completed);
  list.records.back().branch = 1;
  list.fact(journal::ChildEnded{"c1", "run_child", RunState::completed});
  answer(list, "c1", "agent result");
  const JobLog log = log_of(list);
  EXPECT_EQ(names(log.events_after(9)),
            (std::vector<std::string>{"agent_start", "agent_stage:context_ready",
                                      "agent_stage:waiting_model", "agent_stage:preparing_tools",
                                      "agent_stage:waiting_tools", "tool_start", "tool_end",
                                      "agent_stage:done", "agent_end"}));
  const std::vector<JobEvent> events = log.events_after(9);
  EXPECT_TRUE(has_all(events[0].payload, parsed(R"({"webchat_call_id":"c1","name":"web_agent",
                         "api_name":"delegate","is_agent":true,"depth":0,"agent_path":[]})")));
  EXPECT_TRUE(has_all(events[2].payload,
                      parsed(R"({"webchat_call_id":"c1","agent_name":"web_agent","depth":0,
                         "agent_path":[],"detail":"iteration=1"})")));
  EXPECT_TRUE(
      has_all(events[5].payload, parsed(R"({"webchat_call_id":"c1/c1","parent_webchat_call_id":"c1",
                         "tool_call_id":"c1","depth":1,"agent_path":["web_agent"]})")));
  EXPECT_TRUE(has_all(events[8].payload, parsed(R"({"webchat_call_id":"c1","name":"web_agent",
                         "result_preview":"agent result"})")));
  EXPECT_TRUE(log.messages().empty());
}

TEST(JobRun, ShowsNoTextThatIsTakenBack) {
  RecordList list;
  list.begin().fact(journal::ModelRequested{1, 1, 0});
  list.message("t1", "first try")
      .event(event::TextStart{"t2"})
      .event(event::TextDelta{"t2", "cut"});
  list.event(event::Reset{"error", 1});
  list.event(event::Retry{1, 100, "http_error", "password=x failed"});
  list.message("t1", "second try").event(event::Finish{"stop"});
  const JobLog log = log_of(list);
  EXPECT_EQ(log.messages(), (std::vector<std::string>{"second try"}));
  EXPECT_EQ(names_of(list),
            (std::vector<std::string>{"stage:context_ready", "stage:waiting_model",
                                      "stage:retrying_model", "stage:sending_message", "message"}));
  EXPECT_EQ(log.events_after(7)[0].payload["detail"].string(), "password=[redacted] failed");

  JobOptions options = job_options();
  options.has_deltas = true;
  std::vector<std::string> shown;
  for (const JobEvent& event : log_of(list, options).events_after(Cursor{7, 0})) {
    shown.push_back(std::string(event.event) + " " +
                    std::to_string(event.payload["index"].integer_or(-1)));
  }
  EXPECT_EQ(shown, (std::vector<std::string>{"message_delta 0", "message_delta 1",
                                             "message_reset 0", "message_reset 1", "stage -1",
                                             "message_delta 2", "stage -1", "message 2"}));
}

TEST(JobRun, TakesBackOnlyTheTextsThatAreNamed) {
  RecordList list;
  list.begin().fact(journal::ModelRequested{1, 1, 0});
  list.message("a", "stays").message("b", "goes").event(event::Reset{"error", 1, R"(["b"])"});
  list.event(event::Finish{"stop"});
  EXPECT_EQ(log_of(list).messages(), (std::vector<std::string>{"stays"}));
}

TEST(JobRun, TakesBackATextOfALaterStep) {
  RecordList list;
  list.begin().fact(journal::ModelRequested{1, 1, 0});
  list.event(event::Finish{"tool_calls"}).fact(journal::ModelCompleted{});
  // The end of a step is recorded behind the request of the next one.
  list.fact(journal::ModelRequested{2, 1, 0}).event(event::StepEnd{});
  list.message("t1", "half").event(event::Reset{"process_ended", 1, R"(["t1"])"});
  list.message("t2", "whole").event(event::Finish{"stop"});
  const JobLog log = log_of(list);
  EXPECT_EQ(log.messages(), (std::vector<std::string>{"whole"}));
  EXPECT_EQ(log.reply(), "whole");
}

TEST(JobRun, TakesBackWhatAFunctionSentBeforeItBeginsAgain) {
  RecordList list;
  list.begin().message("t1", "one").fact(journal::Claimed{"other", 2, "crash", 5});
  list.event(event::Reset{"process_ended", 1, R"(["t1"])"});
  list.message("t2", "one").message("t3", "two");
  const JobLog log = log_of(list);
  EXPECT_EQ(log.messages(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(log.reply(), "one\n\ntwo");
  const std::vector<std::string> expected{
      "stage:sending_message", "message", "message_reset", "stage:sending_message", "message",
      "stage:sending_message", "message"};
  EXPECT_EQ(names_of(list), expected);
  EXPECT_EQ(event_named(log.events_after(0), "message_reset").payload["index"].integer_or(-1), 0);
  EXPECT_EQ(log.history_block()["timeline"].items().size(), 2U);
}

TEST(JobRun, ShowsWhyItIsParked) {
  RecordList list;
  list.begin().fact(journal::ModelRequested{1, 1, 0});
  list.fact(journal::Claimed{"other", 2, "recovered", 5});
  list.fact(journal::Parked{"agent_not_registered"});
  const Tree snapshot = log_of(list).snapshot(list.at_ms);
  EXPECT_EQ(snapshot["current_stage"].string(), "parked");
  EXPECT_EQ(snapshot["current_stage_detail"].string(), "agent_not_registered");
  list.fact(journal::Claimed{"other", 3, "parked", 5});
  EXPECT_EQ(log_of(list).snapshot(list.at_ms)["current_stage"].string(), "processing");
}

TEST(JobRun, ShowsCallsOfTheProvider) {
  RecordList list;
  list.begin().fact(journal::ModelRequested{1, 1, 0});
  list.event(event::ToolStart{"h", "web_search", {}, true}).event(event::ToolArgs{"h", "{}"});
  list.event(event::ToolEnd{"h"}).wait(4).event(event::ToolResult{"m", "h", "found"});
  list.event(event::ToolStart{"h2", "web_search", {}, true}).event(event::ToolEnd{"h2"});
  list.event(event::Reset{"error", 1});
  const JobLog log = log_of(list);
  EXPECT_EQ(names(log.events_after(7)),
            (std::vector<std::string>{"tool_start", "tool_end", "tool_start", "tool_end"}));
  EXPECT_EQ(log.events_after(8)[0].payload["duration_ms"].integer_or(-1), 4);
  EXPECT_TRUE(has_all(log.events_after(10)[0].payload, parsed(R"({"ok":false,"status":"error",
                         "result_preview":"interrupted"})")));
}

TEST(JobRun, GoesOnWithACallOnceAfterACrash) {
  RecordList list;
  list.begin().fact(journal::ModelRequested{1, 1, 0});
  ask(list, "c", "read");
  list.fact(intent("c", "read")).fact(journal::ToolStarted{"c", 1});
  list.fact(journal::Claimed{"other", 2, "crash", 5}).fact(journal::ToolStarted{"c", 2});
  answer(list, "c", "read");
  EXPECT_EQ(names(log_of(list).events_after(9)),
            (std::vector<std::string>{"tool_start", "tool_end"}));
}

TEST(JobRun, ShowsWhatTheUserIsToDecide) {
  RecordList list;
  list.begin().fact(journal::ModelRequested{1, 1, 0});
  ask(list, "c", "remove");
  journal::ApprovalRequested requested;
  requested.id = "approval-1";
  requested.call = "c";
  requested.expires_ms = list.at_ms + 1000;
  list.fact(requested).event(event::RunEnd{"", "", event::RunOutcome::interrupt});
  JobLog log = log_of(list);
  const Tree action = event_named(log.events_after(0), "requires_action").payload;
  EXPECT_TRUE(has_all(action, parsed(R"({"action_id":"approval-1","kind":"approval",
    "webchat_call_id":"c","tool_call_id":"c","name":"remove","expires_at":1795293875.684,
    "arguments_preview":"{\"q\":\"test\",\"api_key\":\"[redacted]\"}"})")));
  EXPECT_EQ(log.snapshot(list.at_ms)["waiting_input"]["action_id"].string(), "approval-1");
  EXPECT_EQ(log.snapshot(list.at_ms)["status"].string(), "running");
  EXPECT_EQ(log.snapshot(list.at_ms)["current_stage"].string(), "waiting_input");
  EXPECT_EQ(log.snapshot(list.at_ms)["current_stage_detail"].string(), "remove");
  list.fact(journal::ApprovalDecided{"approval-1", "{}", "", "user"});
  EXPECT_EQ(log_of(list).snapshot(list.at_ms)["current_stage"].string(), "preparing_tools");
  list.fact(result("c", CallState::denied, ""));
  log = log_of(list);
  EXPECT_TRUE(log.snapshot(list.at_ms)["waiting_input"].is_null());
  const Tree end = event_named(log.events_after(0), "tool_end").payload;
  EXPECT_TRUE(has_all(end, parsed(R"({"name":"remove","ok":false,"status":"error"})")));
  // Who reads a start and an end as a pair finds both.
  const Tree start = event_named(log.events_after(0), "tool_start").payload;
  EXPECT_EQ(start["webchat_call_id"].string(), "c");
}

// The user's word is no failure of the tool.
TEST(JobRun, NamesACallThatTheUserRejected) {
  RecordList list;
  list.begin().fact(journal::ModelRequested{1, 1, 0});
  ask(list, "c", "remove");
  journal::ApprovalRequested requested;
  requested.id = "approval-1";
  requested.call = "c";
  list.fact(requested).event(event::RunEnd{"", "", event::RunOutcome::interrupt});
  list.fact(journal::ApprovalDecided{
      "approval-1", R"({"interruptId":"approval-1","payload":{"approved":false}})", "", "user"});
  list.event(event::ToolResult{"m", "c", "No.", {}, {}, true});
  const JobLog log = log_of(list);
  const Tree end = event_named(log.events_after(0), "tool_end").payload;
  EXPECT_TRUE(has_all(end, parsed(R"({"ok":false,"status":"error","rejected":true})")));
}

TEST(JobRun, ShowsTheCallThatAProviderWantsApproved) {
  RecordList list;
  list.begin().fact(journal::ModelRequested{1, 1, 0});
  list.event(event::ProviderState{
      "openai_responses", "mcp_approval_request", "mcpr_1",
      R"({"id":"mcpr_1","server_label":"dice","name":"roll","arguments":"{\"sides\":6}"})"});
  journal::ApprovalRequested requested;
  requested.id = "approval-1";
  requested.call = "mcpr_1";
  list.fact(requested).event(event::RunEnd{"", "", event::RunOutcome::interrupt});
  const JobLog log = log_of(list);
  const Tree action = event_named(log.events_after(0), "requires_action").payload;
  EXPECT_TRUE(has_all(action, parsed(R"({"action_id":"approval-1","kind":"approval",
    "tool_call_id":"mcpr_1","name":"roll","arguments_preview":"{\"sides\":6}"})")));
}

TEST(JobRun, RequiresAnActionOnceThatAFunctionReported) {
  RecordList list;
  list.begin().emit("requires_action", R"({"action_id":"a1","kind":"confirm"})");
  journal::ApprovalRequested requested;
  requested.id = "a1";
  list.fact(requested);
  const JobLog log = log_of(list);
  EXPECT_EQ(names_of(list), (std::vector<std::string>{"requires_action"}));
  EXPECT_EQ(log.snapshot(list.at_ms)["waiting_input"]["action_id"].string(), "a1");
}

TEST(JobRun, ShowsTheActionThatAFunctionWaitsFor) {
  RecordList list;
  list.begin();
  journal::ApprovalRequested requested;
  requested.id = "run_1.confirm";
  requested.call = "confirm";
  requested.kind = journal::ApprovalKind::prompt;
  list.fact(requested);
  list.emit("requires_action", R"({"id":"run_1.confirm","reason":"input_required",
    "message":"Go on?","responseSchema":{"type":"object"},"expiresAt":1795293875684,
    "metadata":{"action":"confirm","kind":"yes_no"}})");
  JobLog log = log_of(list);
  EXPECT_EQ(names_of(list), (std::vector<std::string>{"requires_action"}));
  const Tree expected = parsed(R"({"action_id":"run_1.confirm","kind":"yes_no","name":"confirm",
    "message":"Go on?","schema":{"type":"object"},"expires_at":1795293875.684})");
  EXPECT_TRUE(has_all(log.events_after(5)[0].payload, expected));
  EXPECT_TRUE(has_all(log.snapshot(list.at_ms)["waiting_input"], expected));
  list.fact(journal::ApprovalExpired{"run_1.confirm"});
  EXPECT_TRUE(log_of(list).snapshot(list.at_ms)["waiting_input"].is_null());
}

TEST(JobRun, StreamsArgumentsWithoutSecrets) {
  RecordList list;
  list.begin().fact(journal::ModelRequested{1, 1, 0});
  ask(list, "c", "search");
  JobOptions options = job_options();
  options.has_deltas = true;
  std::string text;
  for (const JobEvent& event : log_of(list, options).events_after(Cursor{7, 0})) {
    if (event.event != "tool_arguments_delta") continue;
    EXPECT_TRUE(has_all(event.payload, parsed(R"({"call_id":"c","tool_call_id":"c",
      "name":"search"})")));
    text.append(event.payload["text"].string());
  }
  EXPECT_EQ(text, R"({"q":"test","api_key":"[redacted]"})");
}

}  // namespace
}  // namespace millrace::chat
