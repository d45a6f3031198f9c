#include "agent/step/step_machine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "agent/decision.hpp"
#include "agent/general_agent.hpp"
#include "agent/state.hpp"
#include "agent/tokens.hpp"
#include "base/token_estimate.hpp"
#include "support/tree.hpp"

namespace millrace::agent {
namespace {

using json::Tree;
using test::tree;

StepOptions with_history() {
  return StepOptions::from(tree(R"({"tools":["f","g"],"model":true,"history":true})"));
}

TEST(StepMachine, IgnoresAnswersThatNobodyWaitsFor) {
  CountingIds ids("m");
  StepMachine machine(with_history(), ids);
  machine.begin(tree(R"({"operationId":"o","messages":[]})"), Tree(), 0);
  const Tree first = machine.take();
  ASSERT_EQ(first["actions"].items().size(), 1U);
  machine.complete(99, Tree(), 0);
  machine.progress(1, Tree::object());
  EXPECT_FALSE(machine.done());
  machine.abort("enough", 5);
  machine.complete(1, tree(R"({"type":"finish","reason":"completed"})"), 6);
  const Tree last = machine.take();
  EXPECT_EQ(last["outcome"]["newState"]["status"].string(), "interrupted");
  EXPECT_EQ(last["cancelled"].items().size(), 1U);
  EXPECT_EQ(last["outcome"]["newState"]["lastModified"].string(), "1970-01-01T00:00:00.005Z");
}

TEST(StepMachine, EndsWithAnErrorForAStateThatIsNone) {
  for (const std::string_view state : {"null", "[]", R"({"messages":[1]})", R"({"status":"x"})"}) {
    CountingIds ids("m");
    StepMachine machine(with_history(), ids);
    machine.begin(tree(state), Tree(), 0);
    ASSERT_TRUE(machine.done()) << state;
    EXPECT_EQ(machine.take()["outcome"]["newState"]["error"]["type"].string(), "invalid_state");
  }
}

// A run that asks for the approval of one call, and what is decided after `waited_ms`.
Result<Tree> decide_after(std::int64_t waited_ms, const std::string& decision) {
  CountingIds ids("m");
  StepOptions options = with_history();
  options.approval_ms = 1000;
  options.decide = [](Tree&, const Tree&) {
    return tree(R"({"type":"request_human_approve","pendingToolsCalling":[
        {"id":"c","identifier":"f","apiName":"f","arguments":"{}"}]})");
  };
  StepMachine machine(std::move(options), ids);
  machine.begin(tree(R"({"operationId":"o","messages":[],"metadata":{"groupId":"g1"}})"), Tree(),
                0);
  const Tree outcome = machine.take()["outcome"];
  const Tree& state_messages = outcome["newState"]["messages"];
  EXPECT_EQ(state_messages.items().back()["groupId"].string(), "g1");
  return apply_decision(outcome["newState"], tree(decision), waited_ms, ids);
}

TEST(StepMachine, TakesApprovalsInTimeOnly) {
  const std::string approve = R"({"action":"approve","toolCallId":"c"})";
  const std::string reject = R"({"action":"reject_and_continue","toolCallId":"c"})";
  EXPECT_TRUE(decide_after(1000, approve).ok());
  const auto late = decide_after(1001, approve);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Errc::approval_answered);
  EXPECT_TRUE(decide_after(1001, reject).ok());
  // Those of all calls are looked at where they are used.
  const auto all = decide_after(1001, R"({"action":"approve_all"})");
  ASSERT_TRUE(all.ok());
  CountingIds ids("n");
  StepMachine machine(with_history(), ids);
  machine.begin(all.value()["newState"], all.value()["nextContext"], 1001);
  ASSERT_TRUE(machine.done());
  EXPECT_EQ(machine.take()["outcome"]["events"].items().front()["error"]["type"].string(),
            "approval_answered");
}

TEST(StepMachine, CountsRoundsOfCallsThatCannotRun) {
  CountingIds ids("m");
  Tree state = tree(R"({"operationId":"o","messages":[]})");
  for (int round = 1; round <= 2; ++round) {
    StepMachine machine(with_history(), ids);
    machine.begin_instruction(
        tree(R"({"type":"call_tools_batch","payload":{"parentMessageId":"p","toolsCalling":[
            {"id":"a","identifier":"none","apiName":"none","arguments":"{}"},
            {"id":"b","identifier":"f","apiName":"f","arguments":"{"}]}})"),
        state, Tree(), 0);
    ASSERT_TRUE(machine.done());
    state = machine.take()["outcome"]["newState"];
    EXPECT_EQ(state["unresolvedToolFeedbackRounds"].integer_or(0), round);
  }
}

// How many tokens the rows have that a window of 4000 is compressed to, without a model to sum up.
std::int64_t compressed(const std::string& state, std::int64_t answer_tokens) {
  CountingIds ids("m");
  StepOptions options;
  options.answer_tokens = answer_tokens;
  StepMachine machine(std::move(options), ids);
  Tree instruction = tree(R"({"type":"compress_context","payload":{"maxWindowToken":4000}})");
  Tree& state_messages = instruction.at("payload").set("messages", tree(R"([{"role":"user"}])"));
  std::string text;
  while (text.size() < 40000) text.append("word ");
  state_messages.items()[0].set("content", text);
  machine.begin_instruction(std::move(instruction), tree(state), Tree(), 0);
  EXPECT_TRUE(machine.done());
  return estimate_context_tokens(machine.take()["outcome"]["newState"]["messages"], Tree());
}

// How often a tool of this effect is called that always fails with `failure`, thrown or as a
// result.
int calls_of(std::string_view effect, const Tree& failure, bool is_thrown) {
  CountingIds ids("m");
  StepOptions options = StepOptions::from(tree(R"({"tools":["f"],"retries":{"f":3}})"));
  options.decide = [](Tree&, const Tree&) {
    return tree(R"({"type":"call_tools_batch","payload":{"parentMessageId":"p","toolsCalling":[
        {"id":"c","identifier":"f","apiName":"f","arguments":"{}"}]}})");
  };
  Tree state = tree(R"({"operationId":"o","messages":[],"toolManifestMap":{"f":{}}})");
  state.at("toolManifestMap").at("f").set("effect", effect);
  StepMachine machine(std::move(options), ids);
  machine.begin(std::move(state), Tree(), 0);
  int calls = 0;
  while (!machine.done()) {
    const Tree action = machine.take()["actions"].items().front();
    EXPECT_EQ(action["payload"]["retry"].integer_or(0), calls);
    EXPECT_EQ(action["payload"]["waitMs"].integer_or(0), calls == 0 ? 0 : 100 << calls);
    ++calls;
    const auto id = static_cast<std::uint64_t>(action["id"].integer_or(0));
    Tree result = Tree::object();
    result.set("error", failure);
    if (is_thrown) {
      machine.fail(id, failure, 0);
    } else {
      machine.complete(id, std::move(result), 0);
    }
  }
  return calls;
}

// The waits before a model is asked again that always fails so, in milliseconds.
std::vector<std::int64_t> waits_of(const Tree& failure, bool shows_something) {
  CountingIds ids("m");
  StepOptions options = StepOptions::from(tree(R"({"model":true,"modelRetries":6})"));
  options.decide = [](Tree&, const Tree&) {
    return tree(R"({"type":"call_llm","payload":{"messages":[{"role":"user","content":"Hi"}]}})");
  };
  StepMachine machine(std::move(options), ids);
  machine.begin(tree(R"({"operationId":"o","messages":[{"role":"user","content":"Hi"}]})"), Tree(),
                0);
  std::vector<std::int64_t> waits;
  while (!machine.done()) {
    const Tree wanted = machine.take();
    const Tree& action = wanted["actions"].items().front();
    if (action["payload"]["retry"].integer_or(0) > 0) {
      waits.push_back(action["payload"]["waitMs"].integer_or(0));
      const Tree& data = wanted["events"].items().back()["data"];
      EXPECT_EQ(data["attempt"].integer_or(0), static_cast<std::int64_t>(waits.size()));
      EXPECT_EQ(data["delayMs"].integer_or(0), waits.back());
      EXPECT_EQ(data["maxAttempts"].integer_or(0), 7);
    }
    const auto id = static_cast<std::uint64_t>(action["id"].integer_or(0));
    if (shows_something) machine.progress(id, tree(R"({"content":"a"})"));
    machine.fail(id, failure, 0);
  }
  const Tree error = machine.take()["outcome"]["newState"]["error"];
  EXPECT_EQ(error["type"].string(), "T");
  EXPECT_TRUE(error["retry"].is_null());
  EXPECT_TRUE(error["errorType"].is_null());
  return waits;
}

TEST(StepMachine, AsksAModelAgainThatFailedInPassing) {
  const std::vector<std::int64_t> all{1000, 2000, 4000, 8000, 16000, 30000};
  const Tree busy = tree(R"({"type":"T","message":"m","errorType":"RateLimitExceeded"})");
  EXPECT_EQ(waits_of(busy, false), all);
  EXPECT_EQ(waits_of(tree(R"({"type":"T","message":"m","retry":true})"), false), all);
  const std::vector<std::int64_t> none;
  EXPECT_EQ(waits_of(busy, true), none);
  EXPECT_EQ(waits_of(tree(R"({"type":"T","message":"m","errorType":"Broken"})"), false), none);
}

// What a model wrote nearly as JSON is what runs and what its message holds; what is cut off is
// not.
TEST(StepMachine, RepairsArgumentsThatAreNearlyJson) {
  CountingIds ids("m");
  StepMachine machine(with_history(), ids);
  machine.begin_instruction(
      tree(R"({"type":"call_llm","payload":{"messages":[{"role":"user","content":"Hi"}]}})"),
      tree(R"({"operationId":"o","messages":[{"role":"user","content":"Hi"}]})"), Tree(), 0);
  const auto id =
      static_cast<std::uint64_t>(machine.take()["actions"].items().front()["id"].integer_or(0));
  machine.progress(id, tree(R"({"tool_calls":[
      {"id":"a","type":"function","function":{"name":"f","arguments":"{'x':1,}"}},
      {"id":"b","type":"function","function":{"name":"f","arguments":"{'x':"}},
      {"id":"c","type":"function","function":{"name":"g","arguments":"{'x':1}"}}],
    "turn":[{"id":"t","role":"assistant","toolCalls":[{"id":"c","metadata":{"millrace":
      {"providerState":[{"provider":"openai","kind":"custom","state":true}]}}}]}]})"));
  machine.complete(id, tree("{}"), 0);
  ASSERT_TRUE(machine.done());
  const Tree taken = machine.take();
  const Tree& state = taken["outcome"]["newState"];
  const auto& calls = state["messages"].items().back()["tool_calls"].items();
  ASSERT_EQ(calls.size(), 3U) << taken.to_json();
  EXPECT_EQ(calls[0]["function"]["arguments"].string(), R"({"x":1})");
  EXPECT_EQ(calls[1]["function"]["arguments"].string(), "{'x':");
  EXPECT_EQ(calls[2]["function"]["arguments"].string(), "{'x':1}");
  EXPECT_NE(taken.to_json().find(
                R"("repairedArguments":[{"id":"a","what":"a trailing comma, single quotes"}])"),
            std::string::npos)
      << taken.to_json();
}

TEST(StepMachine, TriesCallsAgainThatFailedInPassing) {
  const Tree thrown = tree(R"({"type":"T","message":"busy","retry":true})");
  for (const std::string_view effect : {"read", "idempotent", "keyed"}) {
    EXPECT_EQ(calls_of(effect, thrown, true), 4) << effect;
  }
  EXPECT_EQ(calls_of("once", thrown, true), 1);
  EXPECT_EQ(calls_of("read", tree(R"({"type":"T","message":"broken"})"), true), 1);
  EXPECT_EQ(calls_of("read", tree(R"({"kind":"retry","message":"busy"})"), false), 4);
  EXPECT_EQ(calls_of("read", tree(R"({"retryable":true,"message":"busy"})"), false), 4);
  EXPECT_EQ(calls_of("read", tree(R"({"message":"broken"})"), false), 1);
}

TEST(StepMachine, LeavesRoomInTheWindowForToolsAndTheAnswer) {
  std::string words;
  while (words.size() < 5000) words.append("word ");
  const std::string tools =
      R"("tools":[{"type":"function","function":{"name":"f","description":")" + words + "\"}}]";
  const std::int64_t room_of_tools = estimate_tokens(words);
  ASSERT_GT(room_of_tools, 500);
  const std::int64_t plain = compressed(R"({"messages":[]})", 0);
  EXPECT_LE(plain, 3500);
  EXPECT_GT(plain, 3300);
  EXPECT_LE(compressed(R"({"messages":[]})", 1500), 2500);
  EXPECT_LE(compressed(R"({"messages":[],)" + tools + "}", 0), 3500 - room_of_tools);
  // The last answer is asked for without tools.
  EXPECT_EQ(compressed(R"({"messages":[],"forceFinish":true,)" + tools + "}", 0), plain);
  // Something of the conversation is left whatever else there is.
  EXPECT_GT(compressed(R"({"messages":[]})", 8000), 800);
}

// What OpenAI, Anthropic and Gemini refuse: calls without a result right behind them, results
// without a call, ids that are used twice, rows of unknown roles. Gives "" or the complaint.
std::string complaint(const Tree& state_messages) {
  std::set<std::string> used;
  const auto& items = state_messages.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string_view role = items[i]["role"].string();
    if (role == "tool") return "a result without a call at " + std::to_string(i);
    if (role != "user" && role != "assistant" && role != "system") return "an unknown role";
    const auto& calls = items[i]["tool_calls"].items();
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const std::string id(calls[c]["id"].string());
      if (id.empty() || !used.insert(id).second) return "the id '" + id + "' is used twice";
      if (calls[c]["function"]["name"].string().empty()) return "a call without a name";
      const std::size_t at = i + 1 + c;
      if (at >= items.size() || items[at]["role"].string() != "tool" ||
          items[at]["tool_call_id"].string() != id || !items[at]["content"].is_string()) {
        return "the call '" + id + "' has no result behind it";
      }
    }
    i += calls.size();
  }
  return {};
}

// A run with a model, tools and people who do whatever chance tells them.
class Chaos {
 public:
  explicit Chaos(unsigned seed) : random_(seed), ids_("m") {}

  void run() {
    Tree partial = tree(R"({"operationId":"o","toolManifestMap":
        {"f":{},"g":{"humanIntervention":"required"}}})");
    state_ = initial_state(partial, 0);
    add_user();
    for (int i = 0; i < 14 && failed_.empty(); ++i) turn();
  }

  [[nodiscard]] const std::string& failed() const { return failed_; }
  [[nodiscard]] int model_calls() const { return model_calls_; }

 private:
  unsigned dice(unsigned sides) { return static_cast<unsigned>(random_() % sides); }

  void add_user() {
    Tree state_message = Tree::object();
    state_message.set("role", "user");
    state_message.set("content", "question " + std::to_string(dice(100)));
    state_.at("messages").push(std::move(state_message));
  }

  void turn() {
    const std::string_view status = state_["status"].string();
    if (status == "waiting_for_human" || status == "waiting_for_async_tool") {
      if (dice(4) != 0) return decide_something();
    }
    if (status == "done" || status == "error" || status == "interrupted" || dice(8) == 0) {
      state_.set("status", "running");
      state_.erase("interruption");
      context_ = Tree();
      add_user();
      if (dice(3) == 0) return compress();
    }
    step(context_);
  }

  void decide_something() {
    static constexpr std::array<std::string_view, 6> actions{
        "approve", "approve_all", "reject", "reject_and_continue", "stop", "tool_result"};
    Tree decision = Tree::object();
    decision.set("action", actions[dice(6)]);
    const auto& pending = state_["pendingToolsCalling"].items();
    if (!pending.empty()) {
      decision.set("toolCallId", pending[dice(static_cast<unsigned>(pending.size()))]["id"]);
    }
    if (dice(3) == 0) decision.set("editedArguments", R"({"edited":1})");
    decision.set("result", "from elsewhere");
    auto decided = apply_decision(state_, decision, ++now_, ids_);
    if (!decided) return;
    state_ = decided.value()["newState"];
    if (decided.value()["nextContext"].is_object()) step(decided.value()["nextContext"]);
  }

  void compress() {
    Tree instruction = Tree::object();
    instruction.set("type", "compress_context");
    instruction.at("payload").set("messages", state_["messages"]);
    StepMachine machine(with_history(), ids_);
    machine.begin_instruction(std::move(instruction), state_, Tree(), ++now_);
    drive(machine);
  }

  void step(const Tree& context) {
    StepMachine machine(with_history(), ids_);
    machine.begin(state_, context, ++now_);
    drive(machine);
  }

  void drive(StepMachine& machine) {
    for (int guard = 0; guard < 60; ++guard) {
      const Tree todo = machine.take();
      if (!todo["outcome"].is_null()) {
        state_ = todo["outcome"]["newState"];
        context_ = todo["outcome"]["nextContext"];
        return;
      }
      for (const Tree& action : todo["actions"].items()) open_.push_back(action);
      if (open_.empty()) {
        failed_ = "the step waits for nothing";
        return;
      }
      if (dice(25) == 0) {
        open_.clear();
        machine.abort("user", ++now_);
        continue;
      }
      const std::size_t chosen = dice(static_cast<unsigned>(open_.size()));
      const Tree action = open_[chosen];
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(chosen));
      answer(machine, action);
    }
    failed_ = "the step never ends";
  }

  void answer(StepMachine& machine, const Tree& action) {
    const auto id = static_cast<std::uint64_t>(action["id"].integer_or(0));
    const std::string_view kind = action["kind"].string();
    const Tree& payload = action["payload"];
    if (dice(20) == 0) return machine.fail(id, tree(R"({"message":"chance"})"), ++now_);
    if (kind == "runner") {
      const Tree decided = decide(payload["state"], payload["context"], Tree(), Tree(), {});
      return machine.complete(id, decided["instructions"], ++now_);
    }
    if (kind == "model") {
      ++model_calls_;
      const std::string wrong = complaint(payload["payload"]["messages"]);
      if (!wrong.empty() && failed_.empty()) {
        failed_ = wrong + " in " + payload["payload"]["messages"].to_json();
      }
      machine.progress(id, model_chunk());
      return machine.complete(id, Tree(), ++now_);
    }
    Tree result = Tree::object();
    result.set("content", "result");
    if (dice(10) == 0) result.set("deferred", Tree::flag(true));
    machine.complete(id, dice(5) == 0 ? Tree() : std::move(result), ++now_);
  }

  Tree model_chunk() {
    Tree chunk = Tree::object();
    chunk.set("content", "text");
    const unsigned calls = dice(4);
    Tree list = Tree::array();
    for (unsigned i = 0; i < calls; ++i) {
      Tree call = Tree::object();
      // Ids are empty or repeated now and then.
      call.set("id", dice(6) == 0 ? "" : "call" + std::to_string(dice(5)));
      call.set("type", "function");
      call.at("function").set("name", dice(8) == 0 ? "unknown" : (dice(2) == 0 ? "f" : "g"));
      call.at("function").set("arguments", dice(6) == 0 ? "{\"half" : "{}");
      list.push(std::move(call));
    }
    if (calls > 0) chunk.set("tool_calls", std::move(list));
    return chunk;
  }

  std::mt19937 random_;
  CountingIds ids_;
  Tree state_;
  Tree context_;
  std::vector<Tree> open_;
  std::string failed_;
  std::int64_t now_ = 1;
  int model_calls_ = 0;
};

TEST(StepMachine, NeverSendsAProviderAnInvalidHistory) {
  int model_calls = 0;
  for (unsigned seed = 1; seed <= 1000; ++seed) {
    Chaos chaos(seed);
    chaos.run();
    ASSERT_EQ(chaos.failed(), "") << "seed " << seed;
    model_calls += chaos.model_calls();
  }
  EXPECT_GT(model_calls, 3000);
}

}  // namespace
}  // namespace millrace::agent
