// The stream of a LobeHub operation from records: golden bytes, and cuts at every event.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "chat/job_rig.hpp"
#include "encoder/recorded_lobe.hpp"
#include "support/golden.hpp"

using namespace millrace;
using chat::RecordList;
using encoder::LobeCursor;
using encoder::RecordedLobe;

namespace {

std::string streamed(const RecordList& list, LobeCursor after = {}) {
  RecordedLobe encoder(after);
  std::string all;
  std::string piece;
  for (const journal::Record& record : list.records) {
    encoder.on_record(record);
    encoder.take_into(piece);
    all += piece;
  }
  encoder.rest();
  return all + encoder.pending();
}

RecordList operation() {
  RecordList list;
  list.at_ms = 1'000;
  journal::Accepted accepted;
  accepted.agent = "helper";
  accepted.thread = "thread-1";
  accepted.principal = "ada";
  list.fact(accepted).fact(journal::Segment{"op-1", {}, {}, {}});
  return list;
}

RecordList& model_step(RecordList& list, std::int64_t step) {
  return list.fact(journal::StepStarted{step})
      .fact(journal::ModelRequested{step, 1, 0})
      .wait(5)
      .event(event::StepStart{"step"});
}

RecordList& call(RecordList& list, std::string_view id, std::string_view name) {
  return list.event(event::ToolStart{id, name, "m1"})
      .event(event::ToolArgs{id, R"({"a":)"})
      .event(event::ToolArgs{id, "1}"})
      .event(event::ToolEnd{id});
}

RecordList& run_call(RecordList& list, std::string_view id, std::string_view name, bool fails) {
  journal::ToolIntent intent;
  intent.call = id;
  intent.name = name;
  intent.args_json = R"({"a":1})";
  journal::ToolResult result;
  result.call = id;
  result.status = fails ? journal::CallState::error : journal::CallState::ok;
  list.fact(intent).fact(journal::ToolStarted{id, 1}).wait(20).fact(result);
  event::ToolResult shown{"result", id, fails ? "It broke." : "found"};
  shown.failed = fails;
  return list.event(shown);
}

RecordList& usage(RecordList& list) {
  event::Usage used;
  used.provider = "openai";
  used.model = "m";
  used.input_tokens = 5;
  used.output_tokens = 7;
  used.total_tokens = 12;
  return list.event(event::Finish{"stop"}).event(used).fact(journal::Checkpoint{});
}

RecordList& finish(RecordList& list, journal::RunState status, std::string_view reason) {
  journal::Terminal terminal;
  terminal.status = status;
  terminal.reason = reason;
  terminal.usage_json = R"({"llm":{"apiCalls":1}})";
  return list.event(event::StepEnd{"step"}).fact(terminal);
}

RecordList with_tools() {
  RecordList list = operation();
  model_step(list, 1)
      .event(event::ReasoningStart{"r1"})
      .event(event::ReasoningDelta{"r1", "hmm"})
      .event(event::ReasoningEnd{"r1"})
      .event(event::TextStart{"m1"})
      .event(event::TextDelta{"m1", "let me "})
      .event(event::TextDelta{"m1", "see"})
      .event(event::TextEnd{"m1"});
  call(call(list, "c1", "find"), "c2", "web____search____plugin");
  usage(list);
  run_call(run_call(list, "c1", "find", false), "c2", "web____search____plugin", true);
  model_step(list, 2)
      .event(event::TextStart{"m2"})
      .event(event::TextDelta{"m2", "done"})
      .event(event::TextEnd{"m2"})
      .event(event::Citation{"m2", R"({"url":"https://a.example/","title":"A"})"});
  return finish(usage(list), journal::RunState::completed, "completed");
}

RecordList approved() {
  RecordList list = operation();
  call(model_step(list, 1).event(event::TextStart{"m1"}), "c1", "send");
  usage(list);
  event::RunEnd end{"thread-1", "op-1", event::RunOutcome::interrupt};
  end.interrupts_json =
      R"([{"id":"i1","reason":"tool_call","toolCallId":"c1","metadata":{"toolName":"send"}},)"
      R"({"id":"i2","reason":"input_required","message":"Which one?","metadata":{"options":["x"]}}])";
  return list.fact(journal::ApprovalRequested{}).event(end);
}

RecordList answered() {
  RecordList list = approved();
  list.fact(journal::ApprovalDecided{}).fact(journal::Segment{"other", {}, {}, {}});
  run_call(list, "c1", "send", false);
  model_step(list, 2).event(event::TextStart{"m2"}).event(event::TextDelta{"m2", "sent"});
  return finish(usage(list), journal::RunState::completed, "max_steps_completed");
}

RecordList of_client() {
  RecordList list = operation();
  usage(call(model_step(list, 1), "c1", "locate"));
  event::RunEnd end{"thread-1", "op-1", event::RunOutcome::success};
  end.calls_json = R"(["c1"])";
  return finish(list.event(end), journal::RunState::completed, "delegated");
}

RecordList failing() {
  RecordList list = operation();
  model_step(list, 1)
      .event(event::Retry{1, 500, "overloaded", "Later."})
      .event(event::TextStart{"m1"})
      .event(event::TextDelta{"m1", "half"})
      .event(event::Reset{"restart", 2})
      .fact(journal::StepStarted{1})
      .event(event::TextStart{"m2"})
      .event(event::TextDelta{"m2", "whole"})
      .event(event::Failed{"The key is wrong.", "invalid_key"});
  return finish(list, journal::RunState::failed, "error");
}

RecordList of_function() {
  RecordList list = operation();
  list.message("m1", "one").message("m2", "two").event(event::Stage{"stage", "{}"});
  return finish(list, journal::RunState::cancelled, "user_aborted");
}

RecordList of_stages() {
  RecordList list = operation();
  list.emit("stage", R"({"stage":"searching","detail":"the shelf"})").message("m1", "one");
  list.emit("stage", R"({"stage":"writing"})").message("m2", "two");
  return finish(list, journal::RunState::completed, "completed");
}

RecordList asking() {
  RecordList list = operation();
  list.message("m1", "first")
      .emit("requires_action",
            R"({"id":"run.length","reason":"input_required","message":"How long?","metadata":{}})");
  list.wait(10).fact(journal::ApprovalDecided{});
  return finish(list.message("m2", "then"), journal::RunState::completed, "completed");
}

const std::map<std::string, std::function<RecordList()>> samples{
    {"calls of tools", with_tools},           {"an approval and a choice", approved},
    {"an approval that was given", answered}, {"a tool of the client", of_client},
    {"a retry and a failure", failing},       {"a function that is stopped", of_function},
    {"a question of a function", asking},     {"stages of a function", of_stages},
};

std::vector<std::string> frames_of(const std::string& stream) {
  std::vector<std::string> frames;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t end = stream.find("\n\n", at) + 2;
    frames.push_back(stream.substr(at, end - at));
    at = end;
  }
  return frames;
}

std::string id_of(const std::string& frame) {
  return frame.substr(4, frame.find('\n') - 4);
}

std::int64_t time_of(const std::string& frame) {
  const auto data = json::Tree::parse(std::string_view(frame).substr(frame.find("\ndata: ") + 7));
  return data.ok() ? data.value()["timestamp"].integer_or(0) : 0;
}

}  // namespace

TEST(LobeOperation, WritesGoldenStreams) {
  std::size_t cases = 0;
  for (const test::GoldenCase& golden : test::golden_cases("encoder/lobe_operation.md")) {
    SCOPED_TRACE(golden.name);
    ASSERT_TRUE(samples.contains(golden.name));
    EXPECT_EQ(streamed(samples.at(golden.name)()), golden.blocks.at(0).text);
    ++cases;
  }
  EXPECT_EQ(cases, samples.size());
}

TEST(LobeOperation, GoesOnExactlyBehindEveryEvent) {
  for (const auto& [name, make] : samples) {
    SCOPED_TRACE(name);
    const RecordList list = make();
    const std::string whole = streamed(list);
    const std::vector<std::string> frames = frames_of(whole);
    std::size_t behind = 0;
    for (const std::string& frame : frames) {
      behind += frame.size();
      const auto cursor = encoder::parse_lobe_cursor(id_of(frame));
      ASSERT_TRUE(cursor);
      EXPECT_EQ(streamed(list, *cursor), whole.substr(behind)) << id_of(frame);
    }
  }
}

// As clients of LobeHub's do, which keep the timestamp of the last event.
TEST(LobeOperation, GoesOnExactlyBehindEveryTime) {
  for (const auto& [name, make] : samples) {
    SCOPED_TRACE(name);
    const RecordList list = make();
    const std::string whole = streamed(list);
    std::size_t behind = 0;
    std::int64_t before = 0;
    for (const std::string& frame : frames_of(whole)) {
      behind += frame.size();
      const std::int64_t at_ms = time_of(frame);
      EXPECT_GT(at_ms, before) << frame;
      before = at_ms;
      EXPECT_EQ(streamed(list, LobeCursor{.at_ms = at_ms}), whole.substr(behind)) << frame;
    }
  }
}

TEST(LobeOperation, GoesOnBehindEveryRecord) {
  const RecordList list = answered();
  const std::vector<std::string> frames = frames_of(streamed(list));
  for (std::uint64_t seq = 0; seq <= list.records.size(); ++seq) {
    std::string rest;
    for (const std::string& frame : frames) {
      if (encoder::parse_lobe_cursor(id_of(frame))->seq > seq) rest += frame;
    }
    EXPECT_EQ(streamed(list, *encoder::parse_lobe_cursor(std::to_string(seq))), rest) << seq;
  }
}

TEST(LobeOperation, WritesJson) {
  for (const auto& [name, make] : samples) {
    for (const std::string& frame : frames_of(streamed(make()))) {
      const std::size_t at = frame.find("\ndata: ") + 7;
      const auto data = json::Tree::parse(std::string_view(frame).substr(at));
      ASSERT_TRUE(data.ok()) << frame;
      EXPECT_EQ(data.value()["id"].string(), id_of(frame));
    }
  }
}

TEST(LobeOperation, NamesTheModelAndTheClassesOfErrors) {
  const std::string millrace = R"("metadata":{"millrace":{"errorType":"InvalidOllamaArgs"}})";
  for (const auto& [code, extra, name] : std::vector<std::array<std::string, 3>>{
           {"authentication_failed", "", "InvalidProviderAPIKey"},
           {"authentication_failed", millrace, "InvalidOllamaArgs"},
           {"internal", "", "AgentRuntimeError"},
           {"of a provider", "", "ProviderBizError"}}) {
    RecordList list = operation();
    list.fact(journal::StepStarted{1})
        .fact(journal::ModelRequested{1, 1, 0, "m-1", "p-1"})
        .event(event::StepStart{"step"})
        .event(event::Retry{1, 500, "rate_limited", "Later."})
        .event(event::TextStart{"m1"})
        .event(event::Failed{"It failed.", code}, 0, extra);
    const std::string events = streamed(finish(list, journal::RunState::failed, "error"));
    EXPECT_NE(events.find(R"("threadId":"thread-1"},"model":"m-1","provider":"p-1"})"),
              std::string::npos)
        << events;
    EXPECT_NE(events.find(R"("delayMs":500,"errorType":"RateLimitExceeded")"), std::string::npos)
        << events;
    EXPECT_NE(events.find(R"("error":"It failed.","errorType":")" + name + '"'), std::string::npos)
        << events;
  }
}

// Who reads an operation that waited sees no end in its middle.
TEST(LobeOperation, EndsOnceWhateverItWaitedFor) {
  for (const auto& [name, make] : samples) {
    const std::string whole = streamed(make());
    const std::string end = "event: agent_runtime_end\n";
    const std::size_t first = whole.find(end);
    ASSERT_NE(first, std::string::npos) << name;
    EXPECT_EQ(whole.find(end, first + 1), std::string::npos) << name;
  }
}

TEST(LobeOperation, ReadsPlacesOfEventsAndNothingElse) {
  EXPECT_EQ(encoder::parse_lobe_cursor("")->seq, 0U);
  EXPECT_EQ(encoder::parse_lobe_cursor("12-3")->part, 3U);
  EXPECT_EQ(encoder::parse_lobe_cursor("12")->part, LobeCursor::all);
  EXPECT_EQ(encoder::parse_lobe_cursor("999999999999")->at_ms, 0);
  const LobeCursor time = *encoder::parse_lobe_cursor("1000000000000");
  EXPECT_EQ(time, (LobeCursor{.at_ms = 1'000'000'000'000}));
  EXPECT_EQ(time.or_later({7, 1}), (LobeCursor{7, 1, 1'000'000'000'000}));
  EXPECT_EQ((LobeCursor{7, 1}.or_later(time)), (LobeCursor{7, 1, 1'000'000'000'000}));
  for (const char* wrong : {"x", "1-", "-1", "1-x", "1.5", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(encoder::parse_lobe_cursor(wrong)) << wrong;
  }
}

TEST(LobeOperation, WritesFramesThatAreNoEventsWithoutAnId) {
  EXPECT_EQ(
      RecordedLobe::connected("op", "12-3", 5),
      "event: connected\ndata: {\"type\":\"connected\",\"operationId\":\"op\",\"timestamp\":5,"
      "\"lastEventId\":\"12-3\"}\n\n");
  EXPECT_EQ(RecordedLobe::heartbeat("op", 5),
            "data: {\"type\":\"heartbeat\",\"operationId\":\"op\",\"timestamp\":5}\n\n");
}
