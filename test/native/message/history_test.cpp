// The invariants of a history, and that a repair makes any history keep them.

#include "message/history.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "message/server_calls.hpp"
#include "message/shared_messages.hpp"
#include "support/random_history.hpp"

using namespace millrace;
using message::Change;
using message::Messages;
using message::Role;

namespace {

Messages parsed(std::string_view json) {
  auto messages = message::parse_messages(json);
  EXPECT_TRUE(messages.ok()) << messages.error().message;
  return std::move(messages).value();
}

// Roles, call ids and answered ids in short: "u a(x,y) t:x t:y".
std::string shape(const Messages& messages) {
  std::string out;
  for (const auto& message : messages) {
    if (!out.empty()) out += ' ';
    out += message::name_of(message.role).front();
    if (message.role == Role::tool) out += ":" + message.tool_call_id;
    if (message.tool_calls.empty()) continue;
    std::string ids;
    for (const auto& call : message.tool_calls) ids += (ids.empty() ? "" : ",") + call.id;
    out += "(" + ids + ")";
  }
  return out;
}

// Makes a history from that short form.
Messages history(const std::string& shape) {
  Messages messages;
  std::size_t at = 0;
  while (at < shape.size()) {
    const std::size_t end = std::min(shape.find(' ', at), shape.size());
    const std::string word = shape.substr(at, end - at);
    at = end + 1;
    auto& message = messages.emplace_back();
    message.id = "m" + std::to_string(messages.size());
    const std::map<char, Role> roles{{'u', Role::user},      {'a', Role::assistant},
                                     {'t', Role::tool},      {'s', Role::system},
                                     {'r', Role::reasoning}, {'v', Role::activity}};
    message.role = roles.at(word[0]);
    if (word.size() > 1 && word[1] == ':') message.tool_call_id = word.substr(2);
    if (word.size() < 2 || word[1] != '(') continue;
    std::string ids = word.substr(2, word.size() - 3) + ",";
    for (std::size_t comma = 0; (comma = ids.find(',')) != std::string::npos;
         ids = ids.substr(comma + 1)) {
      message.tool_calls.emplace_back().id = ids.substr(0, comma);
    }
  }
  return messages;
}

std::string repaired(const std::string& from, std::size_t changes) {
  Messages messages = history(from);
  CountingIds ids("new-");
  EXPECT_EQ(message::repair_history(messages, ids).size(), changes) << from;
  EXPECT_TRUE(message::check_history(messages).ok()) << shape(messages);
  return shape(messages);
}

// An independent statement of what a provider that is strict about tools accepts, the last
// message's open calls aside.
void expect_accepted(const Messages& messages, unsigned seed) {
  Messages received;
  for (const auto& message : messages) {
    if (message.role != Role::reasoning && message.role != Role::activity)
      received.push_back(message);
  }
  for (std::size_t i = 0; i < received.size(); ++i) {
    std::multiset<std::string> open;
    for (const auto& call : received[i].tool_calls) open.insert(call.id);
    EXPECT_EQ(open.size(), received[i].tool_calls.size());
    std::set<std::string> distinct(open.begin(), open.end());
    EXPECT_EQ(open.size(), distinct.size()) << "seed " << seed << ": " << shape(messages);
    const bool last = i + 1 == received.size();
    std::size_t next = i + 1;
    for (; next < received.size() && received[next].role == Role::tool; ++next) {
      EXPECT_EQ(open.erase(received[next].tool_call_id), 1U)
          << "seed " << seed << ": " << shape(messages);
    }
    EXPECT_TRUE(last || open.empty()) << "seed " << seed << ": " << shape(messages);
    i = next - 1;
  }
}

}  // namespace

TEST(History, LeavesAValidOneAlone) {
  for (const std::string valid :
       {"", "u a", "s u a(x,y) t:x t:y a u", "u a(x) t:x a(x) t:x", "u a(x) r v t:x r a(y)",
        "u a(x,y) t:y t:x u", "a(x,y)", "a(x) r v"}) {
    EXPECT_EQ(repaired(valid, 0), valid.empty() ? "" : shape(history(valid)));
  }
}

TEST(History, DropsResultsWithoutCalls) {
  EXPECT_EQ(repaired("u t:x a", 1), "u a");
  EXPECT_EQ(repaired("a(x) t:x t:x", 1), "a(x) t:x");
}

TEST(History, LetsTheUserTellResultsWithoutCalls) {
  Messages messages = history("t:y a(x) t:z t:x t:x u");
  for (message::Message& message : messages) message.content = message::Content::of_text("r");
  CountingIds ids("new-");
  const auto changes = message::repair_history(messages, ids, {message::Unmatched::as_user_text});
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(message::describe(changes[0]),
            "The result of tool call \"y\" became a message of the user: no call is known for it.");
  EXPECT_EQ(shape(messages), "u a(x) t:x u u");
  EXPECT_TRUE(message::check_history(messages).ok());
}

TEST(History, AnswersCallsThatTheConversationPassed) {
  EXPECT_EQ(repaired("u a(x,y) u", 2), "u a(x,y) t:x t:y u");
  EXPECT_EQ(repaired("a(x,y) t:y", 1), "a(x,y) t:y t:x");
  EXPECT_EQ(repaired("a(x) r a", 1), "a(x) t:x r a");
  EXPECT_EQ(repaired("a(x) a(x) t:x", 1), "a(x) t:x a(x) t:x");
}

TEST(History, MovesResultsBehindTheirCalls) {
  EXPECT_EQ(repaired("a(x) u t:x", 1), "a(x) t:x u");
  EXPECT_EQ(repaired("a(x) a(y) t:x t:y", 1), "a(x) t:x a(y) t:y");
  EXPECT_EQ(repaired("a(x,y) r t:y u t:x", 1), "a(x,y) r t:y t:x u");
}

TEST(History, GivesACallTheResultThatCameBeforeIt) {
  EXPECT_EQ(repaired("t:x a(x) u", 1), "a(x) t:x u");
  EXPECT_EQ(repaired("u t:x a(x)", 1), "u a(x) t:x");
  EXPECT_EQ(repaired("u t:x a(x,y) t:y u", 1), "u a(x,y) t:y t:x u");
  EXPECT_EQ(repaired("t:x a(y,x)", 2), "a(y,x) t:x t:y");
  EXPECT_EQ(repaired("t:x a(x) t:x", 1), "a(x) t:x");
  EXPECT_EQ(repaired("t:x t:x a(x) u", 2), "a(x) t:x u");
  EXPECT_EQ(repaired("a(x) t:x t:x a(x) u", 2), "a(x) t:x a(x) t:x u");
  EXPECT_EQ(repaired("t:x a(x) a(x) t:x", 1), "a(x) t:x a(x) t:x");
}

TEST(History, ClosesTheLastCallsOfARequest) {
  for (const auto& [from, to] :
       {std::pair{"u a(x,y)", "u a(x,y) t:x t:y"}, std::pair{"u a(x) r", "u a(x) t:x r"},
        std::pair{"u a(x) t:x", "u a(x) t:x"}}) {
    Messages messages = history(from);
    CountingIds ids("new-");
    EXPECT_EQ(message::is_paired(messages, true), std::string_view(from) == to) << from;
    message::repair_history(messages, ids, {.closes_last_calls = true});
    EXPECT_EQ(shape(messages), to);
    EXPECT_TRUE(message::is_paired(messages, true)) << shape(messages);
  }
}

TEST(History, DropsRepeatedCalls) {
  EXPECT_EQ(repaired("a(x,x) t:x", 1), "a(x) t:x");
}

// A program of the provider's goes on while it makes calls, however many answers that takes.
TEST(History, LeavesAProgramOpenThatMadeTheCallsOfTheLastAnswer) {
  const auto repaired_with = [](std::string_view caller) {
    Messages messages = history("u a(program,x) t:x a(y) t:y");
    messages[1].tool_calls[0].metadata.add("anthropic", "server_tool", "{}");
    messages[3].tool_calls[0].metadata.add("anthropic", "caller", std::string(caller));
    CountingIds ids("new-");
    message::RepairOptions options;
    options.has_ordered_answers = true;
    options.open_server_calls = message::OpenServerCalls::open_in_last_answer;
    message::repair_history(messages, ids, options);
    return shape(messages);
  };
  EXPECT_EQ(repaired_with(R"({"type":"code_execution_20250825","tool_id":"program"})"),
            "u a(program,x) t:x a(y) t:y");
  EXPECT_EQ(repaired_with(R"({"type":"direct"})"), "u a(x) t:x a(y) t:y");
}

TEST(ServerCalls, AreLeftOutAsCallers) {
  Messages messages = history("u a(x,y) t:x t:y");
  for (auto& call : messages[1].tool_calls) {
    call.metadata.add("anthropic", "caller", R"({"type":"c","tool_id":")" + call.id + R"("})");
  }
  message::erase_callers(messages, {"x"});
  EXPECT_TRUE(messages[1].tool_calls[0].metadata.provider_state.empty());
  EXPECT_FALSE(messages[1].tool_calls[1].metadata.provider_state.empty());
}

TEST(History, SaysWhatItChanged) {
  Messages messages = history("u a(x) t:y u");
  CountingIds ids("new-");
  const auto changes = message::repair_history(messages, ids);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(message::describe(changes[0]),
            "The result of tool call \"y\" was dropped: no call is open for it.");
  EXPECT_EQ(message::describe(changes[1]),
            "The result of tool call \"x\" was added: the conversation went on without one.");
  EXPECT_EQ(
      message::to_json(std::span(messages).subspan(2, 1)),
      R"([{"id":"new-1","role":"tool","content":"The call was interrupted.","toolCallId":"x",)"
      R"("error":"The call was interrupted."}])");
}

TEST(History, NamesTheFirstBreach) {
  const auto checked = message::check_history(history("u a(x) u"));
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Errc::invalid_messages);
  EXPECT_EQ(checked.error().message, "messages[1] has a tool call without result: \"x\".");
  EXPECT_EQ(message::check_history(history("u t:x")).error().message,
            "messages[1] answers no open tool call: \"x\".");
}

TEST(History, KeepsEverythingElse) {
  Messages messages =
      parsed(R"([{"id":"1","role":"user","content":"a","metadata":{"k":1},"more":[1]},)"
             R"({"id":"2","role":"tool","content":"x","toolCallId":"gone"}])");
  CountingIds ids("new-");
  EXPECT_EQ(message::repair_history(messages, ids).size(), 1U);
  EXPECT_EQ(message::to_json(messages),
            R"([{"id":"1","role":"user","content":"a","metadata":{"k":1},"more":[1]}])");
}

TEST(History, IsAcceptedAfterARepairWhateverItWas) {
  const unsigned seed = std::random_device{}();
  for (unsigned round = 0; round < 1500; ++round) {
    test::RandomHistory random(seed + round, {.valid = false, .media = false});
    Messages messages = random.make();
    CountingIds ids("new-");
    const bool paired = message::is_paired(messages);
    EXPECT_TRUE(!paired || message::check_history(messages).ok()) << shape(messages);
    EXPECT_EQ(message::repair_history(messages, ids).empty() || !paired, true) << shape(messages);
    expect_accepted(messages, seed + round);
    EXPECT_TRUE(message::check_history(messages).ok()) << shape(messages);
    EXPECT_TRUE(message::repair_history(messages, ids).empty()) << "seed " << seed + round;
    if (testing::Test::HasFailure()) break;
  }
}

TEST(History, IsSeenToBeValidAtAGlance) {
  for (const char* good : {"", "u a u", "s u a(x,y) t:y t:x a", "u a(x) r t:x v a(x) t:x",
                           "u a(x,y) r", "u a(x) t:x u a(y)"}) {
    EXPECT_TRUE(message::is_paired(history(good))) << good;
    EXPECT_TRUE(message::check_history(history(good)).ok()) << good;
  }
  for (const char* bad : {"t:x", "u a(x) u", "u a(x) u t:x", "u a(x) t:x t:x", "u a(x,x) t:x",
                          "u a(x,y) t:x", "u a(x) t:y"}) {
    EXPECT_FALSE(message::is_paired(history(bad))) << bad;
    EXPECT_FALSE(message::check_history(history(bad)).ok()) << bad;
  }
}

TEST(SharedMessages, AreCopiedWhereTheyAreChanged) {
  message::SharedMessages one(history("u a"));
  const message::SharedMessages other = one;
  EXPECT_EQ(&one[0], &other[0]);
  one.edit()[0].id = "changed";
  EXPECT_EQ(one[0].id, "changed");
  EXPECT_EQ(other[0].id, "m1");
  const auto* place = &one[0];
  one.edit()[1].id = "again";
  EXPECT_EQ(&one[0], place);
  message::SharedMessages none;
  EXPECT_TRUE(none.empty());
  none.edit().emplace_back();
  EXPECT_EQ(none.size(), 1U);
}
