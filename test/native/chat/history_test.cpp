// Threads as the history of a chat: contract B.4.

#include "chat/history.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "chat/job_rig.hpp"
#include "support/cost.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

Tree shown(std::string_view messages) {
  Tree items = Tree::array();
  for (const HistoryRecord& record : history_records(parsed(messages), 0)) {
    if (auto item = history_item(record, Tree())) items.push(std::move(*item));
  }
  return items;
}

TEST(History, JoinsTheMessagesOfATurn) {
  EXPECT_EQ(shown(R"([
    {"id":"0123456789abcdef0123456789abcdef","role":"user","content":"hello",
     "createdAt":1795293874684},
    {"id":"a1","role":"assistant","run":"run_1","content":"before","createdAt":1795293875000,
     "toolCalls":[{"id":"c"}]},
    {"id":"t","role":"tool","toolCallId":"c","content":"result"},
    {"id":"a2","role":"assistant","run":"run_1","content":" \n"},
    {"id":"a3","role":"assistant","run":"run_1","content":"after","createdAt":1795293877000,
     "attachments":[{"uid":"x"}]},
    {"id":"a4","role":"assistant","run":"run_2","content":"other"}])")
                .to_json(),
            R"([{"message_id":"msg_0123456789abcdef0123456789abcdef","role":"user",)"
            R"("content":"hello","timestamp":"2026-11-21 20:44:34"},)"
            R"({"message_id":")" +
                message_id_of("a1") +
                R"(","role":"bot","content":"before\n\nafter",)"
                R"("timestamp":"2026-11-21 20:44:37","attachments":[{"uid":"x"}]},)"
                R"({"message_id":")" +
                message_id_of("a4") + R"(","role":"bot","content":"other","timestamp":""}])");
}

// A copy of the text for each message would cost the square of them.
TEST(History, JoinsTensOfThousandsOfMessages) {
  const std::string text(500, 'x');
  const auto joins = [&](std::size_t count) {
    Tree messages = Tree::array();
    for (std::size_t at = 0; at < count; ++at) {
      Tree message = parsed(R"({"role":"assistant","run":"r","attachments":[{"uid":"u"}]})");
      message.set("content", text);
      messages.push(std::move(message));
    }
    const auto records = history_records(messages, 0);
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].item["content"].string().size(), count * (text.size() + 2) - 2);
    EXPECT_EQ(records[0].item["attachments"].items().size(), count);
  };
  EXPECT_LE(test::growth_of(joins, 2'500), test::most_growth);
}

TEST(History, BeginsAnotherRecordBehindAUser) {
  const auto records = history_records(parsed(R"([
    {"id":"1","role":"assistant","run":"r","content":"a"},{"id":"2","role":"user","content":"b"},
    {"id":"3","role":"assistant","run":"r","content":"c"},
    {"id":"4","role":"assistant","content":"d"},{"id":"5","role":"assistant","content":"e"},
    {"id":"6","role":"system","content":"f"},{"id":"7","role":"reasoning","content":"g"}])"),
                                       0);
  std::string contents;
  for (const HistoryRecord& record : records) contents += record.item["content"].string();
  EXPECT_EQ(contents, "abcde");
  EXPECT_EQ(records.size(), 5);
  EXPECT_EQ(records[2].run, "r");
}

TEST(History, LeavesOutWhatShowsNothing) {
  const auto records = history_records(
      parsed(R"([{"id":"1","role":"assistant","run":"r","content":"","displayOnly":true}])"), 0);
  ASSERT_EQ(records.size(), 1);
  EXPECT_FALSE(history_item(records[0], Tree()));
  EXPECT_FALSE(history_item(records[0], parsed(R"({"events":[]})")));
  const auto item = history_item(
      records[0], parsed(R"({"display_only":true,"events":[{"seq":1,"event":"tool_start"}]})"));
  ASSERT_TRUE(item);
  EXPECT_EQ((*item)["content"].string(), "");
  EXPECT_TRUE((*item)["webchat"]["display_only"].is_true());
}

TEST(History, ReadsPartsAttachmentsAndReferences) {
  const Tree items = shown(R"([
    {"id":"1","role":"user","content":[{"type":"text","text":"a"},{"type":"image"},
      {"type":"text","text":"b"}],"references":[{"kind":"message"}],"timestamp":"1"},
    {"id":"2","role":"user","content":"","attachments":[{"uid":"x"}]},
    {"id":"3","role":"user","content":""}])");
  EXPECT_TRUE(has_all(items, parsed(R"([
    {"content":"ab","references":[{"kind":"message"}],"timestamp":"1"},
    {"attachments":[{"uid":"x"}]}])")));
}

TEST(History, NamesMessages) {
  EXPECT_EQ(message_id_of("msg_legacy_1"), "msg_legacy_1");
  EXPECT_EQ(message_id_of("01234567-89AB-cdef-0123-456789abcdef"),
            "msg_0123456789abcdef0123456789abcdef");
  EXPECT_EQ(message_id_of("x").size(), 36);
  EXPECT_NE(message_id_of("x"), message_id_of("y"));
}

TEST(History, PagesFromTheEnd) {
  struct Row {
    std::size_t total;
    std::string_view limit;
    std::string_view before;
    std::string_view members;
    std::size_t begin;
    std::size_t end;
  };
  const std::vector<Row> rows{
      {5, "2", "", R"({"limit":2,"before":null,"has_more":true,"next_before":3,"total":5})", 3, 5},
      {5, "2", "3", R"({"limit":2,"before":3,"has_more":true,"next_before":1,"total":5})", 1, 3},
      {5, "2", "1", R"({"limit":2,"before":1,"has_more":false,"next_before":null,"total":5})", 0,
       1},
      {5, "x", "0", R"({"limit":50,"before":0,"has_more":false,"next_before":null,"total":5})", 0,
       0},
      {5, "0", "-1", R"({"limit":1,"before":null,"has_more":true,"next_before":4,"total":5})", 4,
       5},
      {700, "900", "9999",
       R"({"limit":500,"before":9999,"has_more":true,"next_before":200,"total":700})", 200, 700},
      {0, "", "", R"({"limit":50,"before":null,"has_more":false,"next_before":null,"total":0})", 0,
       0},
  };
  for (const Row& row : rows) {
    const HistoryPage page = history_page(row.total, row.limit, row.before);
    EXPECT_EQ(page.begin, row.begin);
    EXPECT_EQ(page.end, row.end);
    Tree answer = Tree::object();
    add_page_members(answer, page, row.total);
    EXPECT_EQ(answer.to_json(), row.members);
  }
}

}  // namespace
}  // namespace millrace::chat
