// The block of an answer in the history: contract B.3 (finalisation), B.4 and the example of B.16.

#include "chat/call_tree.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chat/job_log.hpp"
#include "chat/job_rig.hpp"

namespace millrace::chat {
namespace {

using journal::RunState;
using json::Tree;

std::string start(int seq, const std::string& id, const std::string& parent) {
  return R"({"seq":)" + std::to_string(seq) +
         R"(,"event":"agent_start","payload":{"webchat_call_id":")" + id +
         R"(","parent_webchat_call_id":")" + parent + R"(","name":")" + id + R"("}})";
}

Tree list_of(const std::vector<std::string>& events) {
  std::string json = "[";
  for (const std::string& event : events) json += (json.size() > 1 ? "," : "") + event;
  return parsed(json + "]");
}

std::string ids(const Tree& calls) {
  std::string out;
  for (const Tree& call : calls.items()) {
    out += std::string(call["webchat_call_id"].string()) + "(" + ids(call["children"]) + ")";
  }
  return out;
}

TEST(CallTree, HasTheBlockOfTheWorkedExample) {
  RecordList list;
  list.begin();
  list.emit("tool_start", R"({"webchat_call_id":"agent_1","name":"web_agent","is_agent":true})");
  list.emit("agent_stage", R"({"webchat_call_id":"agent_1","agent_name":"web_agent",
    "stage":"waiting_model","detail":"iteration=1"})");
  list.emit("tool_start", R"({"webchat_call_id":"agent_1/search_1",
    "parent_webchat_call_id":"agent_1","name":"search"})");
  list.emit("tool_end", R"({"webchat_call_id":"agent_1/search_1",
    "parent_webchat_call_id":"agent_1","name":"search","result":"nested result"})");
  list.message("m", "final").wait(5);
  list.emit("tool_end", R"({"webchat_call_id":"agent_1","is_agent":true})");
  list.end(RunState::completed);
  const Tree block = log_of(list).history_block();
  EXPECT_TRUE(has_all(block, parsed(R"({"display_only":true,"mode":"chat","status":"done",
    "job_id":"0123456789abcdef0123456789abcdef","conversation_id":"conversation",
    "created_at":1795293874.684,"finished_at":1795293874.689,"duration_ms":5,
    "events":[{"seq":6,"event":"agent_start"},{"seq":7},{"seq":8},{"seq":9},
              {"seq":11,"event":"message"},{"seq":12}],
    "calls":[{"webchat_call_id":"agent_1","status":"done","ok":true,"is_agent":true,
      "current_stage":"waiting_model","current_stage_detail":"iteration=1","duration_ms":5,
      "children":[{"webchat_call_id":"agent_1/search_1","name":"search","depth":1,
        "agent_path":["web_agent"],"result_preview":"nested result","children":[],
        "timeline":[]}],
      "timeline":[{"type":"stage","seq":7,"stage":"waiting_model","detail":"iteration=1"},
                  {"type":"call","seq":8,"call":{"name":"search"}},
                  {"type":"message","seq":11,"content":"final"}]}],
    "timeline":[{"type":"call","seq":6,"call":{"webchat_call_id":"agent_1"}}]})")))
      << block.to_json();
}

TEST(CallTree, OrdersMessagesAndCallsAtTheTop) {
  RecordList list;
  list.begin().message("a", "before").emit("tool_start", R"({"tool_call_id":"c","name":"search"})");
  list.emit("tool_end", R"({"tool_call_id":"c","ok":false})").message("b", "after");
  list.end(RunState::completed);
  EXPECT_TRUE(has_all(log_of(list).history_block()["timeline"],
                      parsed(R"([{"type":"message","content":"before"},
                        {"type":"call","call":{"name":"search","status":"error","ok":false}},
                        {"type":"message","content":"after"}])")));
}

TEST(CallTree, OfACutJobHasEndsForItsCalls) {
  RecordList list;
  list.begin().emit("tool_start", R"({"tool_call_id":"c","name":"search"})").wait(7);
  list.end(RunState::cancelled);
  const Tree block = log_of(list).history_block();
  EXPECT_TRUE(has_all(block, parsed(R"({"status":"cancelled","events":[
    {"event":"tool_start"},{"event":"tool_end","payload":{"duration_ms":7}}],
    "calls":[{"status":"cancelled","ok":false,"result_preview":"cancelled"}]})")));
}

TEST(CallTree, EndsCallsOfEventsThatCameFromElsewhere) {
  Tree events = list_of({start(4, "a", ""), start(5, "a/b", "a")});
  BlockFacts facts;
  facts.status = "error";
  const Tree block = history_block(facts, events);
  EXPECT_TRUE(has_all(block["events"], parsed(R"([{"seq":4},{"seq":5},
    {"seq":6,"event":"tool_end","payload":{"webchat_call_id":"a/b","status":"error",
      "result_preview":"interrupted","ok":false}},
    {"seq":7,"payload":{"webchat_call_id":"a"}}])")));
  facts.status = "running";
  EXPECT_EQ(history_block(facts, events)["events"].items().size(), 2);
  EXPECT_TRUE(history_block(facts, Tree::array()).is_null());
}

TEST(CallTree, MakesRootsOfCallsWithoutAProperParent) {
  EXPECT_EQ(ids(call_tree(list_of({start(1, "a", "gone"), start(2, "b", "a")})).calls), "a(b())");
  EXPECT_EQ(ids(call_tree(list_of({start(1, "self", "self")})).calls), "self()");
  EXPECT_EQ(ids(call_tree(list_of({start(1, "a", "b"), start(2, "b", "a")})).calls), "a()b()");
  // The child's event came first.
  EXPECT_EQ(ids(call_tree(list_of({start(1, "a", "b"), start(2, "b", "")})).calls), "b(a())");
}

TEST(CallTree, StaysSmallHoweverDeepCallsAre) {
  std::vector<std::string> events;
  for (int level = 0; level < 500; ++level) {
    events.push_back(start(level + 1, "n" + std::to_string(level),
                           level == 0 ? "" : "n" + std::to_string(level - 1)));
  }
  BlockFacts facts;
  facts.status = "done";
  const std::string json = history_block(facts, list_of(events)).to_json();
  EXPECT_LT(json.size(), 4U << 20U);
  EXPECT_TRUE(Tree::parse(json));
}

TEST(CallTree, KeepsTheLastThousandEvents) {
  std::vector<std::string> events;
  for (int at = 1; at <= 1200; ++at) events.push_back(start(at, "c" + std::to_string(at), ""));
  BlockFacts facts;
  facts.status = "done";
  const Tree block = history_block(facts, list_of(events));
  ASSERT_EQ(block["events"].items().size(), 1000);
  EXPECT_EQ(block["events"].items().front()["seq"].integer_or(0), 201);
}

TEST(CallTree, KnowsAnAgentByItsStageAlone) {
  const Tree events = list_of({
      R"({"seq":1,"event":"agent_stage","payload":{"webchat_call_id":"x","name":"helper",
          "stage":"waiting_model","detail":"","stage_elapsed_ms":3,"elapsed_ms":4,
          "agent_path":["top"],"depth":1}})",
      start(2, "later", "")});
  const CallTree tree = call_tree(events);
  EXPECT_EQ(ids(tree.calls), "x()later()");
  EXPECT_TRUE(has_all(tree.calls.items()[0], parsed(R"({"name":"helper","is_agent":true,
    "current_stage":"waiting_model","current_stage_elapsed_ms":3,"agent_path":["top"],"depth":1,
    "status":"running","ok":null})")));
}

TEST(CallTree, RedactsAndCompletesAStoredBlock) {
  const Tree stored = parsed(R"({"display_only":true,"job_id":"job_1","conversation_id":"x",
    "calls":[{"webchat_call_id":"call_1","arguments_preview":"{\"api_key\":\"sk-legacy\"}",
      "result_preview":"Authorization: Bearer legacy-token","children":[]}],
    "events":[{"seq":2,"event":"tool_start","payload":{"name":"search",
      "arguments_preview":"{\"cookie\":\"sid=legacy-cookie\",\"q\":\"te"}},
      {"seq":3,"event":"message","payload":{"content":"password=mine"}}]})");
  const Tree shown = shown_block(stored);
  const std::string json = shown.to_json();
  for (const std::string_view secret : {"sk-legacy", "legacy-token", "legacy-cookie"}) {
    EXPECT_EQ(json.find(secret), std::string::npos) << secret;
  }
  EXPECT_EQ(shown.find("conversation_id"), nullptr);
  EXPECT_EQ(shown["events"].items()[1]["payload"]["content"].string(), "password=mine");
  EXPECT_EQ(shown["timeline"].items().size(), 2);
  EXPECT_EQ(shown["calls"].items()[0]["webchat_call_id"].string(), "call_1");
  EXPECT_EQ(shown_block(shown), shown);
  EXPECT_TRUE(shown_block(parsed(R"({"display_only":true,"events":[]})")).is_null());
  EXPECT_TRUE(shown_block(Tree()).is_null());
}

}  // namespace
}  // namespace millrace::chat
