// The job's log of runs as the engine records them: agents, approvals, crashes.

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "chat/job_log.hpp"
#include "durable_rig.hpp"
#include "journal/page.hpp"

namespace millrace::run {
namespace {

using test::calls;
using test::chat_record;
using test::DurableRig;
using test::text_answer;

void each_record_of(DurableRig& rig, const store::RunId& run,
                    const std::function<void(const journal::Record&)>& take) {
  rig.on_store([&](store::StorageBackend& backend) {
    constexpr std::size_t most_bytes = std::size_t{1} << 24U;
    const auto pages = backend.read(run, 0, most_bytes);
    ASSERT_TRUE(pages.ok());
    for (const store::StoredPage& page : pages.value()) {
      journal::PageReader records(page.bytes, page.last, page.count);
      while (true) {
        const auto record = records.next();
        ASSERT_TRUE(record.ok());
        if (record.value() == nullptr) break;
        take(*record.value());
      }
    }
  });
}

chat::JobLog log_of_run(DurableRig& rig, const store::RunId& run) {
  chat::JobOptions options;
  options.job_id = "job";
  options.has_deltas = true;
  chat::JobLog log(std::move(options));
  each_record_of(rig, run, [&](const journal::Record& record) { log.take(record); });
  return log;
}

// The steps that readers see begin.
std::string steps_of_run(DurableRig& rig, const store::RunId& run) {
  std::string steps;
  each_record_of(rig, run, [&](const journal::Record& record) {
    const auto* event = std::get_if<event::Event>(&record.body);
    const auto* start = event == nullptr ? nullptr : std::get_if<event::StepStart>(&event->body);
    if (start != nullptr) steps.append(start->name).append(" ");
  });
  return steps;
}

// The name of each event with its stage, or the id and the preview of its call, or its text.
std::string shown(const chat::JobLog& log) {
  std::string out;
  for (const chat::JobEvent& event : log.events_after(0)) {
    if (event.seq <= 5) continue;
    out += event.event;
    for (const std::string_view key : {"webchat_call_id", "stage", "detail", "arguments_preview",
                                       "result_preview", "content", "error"}) {
      const std::string_view text = event.payload[key].string();
      if (!text.empty()) out += " " + std::string(text);
    }
    out += "\n";
  }
  return out;
}

TEST(JobLogOfRuns, ShowsAgentsAndTheirCalls) {
  DurableRig rig;
  rig.provider.answers = {calls({{"h", "helper"}}), calls({{"p", "pay"}, {"d", "deep"}}),
                          text_answer("Deep."), text_answer("Helped."), text_answer("Done.")};
  rig.tools["pay"]->outcomes = {{"paid"}};
  const store::RunId run = rig.start("Go.");
  rig.read(run, 0);
  const chat::JobLog log = log_of_run(rig, run);
  std::string lines = shown(log);
  // It works beside the other agent.
  const std::string paid = "tool_end h/p paid\n";
  const std::size_t at = lines.find(paid);
  ASSERT_NE(at, std::string::npos) << lines;
  lines.erase(at, paid.size());
  EXPECT_EQ(
      lines,
      "stage context_ready\nstage waiting_model iteration=1 model=scripted\nstage preparing_tools "
      "1\n"
      "stage waiting_tools helper\nagent_start h {\"task\":\"h\"}\n"
      "agent_stage h context_ready\nagent_stage h waiting_model iteration=1 model=scripted\n"
      "agent_stage h preparing_tools 2\nagent_stage h waiting_tools pay, deep\n"
      "tool_start h/p {\"task\":\"p\"}\nagent_start h/d {\"task\":\"d\"}\n"
      "agent_stage h/d context_ready\nagent_stage h/d waiting_model iteration=1 model=scripted\n"
      "agent_stage h/d done\nagent_end h/d Deep.\n"
      "agent_stage h waiting_model iteration=2 model=scripted\nagent_stage h done\nagent_end h "
      "Helped.\n"
      "stage waiting_model iteration=2 model=scripted\nstage sending_message\nmessage Done.\n"
      "stage finalizing\nstage done\ndone\n");
  EXPECT_EQ(log.reply(), "Done.");
  EXPECT_TRUE(log.is_over());
  const json::Tree block = log.history_block();
  ASSERT_EQ(block["calls"].items().size(), 1U);
  EXPECT_EQ(block["calls"].items()[0]["children"].items().size(), 2U);
}

TEST(JobLogOfRuns, ShowsNothingTwiceAfterACrash) {
  DurableRig rig;
  rig.provider.answers = {
      {chat_record(R"({"role":"assistant","content":"Do"})", "null"), 200, true},
      text_answer("Done.")};
  const store::RunId run = rig.start("Go.");
  const auto before = rig.attach(run, 0);
  for (bool is_met = false; !is_met;) rig.on_loop([&] { is_met = before->text == "Do"; });
  rig.crash();
  rig.read(run, 0);
  const chat::JobLog log = log_of_run(rig, run);
  EXPECT_EQ(shown(log),
            "stage context_ready\nstage waiting_model iteration=1 model=scripted\n"
            "stage waiting_model iteration=1 model=scripted\nstage sending_message\nmessage Done.\n"
            "stage finalizing\nstage done\ndone\n");
  std::string deltas;
  for (const chat::JobEvent& event : log.events_after(chat::Cursor{})) {
    if (event.part == 0) continue;
    deltas += std::string(event.event) + " " +
              std::to_string(event.payload["index"].integer_or(-1)) + " " +
              std::string(event.payload["text"].string()) + "\n";
  }
  EXPECT_EQ(deltas, "message_delta 0 Do\nmessage_reset 0 \nmessage_delta 1 Done.\n");
}

TEST(JobLogOfRuns, ShowsNothingTwiceAfterACrashBehindATool) {
  DurableRig rig;
  rig.provider.answers = {
      calls({{"l", "look"}}),
      {chat_record(R"({"role":"assistant","content":"Do"})", "null"), 200, true},
      text_answer("Done.")};
  rig.tools["look"]->outcomes = {{"seen"}};
  const store::RunId run = rig.start("Go.");
  const auto before = rig.attach(run, 0);
  for (bool is_met = false; !is_met;) rig.on_loop([&] { is_met = before->text == "Do"; });
  rig.crash();
  rig.read(run, 0);
  EXPECT_EQ(log_of_run(rig, run).messages(), std::vector<std::string>{"Done."});
  // The first step had ended.
  EXPECT_EQ(steps_of_run(rig, run), "step-1 step-2 step-2 ");
}

TEST(JobLogOfRuns, WaitsForTheUser) {
  DurableRig rig;
  rig.provider.answers = {calls({{"s", "send"}}), text_answer("Sent.")};
  rig.tools["send"]->outcomes = {{"sent"}};
  const store::RunId run = rig.start("Go.");
  const auto waiting = rig.read(run, 0);
  ASSERT_EQ(waiting->interrupts.size(), 1U);
  const chat::JobLog before = log_of_run(rig, run);
  EXPECT_FALSE(before.is_over());
  EXPECT_EQ(before.snapshot(0)["waiting_input"]["action_id"].string(), waiting->interrupts[0]);
  const std::string answer = R"([{"interruptId":")" + waiting->interrupts[0] +
                             R"(","status":"resolved","payload":{"approved":true}}])";
  ASSERT_TRUE(rig.answer(run, answer).ok());
  rig.read(run, 0);
  const chat::JobLog log = log_of_run(rig, run);
  EXPECT_EQ(
      shown(log),
      "stage context_ready\nstage waiting_model iteration=1 model=scripted\n"
      "stage waiting_input send\nrequires_action s {\"task\":\"s\"}\nstage preparing_tools 1\n"
      "stage waiting_tools send\ntool_start s {\"task\":\"s\"}\ntool_end s sent\n"
      "stage waiting_model iteration=2 model=scripted\nstage sending_message\nmessage Sent.\n"
      "stage finalizing\nstage done\ndone\n");
  EXPECT_EQ(log.reply(), "Sent.");
  EXPECT_TRUE(log.snapshot(0)["waiting_input"].is_null());
}

}  // namespace
}  // namespace millrace::run
