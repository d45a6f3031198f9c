// What runs leave in their threads.
#include <memory>
#include <string>
#include <vector>

#include "durable_rig.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;
using test::calls;
using test::chat_record;
using test::DurableRig;
using test::text_answer;

struct ThreadRig : DurableRig {
  // Begins a run of the thread "t" with these messages.
  store::RunId begin(const std::string& ag_ui_run, const std::string& messages,
                     const std::string& resume = "") {
    StartRequest start;
    start.name = "agent";
    start.principal = "local";
    start.input.thread_id = "t";
    start.input.run_id = ag_ui_run;
    start.input.messages_json = messages;
    start.input.resume_json = resume;
    const auto found = request<FoundRun>([&](RunRequests& requests, auto done) {
      requests.open(std::move(start), std::move(done));
    });
    EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
    return found ? found.value().run : store::RunId();
  }
  std::vector<store::MessageRow> rows() {
    std::vector<store::MessageRow> rows;
    on_store(
        [&](store::StorageBackend& backend) { rows = backend.messages("local", "t").value(); });
    for (std::size_t at = 0; at < rows.size(); ++at) {
      EXPECT_EQ(rows[at].place, static_cast<std::int64_t>(at));
    }
    return rows;
  }
  // "role: content", calls as "+name", the status in brackets.
  std::vector<std::string> lines() {
    std::vector<std::string> lines;
    for (const store::MessageRow& row : rows()) {
      const Tree message = Tree::parse(row.json).value();
      EXPECT_EQ(message["id"].string(), row.id);
      EXPECT_FALSE(row.id.empty());
      EXPECT_TRUE(message["createdAt"].is_number());
      EXPECT_TRUE(store::RunId::parse(message["run"].string()));
      std::string& line = lines.emplace_back(message["role"].string());
      line.append(": ").append(message["content"].string());
      for (const Tree& call : message["toolCalls"].items()) {
        line.append("+").append(call["function"]["name"].string());
      }
      if (!message["status"].is_null()) line.append(" [").append(message["status"].string()) += "]";
    }
    return lines;
  }
  std::string json_of_row(std::size_t at) { return rows().at(at).json; }
  std::string messages() {
    std::string list;
    for (const store::MessageRow& row : rows()) list += (list.empty() ? "" : ",") + row.json;
    return list;
  }
};

using Lines = std::vector<std::string>;

constexpr const char* hello = R"([{"id":"u1","role":"user","content":"Hello, my dear."}])";

test::ModelAnswer part_of_answer(const std::string& text) {
  return {chat_record(R"({"role":"assistant","content":")" + text + R"("})", "null"), 200, true};
}

void wait_for_text(ThreadRig& rig, const test::RecordLog& reader, const std::string& text) {
  for (bool shown = false; !shown;) rig.on_loop([&] { shown = reader.text == text; });
}

TEST(ThreadMessages, AreThoseOfTheRequestsAndOfTheAnswers) {
  ThreadRig rig;
  rig.provider.answers = {calls({{"c", "look"}}), text_answer("Found."), text_answer("Again.")};
  rig.tools["look"]->outcomes = {{"seen"}};
  const store::RunId first = rig.begin("r1", hello);
  rig.read(first, 0);
  EXPECT_EQ(rig.lines(), (Lines{"user: Hello, my dear.", "assistant: +look", "tool: seen",
                                "assistant: Found."}));
  const Tree result = Tree::parse(rig.json_of_row(2)).value();
  EXPECT_EQ(result["toolCallId"].string(), "c");
  EXPECT_EQ(result["run"].string(), first.text());

  const std::string before = rig.messages();
  const store::RunId second =
      rig.begin("r2", "[" + before + R"(,{"id":"u2","role":"user","content":"Once more."}])");
  rig.read(second, 0);
  EXPECT_EQ(rig.lines(), (Lines{"user: Hello, my dear.", "assistant: +look", "tool: seen",
                                "assistant: Found.", "user: Once more.", "assistant: Again."}));
  EXPECT_TRUE(rig.messages().starts_with(before));
  rig.on_store([&](store::StorageBackend& backend) {
    const auto thread = backend.thread("local", "t").value();
    ASSERT_TRUE(thread);
    EXPECT_EQ(thread->title, "Hello, my dear.");
    EXPECT_FALSE(backend.thread("somebody else", "t").value());
  });
}

TEST(ThreadMessages, GetIdsWhereTheRequestHasNone) {
  ThreadRig rig;
  rig.provider.answers = {text_answer("One."), text_answer("Two."), text_answer("Two again.")};
  const std::string first = R"({"role":"user","content":"Same."})";
  rig.read(rig.begin("r1", "[" + first + "]"), 0);
  const std::string answer = R"({"role":"assistant","content":"One."})";
  rig.read(rig.begin("r2", "[" + first + "," + answer + "," + first + "]"), 0);
  rig.read(rig.begin("r3", "[" + first + "]"), 0);
  EXPECT_EQ(rig.lines(), (Lines{"user: Same.", "assistant: One.", "user: Same.", "assistant: Two.",
                                "user: Same.", "assistant: Two again."}));
}

TEST(ThreadMessages, KnowAnswersByWhereTheyAreAndNotByTheIdsOfAPage) {
  ThreadRig rig;
  rig.provider.answers = {text_answer("One."), text_answer("Two.")};
  const std::string first = R"({"id":"u1","role":"user","content":"1"})";
  const std::string second = R"({"id":"u2","role":"user","content":"2"})";
  const std::string answer = R"({"id":"of-the-page","role":"assistant","content":"One."})";
  rig.read(rig.begin("r1", "[" + first + "]"), 0);
  rig.read(rig.begin("r2", "[" + first + "," + answer + "," + second + "]"), 0);
  EXPECT_EQ(rig.lines(), (Lines{"user: 1", "assistant: One.", "user: 2", "assistant: Two."}));
}

TEST(ThreadMessages, BeginWithAHistoryThatAnotherStoreHad) {
  ThreadRig rig;
  rig.provider.answers = {text_answer("Two.")};
  rig.read(
      rig.begin("r1", R"([{"role":"user","content":"1"},{"role":"assistant","content":"One."},)"
                      R"({"role":"user","content":"2"}])"),
      0);
  EXPECT_EQ(rig.lines(), (Lines{"user: 1", "assistant: One.", "user: 2", "assistant: Two."}));
}

TEST(ThreadMessages, AreThereWhileTheUserIsAsked) {
  ThreadRig rig;
  rig.provider.answers = {calls({{"a", "send"}}), text_answer("Sent.")};
  rig.tools["send"]->outcomes = {{"sent"}};
  const store::RunId run = rig.begin("r1", hello);
  const auto waiting = rig.read(run, 0);
  const Lines first{"user: Hello, my dear.", "assistant: +send"};
  EXPECT_EQ(rig.lines(), first);
  const std::string before = rig.messages();
  rig.crash();
  rig.begin("r2", "[]",
            R"([{"interruptId":")" + waiting->interrupts.at(0) +
                R"(","status":"resolved","payload":{"approved":true}}])");
  rig.read(run, waiting->seqs.back());
  EXPECT_EQ(rig.lines(), (Lines{first[0], first[1], "tool: sent", "assistant: Sent."}));
  EXPECT_TRUE(rig.messages().starts_with(before)) << rig.messages();
}

TEST(ThreadMessages, AreWholeAfterACrash) {
  ThreadRig rig;
  rig.provider.answers = {calls({{"c", "look"}}), part_of_answer("Hel"), text_answer("Hello.")};
  rig.tools["look"]->outcomes = {{"seen"}};
  const store::RunId run = rig.begin("r1", hello);
  wait_for_text(rig, *rig.attach(run, 0), "Hel");
  EXPECT_EQ(rig.lines(), Lines{"user: Hello, my dear."});
  rig.crash();
  rig.read(run, 0);
  EXPECT_EQ(rig.lines(), (Lines{"user: Hello, my dear.", "assistant: +look", "tool: seen",
                                "assistant: Hello."}));
}

TEST(ThreadMessages, KeepWhatWasShownOfAnAnswerThatWasStopped) {
  ThreadRig rig;
  rig.provider.answers = {part_of_answer("Hel"), text_answer("Hello.")};
  const store::RunId run = rig.begin("r1", hello);
  const auto reader = rig.attach(run, 0);
  wait_for_text(rig, *reader, "Hel");
  rig.on_loop([&] { rig.runs->stop(run, "local", "enough"); });
  reader->ended.get_future().wait();
  EXPECT_EQ(rig.lines(), (Lines{"user: Hello, my dear.", "assistant: Hel [cancelled]"}));
}

TEST(ThreadMessages, KeepWhatAnEarlierProcessHadShown) {
  ThreadRig rig;
  rig.provider.answers = {part_of_answer("Hel")};
  const store::RunId run = rig.begin("r1", hello);
  wait_for_text(rig, *rig.attach(run, 0), "Hel");
  rig.name = "another";
  rig.crash();
  const auto stopped = rig.request<std::string>([&](RunRequests& requests, auto done) {
    requests.stop(run.text(), "local", {}, "enough", std::move(done));
  });
  ASSERT_TRUE(stopped.ok()) << stopped.error().message;
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  EXPECT_EQ(rig.lines(), (Lines{"user: Hello, my dear.", "assistant: Hel [cancelled]"}));
}

TEST(ThreadMessages, EndWithTheRunThatTheUserLeft) {
  ThreadRig rig;
  rig.provider.answers = {calls({{"a", "send"}}), text_answer("Hello.")};
  rig.read(rig.begin("r1", hello), 0);
  rig.read(rig.begin("r2", R"([{"id":"u2","role":"user","content":"No."}])"), 0);
  EXPECT_EQ(rig.lines(), (Lines{"user: Hello, my dear.", "assistant: +send [cancelled]",
                                "user: No.", "assistant: Hello."}));
}

TEST(ThreadMessages, AreWithoutThoseOfOtherAgents) {
  ThreadRig rig;
  rig.provider.answers = {calls({{"c", "helper"}}), text_answer("From the helper."),
                          text_answer("Done.")};
  const store::RunId run = rig.begin("r1", hello);
  const auto reader = rig.read(run, 0);
  ASSERT_EQ(reader->texts["helper"], "From the helper.");
  EXPECT_EQ(rig.lines(), (Lines{"user: Hello, my dear.", "assistant: +helper",
                                "tool: From the helper.", "assistant: Done."}));
}

// A question is answered again by a process that ends at one of its commits.
std::size_t answer_again_through_cut(std::size_t cut, bool is_reported) {
  SCOPED_TRACE("cut at " + std::to_string(cut) + (is_reported ? ", reported" : ", not reported"));
  ThreadRig rig;
  rig.provider.answers = {text_answer("Old."), text_answer("New."), text_answer("New.")};
  rig.read(rig.begin("r1", hello), 0);
  const Lines old{"user: Hello, my dear.", "assistant: Old."};
  EXPECT_EQ(rig.lines(), old);
  rig.on_store([&](store::StorageBackend&) { rig.disk->cut(cut, is_reported); });
  StartRequest start;
  start.name = "agent";
  start.principal = "local";
  start.input.thread_id = "t";
  start.input.run_id = "r2";
  start.input.messages_json = hello;
  store::ThreadUpdate update;
  update.cut_behind = "u1";
  start.input.thread = std::make_shared<const store::ThreadUpdate>(std::move(update));
  const auto found = rig.request<FoundRun>(
      [&](RunRequests& requests, auto done) { requests.open(std::move(start), std::move(done)); });
  EXPECT_EQ(found.ok(), cut > 1 || (cut == 1 && is_reported));
  for (bool is_over = false; !is_over;) {
    rig.on_loop([&] { is_over = rig.runs->at_work() == 0; });
  }
  std::size_t commits = 0;
  std::vector<store::RunRow> runs;
  rig.on_store([&](store::StorageBackend& backend) {
    commits = rig.disk->commits();
    rig.disk->restore();
    runs = backend.runs({}).value().runs;
  });
  // The old answer is there until another run is.
  EXPECT_EQ(runs.size(), cut == 0 ? 1U : 2U);
  if (runs.size() == 1) {
    EXPECT_EQ(rig.lines(), old);
    return commits;
  }
  rig.crash();
  for (const store::RunRow& row : runs) rig.read(row.run.id, 0);
  EXPECT_EQ(rig.lines(), (Lines{old[0], "assistant: New."}));
  return commits;
}

TEST(ThreadMessages, KeepTheOldAnswerUntilTheRunThatAnswersAgainIsThere) {
  const std::size_t commits = answer_again_through_cut(1000, true);
  ASSERT_GT(commits, 2U);
  for (std::size_t cut = 0; cut <= commits && !HasFailure(); ++cut) {
    answer_again_through_cut(cut, true);
    answer_again_through_cut(cut, false);
  }
}

TEST(ThreadMessages, DifferWhereReasoningHasTheIdOfItsAnswer) {
  const store::RunId run = store::RunId::of_uuid("00000000-0000-4000-8000-000000000001");
  ThreadMessages messages;
  messages.add(1, {event::ReasoningStart{"m"}});
  messages.add(1, {event::ReasoningDelta{"m", "Hm."}});
  messages.add(2, {event::TextStart{"m"}});
  messages.add(2, {event::TextDelta{"m", "Hi."}});
  messages.add(3, {event::Foreign{"THINKING_TEXT_MESSAGE_START",
                                  R"({"type":"THINKING_TEXT_MESSAGE_START"})"}});
  messages.add(3, {event::Foreign{"THINKING_TEXT_MESSAGE_CONTENT",
                                  R"({"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"So."})"}});
  const auto rows = messages.rows(run, RunState::completed);
  std::vector<std::string> ids;
  for (const store::ThreadEntry& entry : rows.messages) ids.push_back(entry.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"m", "m-assistant", run.text() + "-thinking-1"}));

  CountingIds made("made-");
  AgentInput input;
  input.messages_json = R"([{"id":"m","role":"reasoning","content":"Hm."},)"
                        R"({"id":"m","role":"assistant","content":"Hi."},)"
                        R"({"id":"m","role":"assistant","content":"Hi."}])";
  const auto given = given_messages(input, run, 5, made);
  ASSERT_EQ(given.messages.size(), 3U);
  EXPECT_EQ(given.messages[0].id, "m");
  EXPECT_EQ(given.messages[1].id, "m-assistant");
  EXPECT_EQ(given.messages[2].id, "m-assistant");
}

TEST(ThreadMessages, LeaveOutWhatThePageKnows) {
  CountingIds ids("made-");
  auto input = read_agent_input(
      R"({"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":)"
      R"([{"type":"text","text":"0123456789 0123456789 0123456789 012345\ud83d\ude00\ud83d\ude00"}],)"
      R"("attachments":["a"]}],"context":[{"description":"Page","value":"Home"}]})",
      {}, ids);
  ASSERT_TRUE(input.ok()) << input.error().message;
  const auto given = given_messages(input.value(), store::RunId(), 5, ids);
  ASSERT_EQ(given.messages.size(), 1U);
  EXPECT_EQ(given.messages[0].id, "u");
  EXPECT_EQ(given.title, "0123456789 0123456789 0123456789 012345\xF0\x9F\x98\x80");
  const Tree message = Tree::parse(given.messages[0].json).value();
  EXPECT_EQ(message["attachments"].items().size(), 1U);
  EXPECT_EQ(message["createdAt"].integer_or(0), 5);
}

}  // namespace
}  // namespace millrace::run
