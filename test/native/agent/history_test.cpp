#include "agent/history.hpp"

#include <gtest/gtest.h>

#include "agent/provider_rows.hpp"
#include "agent/tokens.hpp"
#include "support/tree.hpp"

namespace millrace::agent {
namespace {

using json::Tree;
using test::tree;

const std::string turns = R"([
  {"role":"system","content":"s"},
  {"role":"user","content":"one"},
  {"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
  {"role":"tool","content":"r","tool_call_id":"a"},
  {"role":"assistant","content":"answer"},
  {"role":"user","content":"two"},
  {"role":"assistant","content":"end"}])";

TEST(CompressionCut, KeepsTheNewestQuestionAndNeverPartsACall) {
  EXPECT_EQ(compression_cut(tree(turns), 0), 5U);
  EXPECT_EQ(compression_cut(tree(turns), 1000000), 0U);
  EXPECT_EQ(compression_cut(tree(R"([{"role":"user","content":"x"}])"), 0), 0U);
  const Tree open = tree(R"([{"role":"user","content":"one"},{"role":"assistant","content":"x"},
    {"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"tool","tool_call_id":"a"}])");
  for (std::int64_t tail = 0; tail < 20; ++tail) {
    EXPECT_NE(compression_cut(open, tail), 3U) << tail;
  }
}

TEST(TruncateTurns, DropsWholeTurnsAndKeepsTheNewest) {
  const Tree retained = truncate_turns(tree(turns), 3);
  ASSERT_EQ(retained.items().size(), 3U);
  EXPECT_EQ(retained.items()[0]["role"].string(), "system");
  EXPECT_EQ(retained.items()[1]["content"].string(), "two");
  EXPECT_EQ(truncate_turns(tree(turns), 100000), tree(turns));
}

Tree row_of(std::string_view role, const std::string& text) {
  Tree row = Tree::object();
  row.set("role", role);
  row.set("content", text);
  return row;
}

TEST(ShortenMessages, CutsTheLongestResultsFirst) {
  Tree rows = Tree::array();
  rows.push(row_of("user", std::string(2000, 'q')));
  rows.push(row_of("tool", std::string(8000, 'r')));
  const std::int64_t all = estimate_context_tokens(rows, Tree());
  const Tree cut = shorten_messages(rows, all - 300);
  EXPECT_LE(estimate_context_tokens(cut, Tree()), all - 300);
  EXPECT_EQ(std::as_const(cut).items()[0], rows.items()[0]);
  EXPECT_NE(std::as_const(cut).items()[1]["content"].string().find("bytes are left out"),
            std::string_view::npos);
}

// The blanks in the middle take no tokens: cut out, they leave as many.
TEST(ShortenMessages, EndsWhereACutMakesNothingShorter) {
  std::string digits;
  for (int i = 0; i < 120; ++i) digits.append("1a");
  Tree rows = Tree::array();
  rows.push(row_of("user", digits + std::string(40, ' ') + digits));
  const std::int64_t all = estimate_context_tokens(rows, Tree());
  for (const std::int64_t most : {all - 1, all / 2, std::int64_t{1}}) {
    EXPECT_LT(estimate_context_tokens(shorten_messages(rows, most), Tree()), all) << most;
  }
}

TEST(ShortenMessages, CountsACutAnswerAnew) {
  Tree rows = Tree::array();
  rows.push(tree(R"({"role":"assistant","metadata":{"usage":{"totalOutputTokens":5000},"a":1}})"));
  rows.items()[0].set("content", std::string(20000, 'x'));
  const Tree cut = shorten_messages(rows, 1000);
  EXPECT_LE(estimate_context_tokens(cut, Tree()), 1000);
  EXPECT_EQ(cut.items()[0]["metadata"], tree(R"({"a":1})"));
}

TEST(TrimMessages, KeepsSystemAndChains) {
  EXPECT_EQ(trim_messages(tree(turns), 100), tree(turns));
  const Tree retained = trim_messages(tree(turns), 4);
  ASSERT_EQ(retained.items().size(), 3U);
  EXPECT_EQ(retained.items()[0]["role"].string(), "system");
  EXPECT_EQ(retained.items()[1]["content"].string(), "two");
}

TEST(TrimMessages, KeepsTheQuestionOfATurnThatIsTooLong) {
  const std::string long_turn = R"([
    {"role":"system","content":"s"},
    {"role":"user","content":"old"},
    {"role":"assistant","content":"old answer"},
    {"role":"user","content":"question"},
    {"role":"assistant","tool_calls":[{"id":"a"}]},
    {"role":"tool","tool_call_id":"a"},
    {"role":"assistant","tool_calls":[{"id":"b"}]},
    {"role":"tool","tool_call_id":"b"},
    {"role":"assistant","content":"answer"}])";
  struct Row {
    std::size_t most;
    std::size_t retained;  // the system row included
  };
  for (const Row& row : {Row{6, 7}, Row{5, 5}, Row{4, 5}, Row{3, 3}, Row{2, 3}, Row{1, 3}}) {
    const Tree retained = trim_messages(tree(long_turn), row.most);
    ASSERT_EQ(retained.items().size(), row.retained) << row.most;
    EXPECT_EQ(retained.items()[1]["content"].string(), "question") << row.most;
    EXPECT_NE(retained.items()[2]["role"].string(), "tool") << row.most;
    EXPECT_EQ(retained.items().back()["content"].string(), "answer") << row.most;
  }
  const Tree results = tree(R"([{"role":"user","content":"q"},
    {"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"}]},
    {"role":"tool","tool_call_id":"a"},{"role":"tool","tool_call_id":"b"}])");
  EXPECT_EQ(trim_messages(results, 2), results);
}

TEST(TrimMessages, DropsResultsWithoutTheirCalls) {
  const Tree orphans = tree(R"([{"role":"system","content":"s"},
    {"role":"tool","tool_call_id":"a"},{"role":"tool","tool_call_id":"b"},
    {"role":"tool","tool_call_id":"c"}])");
  EXPECT_EQ(trim_messages(orphans, 3), orphans);
  EXPECT_EQ(trim_messages(orphans, 2), tree(R"([{"role":"system","content":"s"}])"));
  const Tree requested = tree(R"([{"role":"user","content":"q"},{"role":"tool","tool_call_id":"a"},
    {"role":"tool","tool_call_id":"b"}])");
  EXPECT_EQ(trim_messages(requested, 1), tree(R"([{"role":"user","content":"q"}])"));
}

TEST(RepairMessages, LeavesAValidHistoryAlone) {
  CountingIds ids("x");
  EXPECT_EQ(repair_messages(tree(turns), ids), tree(turns));
}

TEST(RepairMessages, GivesEachCallOneResult) {
  CountingIds ids("x");
  const Tree broken = tree(R"([
    {"role":"tool","content":"orphan","tool_call_id":"zzz"},
    {"role":"assistant","tool_calls":[{"id":"a"},{"id":"a"},{"id":""}]},
    {"role":"user","content":"between"},
    {"role":"tool","content":"late","tool_call_id":"a"},
    {"role":"tool","content":"twice","tool_call_id":"a"}])");
  const Tree fixed = repair_messages(broken, ids);
  ASSERT_EQ(fixed.items().size(), 5U);
  EXPECT_EQ(fixed.items()[1]["content"].string(), "late");
  EXPECT_EQ(fixed.items()[2]["content"].string(), "twice");
  EXPECT_EQ(fixed.items()[4]["content"].string(), "between");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(fixed.items()[0]["tool_calls"].items()[i]["id"],
              fixed.items()[i + 1]["tool_call_id"]);
  }
}

TEST(ProviderMessages, CanBeSent) {
  CountingIds ids("x");
  const Tree rows = provider_messages(tree(R"([
    {"role":"system","content":"s"},
    {"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"no name!"}},
      {"id":"b","function":{"name":""}},{"id":"c","function":{"name":"good-name_1"}}]},
    {"role":"compressedGroup","content":"sum"}])"),
                                      ids);
  ASSERT_EQ(rows.items().size(), 7U);
  EXPECT_EQ(rows.items()[1]["role"].string(), "user");
  const auto& calls = rows.items()[2]["tool_calls"].items();
  EXPECT_EQ(calls[0]["function"]["name"].string(), "no_name_90d8e8ab");
  EXPECT_EQ(calls[1]["function"]["name"].string(), "unknown");
  EXPECT_EQ(calls[2]["function"]["name"].string(), "good-name_1");
  EXPECT_EQ(rows.items()[6]["role"].string(), "user");
  EXPECT_EQ(provider_messages(tree(turns), ids), tree(turns));
}

TEST(RepairMessages, GivesACallTheResultThatCameBeforeIt) {
  CountingIds ids("x");
  const Tree fixed = repair_messages(tree(R"([
    {"role":"user","content":"q"},
    {"role":"tool","content":"R","tool_call_id":"a"},
    {"role":"tool","content":"S","tool_call_id":"b"},
    {"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"}]},
    {"role":"tool","content":"T","tool_call_id":"b"}])"),
                                     ids);
  ASSERT_EQ(fixed.items().size(), 4U);
  EXPECT_EQ(fixed.items()[2]["content"].string(), "R");
  EXPECT_EQ(fixed.items()[3]["content"].string(), "T");
}

// The same when the rows come one by one.
TEST(ProviderMessages, KeepAResultForItsCall) {
  CountingIds ids("x");
  const Tree all = tree(R"([
    {"role":"user","content":"q"},
    {"role":"tool","content":"R","tool_call_id":"a"},
    {"role":"user","content":"p"},
    {"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},
    {"role":"user","content":"q2"}])");
  ProviderMessages growing;
  Tree rows = Tree::array();
  Tree sent;
  for (const Tree& row : all.items()) {
    rows.push(row);
    sent = growing.take(rows, ids);
  }
  EXPECT_EQ(sent, provider_messages(all, ids));
  ASSERT_EQ(sent.items().size(), 5U);
  EXPECT_EQ(sent.items()[3]["content"].string(), "R");
}

TEST(ProviderMessages, HaveTheCallsAndResultsOfLobeHubsRows) {
  CountingIds ids("x");
  const Tree sent = provider_messages(tree(R"([
    {"role":"user","content":"q"},
    {"role":"assistant","content":"","tools":[{"id":"a","identifier":"web","apiName":"search",
      "arguments":"{\"q\":1}","thoughtSignature":"SIG"}]},
    {"role":"tool","content":"","tool_call_id":"a","pluginError":{"message":"No network"}},
    {"role":"supervisor","children":[{"content":"","tools":[{"id":"b","identifier":"web",
      "apiName":"search","arguments":"{}","result":{"id":"r","content":"",
      "error":{"message":"Timeout"}}}]}]}])"),
                                      ids);
  ASSERT_EQ(sent.items().size(), 5U);
  const Tree& call = sent.items()[1]["tool_calls"].items()[0];
  EXPECT_EQ(call["function"]["arguments"].string(), R"({"q":1})");
  EXPECT_EQ(call["thoughtSignature"].string(), "SIG");
  EXPECT_EQ(sent.items()[2]["content"].string(), "No network");
  EXPECT_EQ(sent.items()[3]["role"].string(), "assistant");
  EXPECT_EQ(sent.items()[4]["content"].string(), "Timeout");
}

TEST(ProviderMessages, TakeLobeHubsRowsOfOthersApart) {
  CountingIds ids("x");
  const Tree sent = provider_messages(tree(R"([
    {"role":"user","content":"q"},
    {"role":"supervisor","content":"A"},
    {"role":"agentCouncil","members":[{"role":"assistant","content":"M1"},
      {"role":"assistantGroup","children":[{"content":"M2"}]}]},
    {"role":"tasks","tasks":[{"role":"task","content":"T","metadata":{"instruction":"I"}}]}])"),
                                      ids);
  std::string shape;
  for (const Tree& row : sent.items()) {
    shape.append(row["role"].string()).append(":").append(row["content"].string()).append(";");
  }
  EXPECT_EQ(shape,
            "user:q;assistant:A;assistant:M1;assistant:M2;user:Result of the task \"I\":\nT;");
}

TEST(ProviderMessages, HaveNoPlaceholders) {
  CountingIds ids("x");
  const Tree sent = provider_messages(tree(R"([
    {"role":"user","content":"..."},
    {"role":"assistant","content":"...","error":{"type":"X"}},
    {"role":"assistant","content":"...","reasoning":{"content":"R"}},
    {"role":"assistant","content":"...","tools":[],"imageList":null}])"),
                                      ids);
  ASSERT_EQ(sent.items().size(), 2U);
  EXPECT_TRUE(sent.items()[1]["reasoning"].is_object());
}

TEST(Tokens, CountEveryPartOfAMessage) {
  EXPECT_EQ(estimate_message_tokens(tree(R"({"role":"user","content":""})")), 0);
  EXPECT_EQ(
      estimate_message_tokens(tree(
          R"({"role":"assistant","content":"","metadata":{"usage":{"totalOutputTokens":70}}})")),
      70);
  EXPECT_GT(
      estimate_message_tokens(tree(
          R"({"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f"}}]})")),
      5);
  const auto check = check_compression(Tree::array(), Tree(), Tree());
  EXPECT_EQ(check.threshold, 64000);
  EXPECT_FALSE(check.needed);
}

// A check that says that nothing is to be done must not be one that counts too few.
TEST(Tokens, AreNeverMoreThanTheCheckBeforeTheyAreCountedSays) {
  for (const std::string_view piece : {"1", "a1", "1\n", "1.", "aB", "a ", "\n", "xkcd", "\u00e9",
                                       "\u20ac", "\u4e2d", "\U0001F600", "\u0400 ", "\xff", "_a"}) {
    for (const int times : {1, 2, 3, 10, 300}) {
      std::string text;
      for (int time = 0; time < times; ++time) text.append(piece);
      Tree row = Tree::object();
      row.set("role", "user");
      row.set("content", text);
      Tree rows = Tree::array();
      rows.push(std::move(row));
      const std::int64_t tokens = estimate_context_tokens(rows, Tree());
      Tree options = Tree::object();
      options.set("maxWindowToken", Tree::integer(2 * tokens));
      options.set("driftMultiplier", Tree::number(1.000001));
      EXPECT_EQ(check_compression(rows, Tree(), options).needed, tokens > 0) << piece << times;
      EXPECT_TRUE(may_need_compression(rows, Tree(), options)) << piece << times;
      options.set("maxWindowToken", Tree::integer(10 * static_cast<std::int64_t>(text.size())));
      EXPECT_FALSE(may_need_compression(rows, Tree(), options)) << piece << times;
    }
  }
}

}  // namespace
}  // namespace millrace::agent
