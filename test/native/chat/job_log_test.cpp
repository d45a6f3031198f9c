// The log of a function's run: contract B.3, and the worked example of B.16.

#include "chat/job_log.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "chat/job_rig.hpp"

namespace millrace::chat {
namespace {

using journal::RunState;
using json::Tree;

std::vector<std::string> host_names(const RecordList& list) {
  std::vector<std::string> all = names(log_of(list).events_after(5));
  return all;
}

// The event with this name, `skipped` of them passed over.
Tree payload_of(const JobLog& log, std::string_view event, std::size_t skipped = 0) {
  for (const JobEvent& candidate : log.events_after(0)) {
    if (candidate.event == event && skipped-- == 0) return candidate.payload;
  }
  return {};
}

RecordList& agent_run(RecordList& list) {
  list.begin().wait(2);
  list.emit("tool_start", R"({"tool_call_id":"call_1","webchat_call_id":"agent_1",
    "name":"web_agent","api_name":"web_agent","arguments":{"prompt":"search"},"is_agent":true})");
  list.emit("agent_stage", R"({"webchat_call_id":"agent_1","name":"web_agent",
    "agent_name":"web_agent","stage":"waiting_model","detail":"iteration=1","is_agent":true})");
  list.emit("tool_start", R"({"tool_call_id":"call_1_1","webchat_call_id":"agent_1/search_1",
    "parent_webchat_call_id":"agent_1","name":"search","api_name":"search",
    "arguments":{"q":"test"},"is_agent":false,"depth":1,"agent_path":["web_agent"]})");
  list.wait(3).emit("tool_end", R"({"tool_call_id":"call_1_1",
    "webchat_call_id":"agent_1/search_1","parent_webchat_call_id":"agent_1","name":"search",
    "ok":true,"result":"nested result","depth":1,"agent_path":["web_agent"]})");
  list.message("m", " final\n");
  return list.emit("tool_end", R"({"tool_call_id":"call_1","webchat_call_id":"agent_1",
    "name":"web_agent","ok":true,"result":"agent result","is_agent":true})");
}

TEST(JobLog, LogsTheWorkedExample) {
  RecordList list;
  agent_run(list).end(RunState::completed);
  const JobLog log = log_of(list);
  EXPECT_EQ(
      names(log.events_after(0)),
      (std::vector<std::string>{
          "meta", "stage:received", "stage:processing", "stage:recording_history",
          "stage:asking_ai", "agent_start", "agent_stage:waiting_model", "tool_start", "tool_end",
          "stage:sending_message", "message", "agent_end", "stage:done", "done"}));
  EXPECT_EQ(written(log.events_after(13)),
            R"(14 done {"job_id":"0123456789abcdef0123456789abcdef",)"
            R"("conversation_id":"conversation","mode":"chat","virtual_user_id":42,)"
            R"("permission":"superadmin","messages":["final"],"reply":"final","status":"done",)"
            R"("duration_ms":5})"
            "\n");
  EXPECT_TRUE(
      has_all(payload_of(log, "meta"), parsed(R"({"virtual_user_id":42,"permission":"superadmin",
                         "conversation_id":"conversation"})")));
  EXPECT_TRUE(
      has_all(payload_of(log, "agent_start"), parsed(R"({"tool_call_id":"call_1","name":"web_agent",
                         "api_name":"web_agent","status":"running",
                         "arguments_preview":"{\"prompt\":\"search\"}","is_agent":true,
                         "webchat_call_id":"agent_1","parent_webchat_call_id":"","depth":0,
                         "agent_path":[],"started_at":1795293874.686,"elapsed_ms":2})")));
  EXPECT_TRUE(has_all(payload_of(log, "agent_stage"),
                      parsed(R"({"stage":"waiting_model","detail":"iteration=1",
                         "status":"running","name":"web_agent","agent_name":"web_agent",
                         "is_agent":true,"webchat_call_id":"agent_1",
                         "parent_webchat_call_id":"","depth":0,"agent_path":[],
                         "started_at":1795293874.686,"stage_elapsed_ms":0})")));
  EXPECT_TRUE(has_all(payload_of(log, "tool_end"),
                      parsed(R"({"webchat_call_id":"agent_1/search_1","api_name":"search",
                         "parent_webchat_call_id":"agent_1","depth":1,
                         "agent_path":["web_agent"],"ok":true,"status":"done",
                         "result_preview":"nested result","duration_ms":3,"elapsed_ms":5})")));
  EXPECT_EQ(payload_of(log, "tool_end").find("result"), nullptr);
  EXPECT_EQ(payload_of(log, "tool_start").find("arguments"), nullptr);
  EXPECT_TRUE(has_all(payload_of(log, "message"), parsed(R"({"content":"final","attachments":[],
                         "parent_webchat_call_id":"agent_1"})")));
}

TEST(JobLog, BeginsWithTheRunAndWorksOnceItStarts) {
  RecordList list;
  list.fact(journal::Accepted{});
  list.fact(journal::Segment{});
  JobLog log = log_of(list);
  EXPECT_EQ(names(log.events_after(0)), (std::vector<std::string>{"meta", "stage:received"}));
  EXPECT_TRUE(has_all(log.snapshot(list.at_ms + 7),
                      parsed(R"({"status":"queued","current_stage":"received","last_seq":2,
                         "current_stage_elapsed_ms":7,"elapsed_ms":7,"mode":"chat",
                         "finished_at":null,"duration_ms":null,"error":null,"messages":[],
                         "reply":"","current_agent_stages":[],"current_tool_calls":[],
                         "history_finalized":false,"waiting_input":null,
                         "current_stage_detail":null,"created_at":1795293874.684,
                         "current_stage_started_at":1795293874.684})")));
  list.event(event::RunStart{});
  log = log_of(list);
  EXPECT_EQ(log.last_seq(), 5);
  EXPECT_EQ(log.snapshot(list.at_ms)["status"].string(), "running");
}

TEST(JobLog, WaitsOnWhenAMessageComesBeforeItsTurn) {
  RecordList list;
  list.fact(journal::Accepted{}).fact(journal::Segment{});
  list.fact(journal::MessageSent{"m", R"({"id":"m","role":"user","content":"More."})", false, "u"});
  const JobLog waiting = log_of(list);
  EXPECT_EQ(names(waiting.events_after(0)), (std::vector<std::string>{"meta", "stage:received"}));
  const Tree shown = waiting.snapshot(list.at_ms);
  EXPECT_EQ(shown["status"].string(), "queued");
  EXPECT_EQ(shown["sent_messages"].items().size(), 1U);
  list.event(event::RunStart{});
  EXPECT_EQ(log_of(list).snapshot(list.at_ms)["status"].string(), "running");
}

TEST(JobLog, RecordsNoHistoryOfAStructuredMessage) {
  RecordList list;
  journal::Accepted accepted;
  accepted.is_structured = true;
  list.fact(accepted).fact(journal::Segment{"r", {}, {}, {}}).event(event::RunStart{});
  list.message("m", "PONG").end(RunState::completed);
  EXPECT_EQ(
      names(log_of(list).events_after(0)),
      (std::vector<std::string>{"meta", "stage:received", "stage:processing", "stage:asking_ai",
                                "stage:sending_message", "message", "stage:done", "done"}));
}

TEST(JobLog, OfACommandHasItsStages) {
  RecordList list;
  list.begin().message("m", "PONG").end(RunState::completed);
  JobOptions options = job_options();
  options.mode = JobMode::command;
  options.records_history = false;
  const JobLog log = log_of(list, options);
  EXPECT_EQ(names(log.events_after(2)),
            (std::vector<std::string>{"stage:processing", "stage:running_command",
                                      "stage:sending_message", "message", "stage:command_done",
                                      "stage:done", "done"}));
  EXPECT_EQ(log.snapshot(0)["mode"].string(), "command");
}

TEST(JobLog, DropsWhatItDoesNotKnowAndBlankOutputs) {
  RecordList list;
  list.begin();
  for (const std::string_view name : {"token_delta", "tool_delta", "message", "meta", "done", ""}) {
    list.emit(name, R"({"delta":"x","content":"x"})");
  }
  list.message("m", " \n ")
      .emit("stage", R"({"stage":"  "})")
      .emit("agent_stage", R"({"stage":""})");
  list.emit("stage", R"({"stage":"own","detail":7})");
  EXPECT_EQ(host_names(list), (std::vector<std::string>{"stage:own"}));
  EXPECT_EQ(payload_of(log_of(list), "stage", 4)["detail"].string(), "7");
}

TEST(JobLog, JoinsOutputsAndCutsDetails) {
  RecordList list;
  list.begin().message("a", " one ").message("b", "two\n");
  list.emit("stage",
            list.text(R"({"stage":"waiting_model","detail":")" + std::string(200, 'x') + R"("})"));
  list.emit("stage", R"({"stage":"retrying_model","detail":"api_key=topsecret"})");
  const JobLog log = log_of(list);
  EXPECT_EQ(log.reply(), "one\n\ntwo");
  EXPECT_EQ(log.messages(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(payload_of(log, "stage", 6)["detail"].string(), std::string(120, 'x') + "...");
  EXPECT_EQ(payload_of(log, "stage", 7)["detail"].string(), "api_key=[redacted]");
}

TEST(JobLog, GivesCallsWithoutIdsIdsOfTheirOwn) {
  RecordList list;
  list.begin();
  list.emit("tool_start", R"({"name":"search"})").wait(1);
  list.emit("tool_start", R"({"name":"search"})").wait(1);
  list.emit("tool_end", R"({"name":"search","result":"first"})").wait(1);
  list.emit("tool_end", R"({"name":"search","result":"second"})");
  list.emit("tool_start", R"({"name":"search"})");
  list.emit("tool_start", R"({"api_name":"other"})").emit("tool_start", "{}");
  list.emit("tool_start", "[]");
  const JobLog log = log_of(list);
  std::vector<std::string> ids;
  for (const JobEvent& event : log.events_after(5)) {
    ids.emplace_back(event.payload["webchat_call_id"].string());
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"search", "search#2", "search", "search#2", "search#3",
                                           "other", "tool", "tool#2"}));
  EXPECT_EQ(payload_of(log, "tool_end", 0)["duration_ms"].integer_or(-1), 2);
  EXPECT_EQ(payload_of(log, "tool_end", 1)["duration_ms"].integer_or(-1), 2);
}

TEST(JobLog, NormalisesNamesAndCompletesIdentity) {
  RecordList list;
  list.begin();
  list.emit("tool_start", R"({"webchat_call_id":"a","name":"helper","is_agent":true})");
  list.emit("tool_start", R"({"webchat_call_id":"a/b","parent_webchat_call_id":"a",
    "name":"inner"})");
  list.emit("tool_end", R"({"webchat_call_id":"a/b","ok":false,"result":0})");
  list.emit("agent_stage", R"({"parent_webchat_call_id":"a","stage":"waiting_model"})");
  list.emit("tool_end", R"({"webchat_call_id":"a"})");
  list.emit("agent_end", R"({"webchat_call_id":"unknown","ok":true})");
  const JobLog log = log_of(list);
  EXPECT_EQ(host_names(list),
            (std::vector<std::string>{"agent_start", "tool_start", "tool_end",
                                      "agent_stage:waiting_model", "agent_end", "agent_end"}));
  EXPECT_TRUE(
      has_all(payload_of(log, "tool_start"), parsed(R"({"depth":1,"agent_path":["helper"]})")));
  EXPECT_TRUE(has_all(payload_of(log, "tool_end"),
                      parsed(R"({"name":"inner","depth":1,"agent_path":["helper"],"ok":false,
                         "status":"error","result_preview":"0"})")));
  EXPECT_TRUE(has_all(payload_of(log, "agent_stage"),
                      parsed(R"({"webchat_call_id":"a","parent_webchat_call_id":"",
                         "name":"helper","agent_name":"helper","depth":0})")));
  EXPECT_EQ(payload_of(log, "agent_end", 1).find("duration_ms"), nullptr);
}

TEST(JobLog, HintsAtToolsThatAnswerInTheChat) {
  RecordList list;
  list.begin();
  list.emit("tool_start", R"({"tool_call_id":"a","name":"messages.send_message",
    "arguments":{"target_type":"private","message":"private text"}})");
  list.emit("tool_end", R"({"tool_call_id":"a","name":"messages.send_message","result":"sent"})");
  list.emit("tool_start", R"({"tool_call_id":"b","name":"messages.send_message",
    "arguments":{"target_type":"group","message":"group text"}})");
  list.emit("tool_start", R"({"tool_call_id":"c","name":"send_private_message",
    "arguments":"{\"target_type\":\"group\"}"})");
  list.emit("tool_end", R"({"tool_call_id":"d","name":"end","result":"对话已结束"})");
  list.emit("tool_end", R"({"tool_call_id":"e","name":"end","result":"对话已结束。"})");
  const JobLog log = log_of(list);
  EXPECT_TRUE(has_all(payload_of(log, "tool_start"),
                      parsed(R"({"ui_hint":"webchat_private_send","arguments_preview":""})")));
  EXPECT_EQ(payload_of(log, "tool_end")["ui_hint"].string(), "webchat_private_send");
  EXPECT_EQ(payload_of(log, "tool_start", 1).find("ui_hint"), nullptr);
  EXPECT_NE(payload_of(log, "tool_start", 1)["arguments_preview"].string().find("group text"),
            std::string::npos);
  EXPECT_EQ(payload_of(log, "tool_start", 2)["ui_hint"].string(), "webchat_private_send");
  EXPECT_EQ(payload_of(log, "tool_end", 1)["ui_hint"].string(), "webchat_end");
  EXPECT_EQ(payload_of(log, "tool_end", 2).find("ui_hint"), nullptr);
}

TEST(JobLog, ShowsActionsWithoutArgumentsAndSecrets) {
  RecordList list;
  list.begin().wait(4);
  list.emit("requires_action", R"({"action_id":"approval-1","kind":"confirm","job_id":"other",
    "secret":"should-redact","arguments":{"x":1}})");
  EXPECT_EQ(written(log_of(list).events_after(5)),
            R"(6 requires_action {"job_id":"0123456789abcdef0123456789abcdef",)"
            R"("conversation_id":"conversation","action_id":"approval-1","kind":"confirm",)"
            R"("secret":"[redacted]","elapsed_ms":4})"
            "\n");
}

TEST(JobLog, WaitsForAnActionWithoutItsArgumentsAndSecrets) {
  RecordList list;
  list.begin();
  journal::ApprovalRequested requested;
  requested.id = "a";
  list.fact(requested).emit("requires_action",
                            R"({"action_id":"a","secret":"x","arguments":{"x":1}})");
  EXPECT_EQ(log_of(list).snapshot(list.at_ms)["waiting_input"].to_json(),
            R"({"action_id":"a","secret":"[redacted]"})");
}

TEST(JobLog, EndsOnceWithWhatWentWrong) {
  struct Row {
    RunState state;
    std::string_view error_json;
    std::string_view status;
    std::string_view event_error;
    std::string_view call_status;
    std::string_view call_result;
  };
  const std::vector<Row> rows{
      {RunState::cancelled, "", "cancelled", "cancelled", "cancelled", "cancelled"},
      {RunState::failed, R"({"code":"tool_failed","message":"kaboom-detail"})", "error",
       "kaboom-detail", "error", "interrupted"},
      {RunState::failed, R"({"code":"interrupted","message":"The run was cut."})", "error",
       "interrupted", "error", "interrupted"},
      {RunState::dead, "", "error", "dead", "error", "interrupted"},
  };
  for (const Row& row : rows) {
    RecordList list;
    list.begin().emit("tool_start", R"({"tool_call_id":"c","name":"search"})").wait(9);
    list.event(event::TextStart{"cut"}).event(event::TextDelta{"cut", "half of"});
    list.end(row.state, row.error_json).end(row.state, row.error_json).message("late", "late");
    const JobLog log = log_of(list);
    EXPECT_EQ(names(log.events_after(5)),
              (std::vector<std::string>{"tool_start", "tool_end", "error"}));
    EXPECT_TRUE(log.is_over());
    const Tree end = payload_of(log, "tool_end");
    EXPECT_EQ(end["status"].string(), row.call_status);
    EXPECT_EQ(end["result_preview"].string(), row.call_result);
    EXPECT_EQ(end["duration_ms"].integer_or(-1), 9);
    EXPECT_EQ(payload_of(log, "error")["error"].string(), row.event_error);
    const Tree snapshot = log.snapshot(list.at_ms + 1000);
    EXPECT_EQ(snapshot["status"].string(), row.status);
    EXPECT_EQ(snapshot["error"].is_null(), row.state == RunState::cancelled);
    EXPECT_EQ(snapshot["elapsed_ms"].integer_or(-1), 9);
    EXPECT_EQ(snapshot["duration_ms"].integer_or(-1), 9);
    EXPECT_TRUE(snapshot["history_finalized"].is_true());
    EXPECT_TRUE(snapshot["current_tool_calls"].items().empty());
  }
}

TEST(JobLog, HidesSecretsOfErrors) {
  RecordList list;
  list.begin().end(RunState::failed, R"({"message":"GET failed: Authorization: Bearer abc"})");
  EXPECT_EQ(payload_of(log_of(list), "error")["error"].string(),
            "GET failed: Authorization: Bearer [redacted]");
}

TEST(JobLog, EndsCallsOfAFunctionThatAnotherProcessRunsAgain) {
  RecordList list;
  list.begin().emit("tool_start", R"({"tool_call_id":"c","name":"search"})");
  list.fact(journal::Claimed{"other", 2, "crash", 5});
  EXPECT_EQ(host_names(list), (std::vector<std::string>{"tool_start", "tool_end"}));
}

TEST(JobLog, ShowsWhatLastsWithoutANumber) {
  RecordList list;
  list.begin();
  list.emit("tool_start", R"({"webchat_call_id":"call_agent","name":"web_agent","is_agent":true})");
  list.emit("agent_stage", R"({"webchat_call_id":"call_agent","stage":"waiting_model"})");
  JobLog log = log_of(list);
  ASSERT_EQ(log.last_seq(), 7);
  EXPECT_TRUE(log.live(list.at_ms + 30, 8).empty());
  const std::vector<JobEvent> live = log.live(list.at_ms + 30, 7);
  EXPECT_EQ(names(live),
            (std::vector<std::string>{"stage:asking_ai", "agent_stage:waiting_model"}));
  for (const JobEvent& event : live) {
    EXPECT_EQ(event.seq, 7);
    EXPECT_TRUE(event.payload["transient"].is_true());
    EXPECT_EQ(event.payload["elapsed_ms"].integer_or(-1), 30);
    EXPECT_EQ(event.payload["conversation_id"].string(), "conversation");
  }
  EXPECT_EQ(live[1].payload["stage_elapsed_ms"].integer_or(-1), 30);
  // Those that the reader gets as events are left out.
  EXPECT_EQ(names(log.live(list.at_ms, 6)), (std::vector<std::string>{"stage:asking_ai"}));
  EXPECT_TRUE(log.live(list.at_ms, 4).empty());
  const Tree snapshot = log.snapshot(list.at_ms + 40);
  EXPECT_TRUE(has_all(snapshot["current_agent_stages"],
                      parsed(R"([{"webchat_call_id":"call_agent","agent_name":"web_agent",
                         "stage":"waiting_model","transient":true,"stage_elapsed_ms":40}])")));
  EXPECT_TRUE(has_all(snapshot["current_tool_calls"],
                      parsed(R"([{"webchat_call_id":"call_agent","name":"web_agent",
                         "status":"running","is_agent":true,"duration_ms":40,"elapsed_ms":40,
                         "job_id":"0123456789abcdef0123456789abcdef",
                         "current_stage":"waiting_model","current_stage_elapsed_ms":40,
                         "current_stage_detail":""}])")));
  list.emit("tool_end", R"({"webchat_call_id":"call_agent"})");
  EXPECT_TRUE(log_of(list).snapshot(list.at_ms)["current_agent_stages"].items().empty());
  list.end(RunState::completed);
  EXPECT_TRUE(log_of(list).live(list.at_ms, 8).empty());
}

TEST(JobLog, ShapesOutputsAndTakesAttachments) {
  RecordList list;
  list.begin();
  list.event(event::TextStart{"m"}, 0, R"("attachments":[{"id":"1"},"junk"])");
  list.event(event::TextDelta{"m", "IMAGE"}).event(event::TextEnd{"m"});
  JobOptions options = job_options();
  options.output = [](std::string_view text) {
    Output output{"shaped " + std::string(text), Tree::array()};
    output.attachments.push(parsed(R"({"id":"2"})"));
    return output;
  };
  const JobLog log = log_of(list, options);
  EXPECT_TRUE(has_all(payload_of(log, "message"), parsed(R"({"content":"shaped IMAGE",
                         "attachments":[{"id":"2"},{"id":"1"}]})")));
  EXPECT_EQ(log.reply(), "shaped IMAGE");
}

TEST(JobLog, ReportsWhatALimitDropped) {
  RecordList list;
  list.begin().message("a", "one").message("b", "two");
  JobOptions options = job_options();
  options.event_limit = 3;
  options.has_deltas = true;
  const JobLog log = log_of(list, options);
  EXPECT_EQ(log.first_seq(), 7);
  EXPECT_EQ(log.last_seq(), 9);
  EXPECT_EQ(log.snapshot(list.at_ms)["first_seq"].integer_or(0), 7);
  EXPECT_EQ(names(log.events_after(0)),
            (std::vector<std::string>{"message", "stage:sending_message", "message"}));
  const auto gap = log.gap_after(2);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->seq, 6);
  EXPECT_EQ(gap->payload["after"].integer_or(0), 2);
  EXPECT_EQ(gap->payload["first_seq"].integer_or(0), 7);
  EXPECT_FALSE(log.gap_after(6));
  EXPECT_FALSE(log.gap_after(std::numeric_limits<std::uint64_t>::max()));
}

TEST(JobLog, CountsDeltasWithinTheEventBeforeThem) {
  RecordList list;
  list.begin();
  list.event(event::ReasoningStart{"r"}).event(event::ReasoningDelta{"r", "hm"});
  list.event(event::TextStart{"m"}).event(event::TextDelta{"m", "Hel"});
  list.event(event::TextDelta{"m", "lo"}).event(event::TextEnd{"m"});
  JobOptions options = job_options();
  options.has_deltas = true;
  const JobLog log = log_of(list, options);
  const std::vector<JobEvent> all = log.events_after(Cursor{5, 0});
  std::vector<std::string> places;
  for (const JobEvent& event : all) {
    places.push_back(cursor_text(event.cursor()) + " " + std::string(event.event));
  }
  EXPECT_EQ(places, (std::vector<std::string>{"5.1 reasoning_delta", "5.2 message_delta",
                                              "5.3 message_delta", "6 stage", "7 message"}));
  EXPECT_EQ(all[2].payload["text"].string(), "lo");
  EXPECT_EQ(all[2].payload["index"], all[4].payload["index"]);
  EXPECT_EQ(log.events_after(Cursor{5, 2}).size(), 3);
  EXPECT_EQ(log.events_after(5).size(), 2);
  // Without deltas the events are the same.
  EXPECT_EQ(written(log_of(list).events_after(0)), written(log.events_after(0)));
  EXPECT_EQ(log.last_cursor(), (Cursor{7, 0}));
}

TEST(JobLog, ReadsCursors) {
  EXPECT_EQ(parse_cursor("12"), (Cursor{12, 0}));
  EXPECT_EQ(parse_cursor("12.3"), (Cursor{12, 3}));
  EXPECT_EQ(cursor_text({12, 3}), "12.3");
  for (const std::string_view text :
       {"", "-1", "1.", ".1", "1.2.3", "1 ", "x", "1e3", "99999999999999999999"}) {
    EXPECT_FALSE(parse_cursor(text)) << text;
  }
}

}  // namespace
}  // namespace millrace::chat
