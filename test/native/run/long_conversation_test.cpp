// What a run keeps of a long conversation is what it would make of it anew, whatever becomes of the
// conversation.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/history.hpp"
#include "run/session.hpp"
#include "support/tree.hpp"

namespace millrace::run {
namespace {

using json::Tree;

// Ids that were made while rows were converted, by the order they come in.
std::string without_made_ids(const std::string& json) {
  constexpr std::string_view mark = "\"call_";
  std::string out;
  std::map<std::string, std::size_t> places;
  std::size_t at = 0;
  for (std::size_t found = 0; (found = json.find(mark, at)) != std::string::npos;) {
    const std::size_t end = json.find('"', found + mark.size());
    const std::string id = json.substr(found, end - found);
    const std::size_t place = places.try_emplace(id, places.size()).first->second;
    out.append(json, at, found - at).append("\"made").append(std::to_string(place));
    at = end;
  }
  return out.append(json, at);
}

// A conversation that grows, and is changed as people, compressions and resumed runs do.
class Conversation {
 public:
  explicit Conversation(unsigned seed) : random_(seed) {}

  [[nodiscard]] const Tree& rows() const { return messages_; }
  unsigned dice(unsigned sides) { return static_cast<unsigned>(random_() % sides); }

  void change() {
    switch (dice(16)) {
      case 0: return edit();
      case 1: return compress();
      case 2: return drop();
      case 3: return insert();
      case 4: return add(group());
      case 5: return add(row("task", "done"));
      case 6: return add(result("call" + std::to_string(dice(40))));
      case 7: return add(row("user", "next"));
      default: return turn();
    }
  }

 private:
  Tree row(std::string_view role, const std::string& text) {
    Tree made = Tree::object();
    made.set("id", "row" + std::to_string(++count_));
    made.set("role", role);
    made.set("content", text + " " + std::to_string(dice(1000)));
    return made;
  }
  Tree result(const std::string& call) {
    Tree made = row("tool", "result");
    made.set("tool_call_id", call);
    return made;
  }
  std::string new_call() {
    if (dice(12) == 0) return dice(2) == 0 ? "" : "call" + std::to_string(calls_ / 2);
    return "call" + std::to_string(++calls_);
  }
  Tree call(const std::string& id) {
    Tree made = Tree::object();
    made.set("id", id);
    made.set("type", "function");
    made.at("function").set("name", dice(9) == 0 ? "no name!" : "read");
    made.at("function").set("arguments", dice(9) == 0 ? R"({"page":)" : R"({"page":1})");
    return made;
  }

  // The answers of some calls are missing for now, and may come later.
  void turn() {
    Tree answer = row("assistant", "I look.");
    if (dice(6) == 0) answer.at("reasoning").set("content", "hm");
    std::vector<std::string> ids;
    Tree calls = Tree::array();
    for (unsigned i = dice(4); i > 0; --i) calls.push(call(ids.emplace_back(new_call())));
    if (!ids.empty()) answer.set("tool_calls", calls);
    if (dice(6) == 0) answer.set("turn", turn_of(answer));
    add(std::move(answer));
    for (const std::string& id : ids) {
      if (dice(6) != 0) add(result(id));
    }
  }
  Tree turn_of(const Tree& answer) {
    Tree reasoning_part = row("reasoning", "hm");
    reasoning_part.set("encryptedValue", "sealed");
    Tree received = Tree::object();
    received.set("id", answer["id"]);
    received.set("role", "assistant");
    received.set("content", answer["content"]);
    if (!answer["tool_calls"].is_null()) received.set("toolCalls", answer["tool_calls"]);
    Tree list = Tree::array();
    list.push(std::move(reasoning_part));
    list.push(std::move(received));
    return list;
  }
  Tree group() {
    Tree made = row("assistantGroup", "");
    Tree turn = row("assistant", "in a group");
    Tree call = Tree::object();
    const std::string id = new_call();
    call.set("id", id);
    call.set("identifier", "read");
    call.set("apiName", "read");
    call.set("arguments", "{}");
    if (dice(2) == 0) call.set("result", result(id));
    turn.set("tools", Tree::array()).push(std::move(call));
    made.set("children", Tree::array()).push(std::move(turn));
    return made;
  }

  void add(Tree made) { messages_.push(std::move(made)); }
  std::size_t place() {
    const std::size_t size = std::as_const(messages_).items().size();
    return size == 0 ? 0 : dice(static_cast<unsigned>(size));
  }
  void edit() {
    if (std::as_const(messages_).items().empty()) return;
    Tree& row = messages_.items()[place()];
    row.set("content", "edited " + std::to_string(dice(1000)));
    if (dice(3) == 0 && !std::as_const(row)["tool_calls"].items().empty()) {
      row.at("tool_calls").items().front().at("function").set("arguments", R"({"page":7})");
    }
  }
  void drop() {
    if (std::as_const(messages_).items().empty()) return;
    messages_.items().erase(messages_.items().begin() + static_cast<std::ptrdiff_t>(place()));
  }
  void insert() {
    Tree made = row(dice(2) == 0 ? "system" : "user", "put in");
    messages_.items().insert(messages_.items().begin() + static_cast<std::ptrdiff_t>(place()),
                             std::move(made));
  }
  void compress() {
    const std::size_t cut = agent::compression_cut(messages_, 0);
    if (cut == 0 || dice(2) == 0) return;
    Tree made = Tree::array();
    made.push(row("compressedGroup", "what was said"));
    const auto& items = std::as_const(messages_).items();
    for (std::size_t at = cut; at < items.size(); ++at) made.push(items[at]);
    messages_ = std::move(made);
  }

  std::mt19937 random_;
  Tree messages_ = Tree::array();
  int count_ = 0;
  int calls_ = 0;
};

TEST(LongConversation, IsWhatAConversionFromTheBeginningGives) {
  const unsigned seed = std::random_device{}();
  for (unsigned round = 0; round < 8 && !testing::Test::HasFailure(); ++round) {
    Conversation conversation(seed + round);
    CountingIds retained_ids("kept");
    CountingIds new_ids("new");
    LongConversation retained;
    for (int step = 0; step < 60 && !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE("seed " + std::to_string(seed + round) + ", step " + std::to_string(step));
      for (unsigned changes = 1 + conversation.dice(2); changes > 0; --changes) {
        conversation.change();
      }
      const Tree& rows = conversation.rows();
      const auto converted =
          retained.messages.take(retained.state_messages.take(rows, retained_ids));
      const auto anew = agent::messages_of(agent::provider_messages(rows, new_ids));
      ASSERT_TRUE(converted.ok() && anew.ok());
      EXPECT_EQ(without_made_ids(message::to_json(converted.value())),
                without_made_ids(message::to_json(anew.value())));
      EXPECT_EQ(retained.tokens.estimated.of(rows), agent::estimate_context_tokens(rows, Tree()));
    }
  }
}

// The result behind its call counts, also where it comes after the call was answered by an earlier
// row.
TEST(LongConversation, TakesAResultThatComesBehindAnEarlyOne) {
  Tree rows = test::tree(R"([{"id":"u","role":"user","content":"Go."},
      {"id":"t0","role":"tool","content":"early","tool_call_id":"c"},
      {"id":"a","role":"assistant","content":"x","tool_calls":[
        {"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}])");
  CountingIds ids("made");
  agent::ProviderMessages retained;
  EXPECT_EQ(retained.take(rows, ids).items().back()["content"].string(), "early");
  rows.push(test::tree(R"({"id":"t1","role":"tool","content":"late","tool_call_id":"c"})"));
  EXPECT_EQ(retained.take(rows, ids).items().back()["content"].string(), "late");
  EXPECT_EQ(agent::provider_messages(rows, ids).items().back()["content"].string(), "late");
}

Tree turns(std::size_t count) {
  Tree rows = test::tree(R"([{"id":"u","role":"user","content":"Go."}])");
  for (std::size_t turn = 0; turn < count; ++turn) {
    const std::string id = std::to_string(turn);
    rows.push(test::tree(R"({"id":"a)" + id +
                         R"(","role":"assistant","content":"x","tool_calls":)" + R"([{"id":"c)" +
                         id + R"(","type":"function","function":)" +
                         R"({"name":"f","arguments":"{}"}}]})"));
    rows.push(test::tree(R"({"id":"t)" + id + R"(","role":"tool","content":"y","tool_call_id":"c)" +
                         id + R"("})"));
  }
  return rows;
}

TEST(LongConversation, KeepsTheMessagesOfRowsThatStayed) {
  CountingIds ids("kept");
  LongConversation retained;
  Tree rows = turns(30);
  const auto texts = [&] {
    const auto messages = retained.messages.take(retained.state_messages.take(rows, ids));
    std::vector<const char*> places;
    for (const message::Message& message : messages.value()) {
      places.push_back(message.content.text.data());
    }
    return places;
  };
  // Long texts stay where they are in memory when their message moves.
  for (Tree& row : rows.items()) {
    row.set("content", std::string(row["content"].string()) + std::string(100, '.'));
  }
  const auto before = texts();
  rows.push(test::tree(R"({"id":"u2","role":"user","content":"And now?"})"));
  const auto after = texts();
  ASSERT_EQ(after.size(), before.size() + 1);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  rows.items()[40].set("content", std::string(100, '!'));
  const auto edited = texts();
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 40, edited.begin()));
  EXPECT_NE(edited[40], after[40]);
}

}  // namespace
}  // namespace millrace::run
