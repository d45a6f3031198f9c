// Files of the original server: contract B.4.

#include "chat/legacy_import.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "chat/history.hpp"
#include "chat/ids.hpp"
#include "chat/job_rig.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

constexpr std::int64_t now_ms = 1'795'293'874'684;

TEST(LegacyImport, TakesAConversationOver) {
  const auto made = import_conversation(parsed(R"({
    "id":"seeded","title":"seed","title_status":"manual","created_at":"2026-01-01T00:00:00",
    "updated_at":"2026-01-02T00:00:00","virtual_user_id":42,"title_updated_at":
    "2026-01-01T00:00:01","messages":[
      {"message_id":"msg_1","display_name":"system","message":"question",
       "timestamp":"2026-01-01 00:00:00","attachments":[],"references":[{"kind":"message"}]},
      {"display_name":"BOT","content":"answer","timestamp":"1","attachments":[{"uid":"x"}]},
      {"display_name":"Bot","message":"","webchat":{"display_only":true,"events":[{"seq":2}]}},
      {"role":"user","display_name":"Bot","message":"mine"},"junk"]})"),
                                        60, now_ms);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->id, "seeded");
  EXPECT_EQ(made->created_ms, 1'767'222'000'000);
  EXPECT_EQ(made->updated_ms, 1'767'308'400'000);
  EXPECT_EQ(made->skipped, 1U);
  EXPECT_EQ(made->titled.to_json(),
            R"({"title":"seed","title_source":"manual","title_status":"manual",)"
            R"("title_updated_at":1767222001000})");
  EXPECT_TRUE(has_all(made->messages, parsed(R"([
    {"id":"msg_1","role":"user","content":"question","createdAt":1767222000000,
     "timestamp":"2026-01-01 00:00:00","references":[{"kind":"message"}]},
    {"role":"assistant","content":"answer","timestamp":"1","attachments":[{"uid":"x"}]},
    {"role":"assistant","content":"","displayOnly":true,"webchat":{"display_only":true}},
    {"role":"user","content":"mine"}])")))
      << made->messages.to_json();
  EXPECT_EQ(made->messages.items()[1]["id"].string(),
            legacy_message_id("seeded", 1, "bot", "1", "answer"));
  EXPECT_EQ(made->messages.items()[0].find("attachments"), nullptr);
  // Records stay records, each turn its own.
  EXPECT_EQ(history_records(made->messages, 0).size(), 4U);
}

TEST(LegacyImport, DoesWithoutWhatIsMissing) {
  const auto made = import_conversation(parsed(R"({"id":"a!","messages":{},"title":7,
    "title_status":"odd","created_at":"soon"})"),
                                        0, now_ms);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->id, "a");
  EXPECT_EQ(made->created_ms, now_ms);
  EXPECT_EQ(made->titled["title_status"].string(), "temporary");
  EXPECT_TRUE(made->messages.items().empty());
  for (const std::string_view json : {"[]", "null", "{}", R"({"id":"!!"})"}) {
    EXPECT_FALSE(import_conversation(parsed(json), 0, now_ms)) << json;
  }
}

TEST(LegacyImport, MakesTheOldHistoryTheDefaultConversation) {
  const ImportedConversation made = import_history(parsed(R"([
    {"display_name":"Bot","message":"hello","timestamp":"0"},
    {"display_name":"system","message":"old question text","timestamp":"1"}])"),
                                                   "data/history/private_42.json", 0, now_ms);
  EXPECT_EQ(made.id, default_conversation);
  EXPECT_EQ(made.titled["title"].string(), "old question text");
  EXPECT_EQ(made.titled["title_status"].string(), "temporary");
  EXPECT_EQ(made.titled["legacy_source"].string(), "data/history/private_42.json");
  EXPECT_EQ(made.titled["migrated_at"].integer_or(0), now_ms);
  EXPECT_EQ(made.messages.items().size(), 2U);
}

TEST(LegacyImport, ReadsTimes) {
  const std::vector<std::pair<std::string_view, std::int64_t>> rows{
      {"1970-01-01T01:00:00", 0},      {"1970-01-01 01:00", 0},
      {"1970-01-01T00:00:00Z", 0},     {"1970-01-01T02:00:01.2345+02:00", 1234},
      {"1969-12-31T23:00:00-0100", 0}, {" 1970-01-02 ", 82'800'000},
  };
  for (const auto& [text, at] : rows) EXPECT_EQ(parse_time(text, 60), at) << text;
  for (const std::string_view text :
       {"", "1", "1970-13-01", "1970-02-30", "1970-01-01T", "1970-01-01T25:00:00", "1970-1-1",
        "1970-01-01T00:00:00x", "1970-01-01T00:00:00+1", "19700101"}) {
    EXPECT_FALSE(parse_time(text, 0)) << text;
  }
}

}  // namespace
}  // namespace millrace::chat
