// Agents that an agent of a recorded run calls: runs of their own on its line, which go on after a
// crash from their own last steps.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "durable_rig.hpp"

namespace millrace::run {
namespace {

using journal::CallState;
using journal::RunState;
using test::calls;
using test::chat_record;
using test::DurableRig;
using test::ModelAnswer;
using test::text_answer;

using Names = std::vector<std::string>;

ModelAnswer cut_answer(const std::string& text) {
  return {chat_record(R"({"role":"assistant","content":")" + text + R"("})", "null"), 200, true};
}

std::vector<store::RunRow> agents_of(DurableRig& rig, const store::RunId& run) {
  std::vector<store::RunRow> rows;
  rig.on_store([&](store::StorageBackend& backend) { rows = backend.children(run).value(); });
  return rows;
}

store::RunRow agent_of(DurableRig& rig, const store::RunId& run, const std::string& name) {
  for (const store::RunRow& row : agents_of(rig, run)) {
    if (row.run.name == name) return row;
  }
  ADD_FAILURE() << "no run of " << name;
  return {};
}

std::vector<store::CallRow> calls_of(DurableRig& rig, const store::RunId& run) {
  std::vector<store::CallRow> rows;
  rig.on_store([&](store::StorageBackend& backend) { rows = backend.calls(run).value(); });
  return rows;
}

template <class Condition>
void wait_until(DurableRig& rig, Condition condition) {
  bool is_met = false;
  while (!is_met) rig.on_loop([&] { is_met = condition(); });
}

// Calls that readers know to have begun.
std::ptrdiff_t begun_calls(const test::RecordLog& reader) {
  const std::size_t kind = journal::Fact(journal::ToolStarted{}).index();
  return std::count(reader.facts.begin(), reader.facts.end(), kind);
}

std::string approval_of(const std::string& id) {
  return R"([{"interruptId":")" + id + R"(","status":"resolved","payload":{"approved":true}}])";
}

// Every answer takes 13 tokens.
ModelAnswer with_usage(ModelAnswer answer) {
  const std::string usage =
      R"(data: {"id":"x","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,)"
      R"("total_tokens":13}})"
      "\n\n";
  answer.body.insert(answer.body.rfind("data: [DONE]"), usage);
  return answer;
}

std::int64_t tokens_of(const std::string& usage) {
  const auto tree = json::Tree::parse(usage);
  return tree ? tree.value()["llm"]["tokens"]["total"].integer_or(0) : -1;
}

TEST(DurableAgents, AreRunsOfTheirOwn) {
  DurableRig rig;
  rig.provider.answers = {calls({{"h", "helper"}}), calls({{"p", "pay"}, {"d", "deep"}}),
                          text_answer("Deep."), text_answer("Helped."), text_answer("Done.")};
  rig.tools["pay"]->outcomes = {{"paid"}};
  const store::RunId run = rig.start("Go.");
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(whole->texts["helper"], "Helped.");
  EXPECT_EQ(whole->texts["deep"], "Deep.");
  EXPECT_EQ(whole->agent_order["deep"],
            (Names{"agent", "step-1", "text", "/text", "/step", "/agent"}));
  const store::RunRow helper = agent_of(rig, run, "helper");
  const store::RunRow deep = agent_of(rig, run, "deep");
  EXPECT_EQ(helper.state, RunState::completed);
  EXPECT_EQ(deep.state, RunState::completed);
  EXPECT_EQ(helper.run.root, run);
  EXPECT_EQ(helper.run.parent, run);
  EXPECT_EQ(helper.run.parent_call, "h");
  EXPECT_EQ(deep.run.root, run);
  EXPECT_EQ(deep.run.parent, helper.run.id);
  EXPECT_EQ(deep.run.parent_call, "d");
  ASSERT_EQ(calls_of(rig, run).size(), 1U);
  EXPECT_EQ(calls_of(rig, run)[0].kind, journal::CallKind::child);
  EXPECT_EQ(calls_of(rig, run)[0].state, CallState::ok);
  EXPECT_EQ(calls_of(rig, helper.run.id).size(), 2U);
  EXPECT_TRUE(calls_of(rig, deep.run.id).empty());
}

TEST(DurableAgents, GoOnInAnAnswerThatWasCut) {
  DurableRig rig;
  rig.provider.answers = {calls({{"h", "helper"}}), calls({{"d", "deep"}}), cut_answer("De"),
                          text_answer("Deep."),     text_answer("Helped."), text_answer("Done.")};
  const store::RunId run = rig.start("Go.");
  const auto before = rig.attach(run, 0);
  wait_until(rig, [&] { return before->texts["deep"] == "De"; });
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(rig.provider.bodies.size(), 6U);
  EXPECT_EQ(whole->resets, 0U);
  EXPECT_EQ(whole->agent_resets["helper"], 0U);
  EXPECT_EQ(whole->agent_resets["deep"], 1U);
  EXPECT_EQ(whole->texts["deep"], "Deep.");
  EXPECT_EQ(whole->texts["helper"], "Helped.");
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(whole->agent_order["deep"], (Names{"agent", "step-1", "text", "/text", "/step",
                                               "step-1", "text", "/text", "/step", "/agent"}));
  EXPECT_EQ(whole->agents.size(), 2U);
  EXPECT_EQ(whole->results["d"], Names{"Deep."});
  EXPECT_EQ(whole->results["h"], Names{"Helped."});
  for (const store::RunRow& row : agents_of(rig, run)) EXPECT_EQ(row.state, RunState::completed);
}

TEST(DurableAgents, FollowTheEffectOfACallThatWasCut) {
  for (const auto& [tool, attempts] :
       {std::pair{"look", 2U}, std::pair{"put", 2U}, std::pair{"pay", 1U}}) {
    DurableRig rig;
    rig.provider.answers = {calls({{"h", "helper"}}), calls({{"a", tool}}), text_answer("Helped."),
                            text_answer("Done.")};
    const store::RunId run = rig.start("Go.");
    const auto before = rig.attach(run, 0);
    rig.wait_for_call(tool, "a");
    wait_until(rig, [&] { return begun_calls(*before) == 2; });
    rig.tools[tool]->open.clear();
    rig.crash();
    if (attempts > 1) rig.finish(tool, "a", {"result"});
    const auto whole = rig.read(run, 0);
    EXPECT_EQ(rig.tools[tool]->started, attempts) << tool;
    ASSERT_EQ(whole->results["a"].size(), 1U) << tool;
    EXPECT_EQ(whole->results["a"][0].find("unknown") != std::string::npos, attempts == 1) << tool;
    EXPECT_EQ(whole->text, "Done.");
    EXPECT_EQ(rig.provider.bodies.size(), 4U);
  }
}

TEST(DurableAgents, AreNotCalledAgainWhenTheyHaveEnded) {
  DurableRig rig;
  rig.provider.answers = {with_usage(calls({{"h", "helper"}, {"b", "look"}})),
                          with_usage(text_answer("Helped.")), cut_answer("Do"),
                          with_usage(text_answer("Done."))};
  const store::RunId run = rig.start("Go.");
  const auto first = rig.attach(run, 0);
  wait_until(rig, [&] { return !first->results["h"].empty(); });
  rig.wait_for_call("look", "b");
  rig.tools["look"]->open.clear();
  rig.crash();
  rig.finish("look", "b", {"seen"});
  const auto second = rig.attach(run, 0);
  wait_until(rig, [&] { return second->text == "Do"; });
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->results["h"], Names{"Helped."});
  EXPECT_EQ(whole->agent_order["helper"],
            (Names{"agent", "step-1", "text", "/text", "/step", "/agent"}));
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(tokens_of(whole->usage), 3 * 13);
  EXPECT_EQ(rig.provider.bodies.size(), 4U);
}

TEST(DurableAgents, WaitForTheUserInAnotherProcess) {
  DurableRig rig;
  rig.provider.answers = {calls({{"h", "helper"}}), calls({{"d", "deep"}}), calls({{"s", "send"}}),
                          text_answer("Deep."),     text_answer("Helped."), text_answer("Done.")};
  const store::RunId run = rig.start("Go.");
  const auto waiting = rig.read(run, 0);
  ASSERT_EQ(waiting->interrupts.size(), 1U);
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  EXPECT_EQ(agent_of(rig, run, "helper").state, RunState::waiting);
  EXPECT_EQ(agent_of(rig, run, "deep").state, RunState::waiting);
  rig.crash();
  EXPECT_FALSE(rig.answer(run, approval_of("made up")).ok());
  const auto answered = rig.answer(run, approval_of(waiting->interrupts[0]));
  ASSERT_TRUE(answered.ok()) << answered.error().message;
  rig.wait_for_call("send", "s");
  EXPECT_EQ(agent_of(rig, run, "helper").state, RunState::running);
  rig.crash();
  // Its outcome is unknown, and the agent that made the call learns that.
  const auto whole = rig.read(run, waiting->seqs.back());
  EXPECT_EQ(rig.tools["send"]->started, 1U);
  ASSERT_EQ(whole->results["s"].size(), 1U);
  EXPECT_NE(whole->results["s"][0].find("unknown"), std::string::npos);
  EXPECT_EQ(whole->texts["deep"], "Deep.");
  EXPECT_EQ(whole->results["h"], Names{"Helped."});
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(rig.provider.bodies.size(), 6U);
  EXPECT_EQ(rig.state_of(run), RunState::completed);
  EXPECT_EQ(agent_of(rig, run, "helper").state, RunState::completed);
  EXPECT_EQ(agent_of(rig, run, "deep").state, RunState::completed);
}

TEST(DurableAgents, KeepTheirQuestionsWhileOthersWork) {
  DurableRig rig;
  rig.provider.answers = {calls({{"h", "helper"}, {"b", "look"}}), calls({{"s", "send"}}),
                          text_answer("Helped."), text_answer("Done.")};
  rig.tools["send"]->outcomes = {{"sent"}};
  const store::RunId run = rig.start("Go.");
  wait_until(rig, [&] { return rig.tools["look"]->open.contains("b"); });
  for (bool waits = false; !waits;) {
    waits = !agents_of(rig, run).empty() && agent_of(rig, run, "helper").state == RunState::waiting;
  }
  rig.tools["look"]->open.clear();
  rig.crash();
  rig.finish("look", "b", {"seen"});
  const auto waiting = rig.read(run, 0);
  ASSERT_EQ(waiting->interrupts.size(), 1U);
  EXPECT_EQ(waiting->agent_order["helper"], (Names{"agent", "step-1", "/step", "waits"}));
  ASSERT_TRUE(rig.answer(run, approval_of(waiting->interrupts[0])).ok());
  const auto whole = rig.read(run, waiting->seqs.back());
  EXPECT_EQ(whole->results["s"], Names{"sent"});
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(rig.provider.bodies.size(), 4U);
}

TEST(DurableAgents, StopWithTheRun) {
  DurableRig rig;
  rig.provider.answers = {calls({{"h", "helper"}}), cut_answer("Hel")};
  const store::RunId run = rig.start("Go.");
  const auto reader = rig.attach(run, 0);
  wait_until(rig, [&] { return reader->texts["helper"] == "Hel"; });
  rig.on_loop([&] { EXPECT_TRUE(rig.runs->stop(run, "local", "enough")); });
  reader->ended.get_future().wait();
  EXPECT_EQ(reader->texts["helper"], "Hel");
  EXPECT_EQ(reader->agent_order["helper"].back(), "failed");
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  const store::RunRow helper = agent_of(rig, run, "helper");
  EXPECT_EQ(helper.state, RunState::cancelled);
  bool is_kept = false;
  rig.on_store([&](store::StorageBackend& backend) {
    const auto rows = backend.checkpoints(helper.run.id);
    is_kept = rows.value().back().data.find("Hel") != std::string::npos;
  });
  EXPECT_TRUE(is_kept);
}

TEST(DurableAgents, StopInTheNextProcessWhenTheirOwnEnded) {
  DurableRig rig;
  rig.provider.answers = {calls({{"h", "helper"}}), calls({{"d", "deep"}}), cut_answer("De")};
  const store::RunId run = rig.start("Go.");
  const auto reader = rig.attach(run, 0);
  wait_until(rig, [&] { return reader->texts["deep"] == "De"; });
  rig.on_store([&](store::StorageBackend&) { rig.disk->cut(1, false); });
  rig.on_loop([&] { EXPECT_TRUE(rig.runs->stop(run, "local", "enough")); });
  reader->ended.get_future().wait();
  rig.on_store([&](store::StorageBackend&) { rig.disk->restore(); });
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  EXPECT_EQ(agent_of(rig, run, "helper").state, RunState::cancelled);
  EXPECT_EQ(agent_of(rig, run, "deep").state, RunState::cancelled);
  EXPECT_EQ(whole->texts["deep"], "De");
  EXPECT_EQ(whole->agent_order["deep"],
            (Names{"agent", "step-1", "text", "/text", "/step", "failed"}));
  EXPECT_EQ(whole->agent_order["helper"].back(), "failed");
  EXPECT_EQ(whole->order.back(), "/run");
  EXPECT_EQ(rig.provider.bodies.size(), 3U);
}

TEST(DurableAgents, AreOverWhenAWaitingRunIsLeft) {
  DurableRig rig;
  rig.provider.answers = {calls({{"h", "helper"}}), calls({{"s", "send"}}), text_answer("New.")};
  const store::RunId run = rig.start("Go.");
  ASSERT_EQ(rig.read(run, 0)->interrupts.size(), 1U);
  const auto next = rig.open_run("reader-2", "Never mind.", "hash");
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  EXPECT_EQ(agent_of(rig, run, "helper").state, RunState::cancelled);
  EXPECT_EQ(calls_of(rig, run)[0].state, CallState::cancelled);
}

TEST(DurableAgents, WorkSideBySide) {
  DurableRig rig;
  rig.provider.answers = {calls({{"h1", "helper"}, {"h2", "helper"}}),
                          cut_answer("a"),
                          cut_answer("b"),
                          text_answer("One."),
                          text_answer("Two."),
                          text_answer("Done.")};
  const store::RunId run = rig.start("Go.");
  const auto before = rig.attach(run, 0);
  wait_until(rig, [&] { return before->texts["helper"].size() == 2; });
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->results["h1"], Names{"One."});
  EXPECT_EQ(whole->results["h2"], Names{"Two."});
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(whole->agents.size(), 2U);
  EXPECT_EQ(rig.provider.bodies.size(), 6U);
}

TEST(DurableAgents, HaveTheRestOfTheirTime) {
  DurableRig rig;
  rig.provider.answers = {calls({{"h", "helper"}}), cut_answer("a"), cut_answer("b"),
                          text_answer("Done.")};
  const store::RunId run = rig.start("Go.");
  const auto before = rig.attach(run, 0);
  wait_until(rig, [&] { return before->texts["helper"] == "a"; });
  rig.on_loop([&] { rig.clock.advance(std::chrono::milliseconds(600)); });
  rig.crash(std::chrono::hours{2});
  const auto after = rig.attach(run, 0);
  wait_until(rig, [&] { return after->texts["helper"] == "b"; });
  rig.on_loop([&] { rig.clock.advance(std::chrono::milliseconds(300)); });
  EXPECT_TRUE(after->results["h"].empty());
  rig.on_loop([&] { rig.clock.advance(std::chrono::milliseconds(200)); });
  after->ended.get_future().wait();
  ASSERT_EQ(after->results["h"].size(), 1U);
  EXPECT_NE(after->results["h"][0].find("did not end within 1000 ms"), std::string::npos);
  EXPECT_EQ(after->text, "Done.");
  EXPECT_EQ(agent_of(rig, run, "helper").state, RunState::cancelled);
}

TEST(DurableAgents, FailWhenTheirProcessesKeepEnding) {
  DurableRig rig;
  rig.provider.answers = {calls({{"h", "helper"}}), cut_answer("a"), cut_answer("b"),
                          cut_answer("c"), text_answer("Without help.")};
  const store::RunId run = rig.start("Go.");
  for (int crash = 0; crash < 3; ++crash) {
    const auto reader = rig.attach(run, 0);
    const std::string shown(1, static_cast<char>('a' + crash));
    wait_until(rig, [&] { return reader->texts["helper"] == shown; });
    rig.crash();
  }
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->text, "Without help.");
  ASSERT_EQ(whole->results["h"].size(), 1U);
  EXPECT_NE(whole->results["h"][0].find("cannot go on"), std::string::npos);
  EXPECT_EQ(whole->agent_order["helper"].back(), "failed");
  EXPECT_EQ(agent_of(rig, run, "helper").state, RunState::failed);
}

// A deploy does an agent as little harm as the run that called it.
TEST(DurableAgents, AreNotGivenUpByProcessesThatLetGoOfThem) {
  DurableRig rig;
  constexpr int ends = 5;
  rig.provider.answers = {calls({{"h", "helper"}})};
  for (int end = 0; end < ends; ++end) rig.provider.answers.push_back(cut_answer("a"));
  rig.provider.answers.push_back(text_answer("Helped."));
  rig.provider.answers.push_back(text_answer("Done."));
  const store::RunId run = rig.start("Go.");
  for (int end = 0; end < ends; ++end) {
    const auto reader = rig.attach(run, 0);
    const auto resets = static_cast<std::size_t>(end);
    wait_until(rig, [&] {
      return reader->agent_resets["helper"] == resets && reader->texts["helper"] == "a";
    });
    rig.crash({}, store::Release::clean);
  }
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->text, "Done.");
  ASSERT_EQ(whole->results["h"].size(), 1U);
  EXPECT_EQ(whole->results["h"][0], "Helped.");
}

// --- a crash at every commit

// What the model says depends on who is asked and how many results it has.
ModelAnswer respond(const std::string& body) {
  std::size_t results = 0;
  for (std::size_t at = body.find(R"("role":"tool")"); at != std::string::npos;
       at = body.find(R"("role":"tool")", at + 1)) {
    ++results;
  }
  // The task of an agent is the id of its call.
  const bool is_second = body.find(R"("content":"h2")") != std::string::npos ||
                         body.find(R"("content":"d2")") != std::string::npos;
  const std::string which = is_second ? "2" : "1";
  ModelAnswer answer;
  if (body.find("You are deep.") != std::string::npos) {
    answer = results == 0 ? calls({{"x" + which, "pay"}}) : text_answer("Deep.");
  } else if (body.find("You are helper.") != std::string::npos) {
    answer = results == 0
                 ? calls({{"p" + which, "pay"}, {"d" + which, "deep"}, {"l" + which, "look"}})
                 : text_answer("Helped.");
  } else {
    answer = results == 0 ? calls({{"h1", "helper"}, {"h2", "helper"}, {"q", "pay"}})
                          : text_answer("Done.");
  }
  return with_usage(std::move(answer));
}

struct Trial {
  std::size_t commits = 0;
  std::size_t unknown = 0;
};

// Runs to the end through one cut; Cuts that are reported let begin what waited for the commit.
Trial run_through_cut(std::size_t cut, bool is_reported) {
  SCOPED_TRACE("cut at " + std::to_string(cut) + (is_reported ? ", reported" : ", not reported"));
  DurableRig rig;
  rig.provider.respond = respond;
  for (const char* tool : {"pay", "look"}) rig.tools[tool]->always = tool::ToolOutcome{"result"};
  rig.on_store([&](store::StorageBackend&) { rig.disk->cut(cut, is_reported); });
  EXPECT_EQ(rig.try_start("Go.").ok(), cut > 1 || is_reported);
  wait_until(rig, [&] { return rig.runs->at_work() == 0; });
  Trial trial;
  store::RunId run;
  rig.on_store([&](store::StorageBackend& backend) {
    trial.commits = rig.disk->commits();
    rig.disk->restore();
    run = backend.runs({}).value().runs.at(0).run.id;
  });
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(rig.state_of(run), RunState::completed);
  EXPECT_EQ(agents_of(rig, run).size(), 4U);
  for (const store::RunRow& row : agents_of(rig, run)) EXPECT_EQ(row.state, RunState::completed);
  EXPECT_EQ(whole->results.size(), 11U);
  for (const auto& [call, results] : whole->results) {
    EXPECT_EQ(results.size(), 1U) << call;
    if (results[0].find("unknown") != std::string::npos) ++trial.unknown;
  }
  std::vector<std::string> paid = rig.tools["pay"]->begun;
  std::sort(paid.begin(), paid.end());
  EXPECT_EQ(std::adjacent_find(paid.begin(), paid.end()), paid.end()) << "a call was made twice";
  // What was spent in answers that are in the journal counts once.
  EXPECT_EQ(tokens_of(whole->usage), 10 * 13);
  return trial;
}

TEST(DurableAgents, EndTheSameWhereverTheirProcessEnds) {
  const std::size_t commits = run_through_cut(1000, true).commits;
  ASSERT_GT(commits, 8U);
  std::size_t unknown = 0;
  for (std::size_t cut = 1; cut <= commits; ++cut) {
    unknown += run_through_cut(cut, true).unknown;
    run_through_cut(cut, false);
    if (HasFailure()) return;
  }
  // Calls were cut, too.
  EXPECT_GT(unknown, 0U);
}

// Two agents ask the user; the cut is behind the answers to both.
std::size_t answer_through_cut(std::size_t cut, bool is_reported) {
  SCOPED_TRACE("cut at " + std::to_string(cut) + (is_reported ? ", reported" : ", not reported"));
  DurableRig rig;
  rig.provider.respond = [](const std::string& body) {
    const bool has_result = body.find(R"("role":"tool")") != std::string::npos;
    if (body.find("You are root.") != std::string::npos) {
      return with_usage(has_result ? text_answer("Done.")
                                   : calls({{"h1", "helper"}, {"h2", "helper"}}));
    }
    const bool is_second = body.find(R"("content":"h2")") != std::string::npos;
    return with_usage(has_result ? text_answer("Helped.")
                                 : calls({{is_second ? "s2" : "s1", "send"}}));
  };
  rig.tools["send"]->always = tool::ToolOutcome{"sent"};
  const store::RunId run = rig.start("Go.");
  const auto waiting = rig.read(run, 0);
  EXPECT_EQ(waiting->interrupts.size(), 2U);
  const std::string first = approval_of(waiting->interrupts.at(0));
  const std::string second = approval_of(waiting->interrupts.at(1));
  rig.on_store([&](store::StorageBackend&) { rig.disk->cut(cut, is_reported); });
  const std::string both = first.substr(0, first.size() - 1) + "," + second.substr(1);
  EXPECT_EQ(rig.answer(run, both).ok(), cut > 1 || is_reported);
  wait_until(rig, [&] { return rig.runs->at_work() == 0; });
  std::size_t commits = 0;
  rig.on_store([&](store::StorageBackend&) {
    commits = rig.disk->commits();
    rig.disk->restore();
  });
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(rig.state_of(run), RunState::completed);
  EXPECT_EQ(whole->text, "Done.");
  EXPECT_EQ(whole->interrupts.size(), 2U);
  EXPECT_EQ(whole->results.size(), 4U);
  for (const auto& [call, results] : whole->results) EXPECT_EQ(results.size(), 1U) << call;
  EXPECT_LE(rig.tools["send"]->begun.size(), 2U);
  for (const store::RunRow& row : agents_of(rig, run)) EXPECT_EQ(row.state, RunState::completed);
  EXPECT_EQ(tokens_of(whole->usage), 6 * 13);
  return commits;
}

TEST(DurableAgents, TakeAnswersOnceWhereverTheirProcessEnds) {
  const std::size_t commits = answer_through_cut(1000, true);
  ASSERT_GT(commits, 4U);
  for (std::size_t cut = 1; cut <= commits && !HasFailure(); ++cut) {
    answer_through_cut(cut, true);
    answer_through_cut(cut, false);
  }
}

}  // namespace
}  // namespace millrace::run
