// Approvals that a provider asks for before it calls a tool of an MCP server itself.
#include <gtest/gtest.h>

#include "agent/decision.hpp"
#include "run/session_rig.hpp"
#include "run/suspended_runs.hpp"
#include "support/tree.hpp"

namespace {

using namespace millrace;
using json::Tree;
using run::AgentOutcome;
using test::ModelAnswer;
using test::SessionRig;
using test::tree;

constexpr const char* responses = R"(,"apiMode":"responses")";

std::string approval_item(const std::string& id, const std::string& name) {
  return R"({"id":")" + id + R"(","type":"mcp_approval_request","server_label":"dice","name":")" +
         name + R"(","arguments":"{\"sides\":6}"})";
}

std::string call_item(const std::string& id, const std::string& name) {
  return R"({"id":"fc_)" + id + R"(","type":"function_call","call_id":")" + id + R"(","name":")" +
         name + R"(","arguments":"{}","status":"completed"})";
}

const std::string answered =
    R"({"id":"msg_1","type":"message","role":"assistant","status":"completed",)"
    R"("content":[{"type":"output_text","text":"A six.","annotations":[]}]})";

ModelAnswer items(const std::vector<std::string>& output) {
  std::string body = R"(data: {"type":"response.created","response":{"id":"resp_1","output":[]}})";
  body += "\n\n";
  for (std::size_t at = 0; at < output.size(); ++at) {
    body += R"(data: {"type":"response.output_item.done","output_index":)" + std::to_string(at) +
            R"(,"item":)" + output[at] + "}\n\n";
  }
  return {body + R"(data: {"type":"response.completed","response":{"id":"resp_1",)" +
          R"("status":"completed","output":[]}})" + "\n\n"};
}

run::AgentInput resume(const std::vector<std::pair<std::string, std::string>>& answers) {
  run::AgentInput input;
  input.thread_id = "thread";
  input.run_id = "run2";
  input.messages_json = "[]";
  input.resume_json = "[";
  for (const auto& [id, entry] : answers) {
    if (input.resume_json.size() > 1) input.resume_json += ',';
    input.resume_json += R"({"interruptId":")" + id + R"(",)" + entry + "}";
  }
  input.resume_json += ']';
  return input;
}

constexpr const char* approved = R"("status":"resolved","payload":{"approved":true})";
constexpr const char* rejected =
    R"("status":"resolved","payload":{"approved":false,"reason":"no dice"})";

std::string id_at(const AgentOutcome& outcome, std::size_t at) {
  return std::string(outcome.interrupts.items().at(at)["id"].string());
}

class VendorApprovals : public ::testing::Test {
 protected:
  // The first answer of the model, and how the run ends.
  AgentOutcome ask(const std::vector<std::string>& output) {
    rig.provider.answers = {items(output), items({answered})};
    rig.request();
    return rig.end();
  }
  Result<run::AgentTask> task_for(const run::AgentInput& input) {
    return run::saved_task(rig.rested_state, rig.rested_context, input, rig.plan(), 0, rig.ids);
  }
  AgentOutcome answer(const std::vector<std::pair<std::string, std::string>>& answers) {
    auto task = task_for(resume(answers));
    EXPECT_TRUE(task.ok()) << (task.ok() ? "" : task.error().message);
    if (!task) return {};
    rig.start(std::move(task).value());
    return rig.end();
  }
  Errc code_of(const std::string& id, const std::string& entry) {
    auto task = task_for(resume({{id, entry}}));
    return task ? Errc::internal : task.error().code;
  }
  // What the last request held behind the user's message.
  std::string input() {
    Tree sent = Tree::array();
    const Tree body = tree(rig.provider.bodies.back());
    const auto& all = body["input"].items();
    for (std::size_t at = 1; at < all.size(); ++at) sent.push(all[at]);
    return sent.to_json();
  }

  SessionRig rig{"", responses};
};

TEST_F(VendorApprovals, EndTheRunWithAnInterrupt) {
  const AgentOutcome outcome = ask({approval_item("mcpr_1", "roll")});
  ASSERT_EQ(outcome.kind, AgentOutcome::Kind::waiting);
  ASSERT_EQ(outcome.interrupts.items().size(), 1U);
  const Tree& interrupt = outcome.interrupts.items().front();
  EXPECT_EQ(interrupt["reason"].string(), "tool_call");
  EXPECT_EQ(interrupt["message"].string(),
            R"(May the tool roll of the MCP server dice run with {"sides":6}?)");
  EXPECT_EQ(interrupt["toolCallId"].string(), "mcpr_1");
  EXPECT_EQ(interrupt["metadata"]["toolName"].string(), "roll");
  EXPECT_EQ(interrupt["metadata"]["serverLabel"].string(), "dice");
  EXPECT_EQ(interrupt["metadata"]["arguments"].to_json(), R"({"sides":6})");
  EXPECT_TRUE(interrupt["responseSchema"]["properties"]["editedArgs"].is_null());
  EXPECT_EQ(rig.session->state()["status"].string(), "waiting_for_human");
}

TEST_F(VendorApprovals, AreSentBehindTheirRequestOnce) {
  const AgentOutcome outcome = ask({approval_item("mcpr_1", "roll")});
  EXPECT_EQ(answer({{id_at(outcome, 0), approved}}).kind, AgentOutcome::Kind::finished);
  const std::string response =
      R"({"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true})";
  EXPECT_EQ(input(), "[" + approval_item("mcpr_1", "roll") + "," + response + "]");
  EXPECT_EQ(rig.states["mcp_approval_response"], std::vector<std::string>{response});
  EXPECT_TRUE(rig.results.empty());
  EXPECT_EQ(code_of(id_at(outcome, 0), approved), Errc::approval_mismatch);
}

TEST_F(VendorApprovals, TellTheProviderWhyTheyAreRefused) {
  const AgentOutcome outcome =
      ask({approval_item("mcpr_1", "roll"), approval_item("mcpr_2", "hide")});
  ASSERT_EQ(outcome.interrupts.items().size(), 2U);
  const AgentOutcome waiting = answer({{id_at(outcome, 1), rejected}});
  ASSERT_EQ(waiting.kind, AgentOutcome::Kind::waiting);
  ASSERT_EQ(waiting.interrupts.items().size(), 1U);
  EXPECT_EQ(id_at(waiting, 0), id_at(outcome, 0));
  EXPECT_EQ(rig.provider.bodies.size(), 1U);
  EXPECT_EQ(answer({{id_at(waiting, 0), R"("status":"cancelled")"}}).kind,
            AgentOutcome::Kind::finished);
  EXPECT_EQ(
      input(),
      "[" + approval_item("mcpr_1", "roll") + "," + approval_item("mcpr_2", "hide") +
          R"(,{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":false},)"
          R"({"type":"mcp_approval_response","approval_request_id":"mcpr_2","approve":false,)"
          R"("reason":"no dice"}])");
}

TEST_F(VendorApprovals, CannotBeMadeUpOrEdited) {
  const AgentOutcome outcome = ask({approval_item("mcpr_1", "roll")});
  const std::string id = id_at(outcome, 0);
  EXPECT_EQ(code_of("mcpr_1", approved), Errc::approval_mismatch);
  EXPECT_EQ(code_of(id, R"("payload":{"approved":true,"editedArgs":{"sides":1}})"),
            Errc::invalid_argument);
  EXPECT_EQ(code_of(id, R"("payload":{"approved":true,"arguments":{"sides":1}})"),
            Errc::approval_mismatch);
  EXPECT_EQ(code_of(id, R"("payload":{"approved":true,"hash":"0"})"), Errc::approval_mismatch);
  EXPECT_EQ(code_of(id, R"("payload":{"approved":1})"), Errc::invalid_argument);
  Tree changed = rig.rested_state;
  changed.at("pendingToolsCalling").items().front().set("arguments", "{}");
  EXPECT_FALSE(run::saved_task(changed, Tree(), resume({{id, approved}}), rig.plan(), 0, rig.ids));
  rig.rested_state.erase("openQuestions");
  EXPECT_EQ(code_of(id, approved), Errc::approval_mismatch);
}

TEST_F(VendorApprovals, AreAnsweredInPartBesideThoseOfHostTools) {
  for (const char* name : {"quick", "asked"}) rig.tools[name]->always = {"done"};
  const AgentOutcome outcome =
      ask({approval_item("mcpr_1", "quick"), call_item("a", "quick"), call_item("b", "asked")});
  ASSERT_EQ(outcome.interrupts.items().size(), 2U);
  EXPECT_EQ(rig.tools["quick"]->begun, std::vector<std::string>{"a"});
  std::map<std::string, std::string> ids;
  for (const Tree& interrupt : outcome.interrupts.items()) {
    ids[std::string(interrupt["toolCallId"].string())] = interrupt["id"].string();
  }
  // What is approved runs, and the run waits for the rest.
  const AgentOutcome rest = answer({{ids["b"], approved}});
  ASSERT_EQ(rest.kind, AgentOutcome::Kind::waiting);
  ASSERT_EQ(rest.interrupts.items().size(), 1U);
  EXPECT_EQ(id_at(rest, 0), ids["mcpr_1"]);
  EXPECT_EQ(rig.tools["asked"]->begun, std::vector<std::string>{"b"});
  EXPECT_EQ(answer({{ids["mcpr_1"], approved}}).kind, AgentOutcome::Kind::finished);
  EXPECT_EQ(rig.tools["quick"]->begun, std::vector<std::string>{"a"});
  const std::string sent = input();
  EXPECT_NE(sent.find(R"("approval_request_id":"mcpr_1","approve":true)"), std::string::npos);
  EXPECT_NE(sent.find(R"("call_id":"b","output":"done")"), std::string::npos) << sent;
}

TEST_F(VendorApprovals, AreAnsweredTogetherWithThoseOfHostTools) {
  for (const char* name : {"quick", "asked"}) rig.tools[name]->always = {"done"};
  for (const bool turned : {false, true}) {
    const AgentOutcome outcome = ask({approval_item("mcpr_1", "roll"), call_item("b", "asked")});
    std::vector<std::pair<std::string, std::string>> answers{{id_at(outcome, 0), approved},
                                                             {id_at(outcome, 1), approved}};
    if (turned) std::swap(answers[0], answers[1]);
    EXPECT_EQ(answer(answers).kind, AgentOutcome::Kind::finished);
    EXPECT_NE(input().find(R"("approval_request_id":"mcpr_1","approve":true)"), std::string::npos);
  }
  EXPECT_EQ(rig.tools["asked"]->started, 2U);
}

TEST_F(VendorApprovals, EndWithARunThatIsStopped) {
  const AgentOutcome outcome = ask({approval_item("mcpr_1", "roll"), call_item("b", "asked")});
  const AgentOutcome stopped =
      answer({{id_at(outcome, 0), R"("payload":{"approved":false,"stop":true})"}});
  EXPECT_EQ(stopped.kind, AgentOutcome::Kind::cancelled);
  ASSERT_EQ(rig.states["mcp_approval_response"].size(), 1U);
  EXPECT_NE(rig.states["mcp_approval_response"][0].find(R"("approve":false)"), std::string::npos);
  EXPECT_EQ(rig.provider.bodies.size(), 1U);
}

TEST_F(VendorApprovals, GetNamesOfTheirOwnWhereIdsComeAgain) {
  const AgentOutcome outcome = ask({approval_item("mcpr_1", "roll")});
  rig.provider.answers = {items({approval_item("mcpr_1", "roll")}), items({answered})};
  const AgentOutcome again = answer({{id_at(outcome, 0), approved}});
  ASSERT_EQ(again.kind, AgentOutcome::Kind::waiting);
  ASSERT_EQ(again.interrupts.items().size(), 1U);
  EXPECT_EQ(answer({{id_at(again, 0), rejected}}).kind, AgentOutcome::Kind::finished);
  const Tree body = tree(rig.provider.bodies.back());
  std::string verdicts;
  for (const Tree& item : body["input"].items()) {
    if (item["type"].string() != "mcp_approval_response") continue;
    EXPECT_EQ(item["approval_request_id"].string(), "mcpr_1");
    verdicts += item["approve"].is_true() ? 'y' : 'n';
  }
  EXPECT_EQ(verdicts, "yn");
}

TEST_F(VendorApprovals, WithoutAnIdCannotBeAskedFor) {
  EXPECT_EQ(ask({approval_item("", "roll"), answered}).kind, AgentOutcome::Kind::finished);
}

TEST_F(VendorApprovals, AreDecidedOnAllAtOnce) {
  ask({approval_item("mcpr_1", "roll"), call_item("b", "asked")});
  auto decided =
      agent::apply_decision(rig.rested_state, tree(R"({"action":"approve_all"})"), 0, rig.ids);
  ASSERT_TRUE(decided.ok());
  const Tree& calls = decided.value()["nextContext"]["payload"]["approvedToolCalls"];
  ASSERT_EQ(calls.items().size(), 1U);
  EXPECT_EQ(calls.items().front()["id"].string(), "b");
}

}  // namespace
