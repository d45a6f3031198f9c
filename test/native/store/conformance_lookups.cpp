// What is read of a store without reading all of it.
#include "chat/history.hpp"
#include "store/conformance.hpp"

namespace millrace::store {
namespace {

TEST_P(StorageConformance, FindsTheRunOfAKey) {
  NewRun keyed = new_run(1);
  keyed.idem_key = "key";
  keyed.idem_hash = "hash";
  append(accepting(keyed));
  for (std::uint64_t count = 2; count < 70; ++count) append(accepting(new_run(count)));
  const auto found = backend().run_with_key("alice", "key");
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE(found.value());
  EXPECT_EQ(found.value()->run.id, id_of(1));
  EXPECT_EQ(found.value()->run.idem_hash, "hash");
  EXPECT_FALSE(backend().run_with_key("bob", "key").value());
  EXPECT_FALSE(backend().run_with_key("alice", "other").value());
  EXPECT_FALSE(backend().run_with_key("alice", "").value());
}

TEST_P(StorageConformance, ReadsPartsOfBlobs) {
  std::string bytes;
  for (int count = 0; count < 100'000; ++count) bytes.push_back(static_cast<char>(count * 7 / 3));
  const std::string hash = backend().put_blob(bytes).value();
  const auto part = [&](std::uint64_t from, std::size_t most) {
    return backend().blob_part(hash, from, most).value();
  };
  EXPECT_EQ(part(0, 10), bytes.substr(0, 10));
  EXPECT_EQ(part(70'001, 20'000), bytes.substr(70'001, 20'000));
  EXPECT_EQ(part(99'999, 10), bytes.substr(99'999));
  EXPECT_EQ(part(100'000, 10), std::string());
  EXPECT_EQ(part(std::uint64_t{1} << 40U, 10), std::string());
  EXPECT_FALSE(backend().blob_part(std::string(64, '0'), 0, 10).value());
  EXPECT_EQ(backend().blob_part(backend().put_blob("").value(), 0, 10).value(), std::string());
}

TEST_P(StorageConformance, CountsTurnsAsTheHistoryDoes) {
  ASSERT_TRUE(backend().put_thread({"alice", "t", "", now_, now_, ""}).ok());
  const std::vector<std::string> texts{
      R"({"role":"user","content":"one"})",
      R"({"role":"assistant","run":"run_1","content":"a"})",
      R"({"role":"tool","run":"run_1","content":"between"})",
      R"({"role":"assistant","run":"run_1","content":"b"})",
      R"({"role":"assistant","run":"run_2","content":"c"})",
      R"({"role":"assistant","content":"d"})",
      R"({"role":"assistant","content":"e"})",
      R"({"role":"assistant","run":"","content":"f"})",
      R"({"role":"user","run":"run_3","content":"two"})",
      R"({"role":"user","run":"run_3","content":"three"})",
      R"({"role":"assistant","run":"run_3","content":"g"})",
      R"({"role":"system","content":"none"})",
      R"(["role"])",
      R"("user")",
      R"({"role":"assistant","run":"run_3","content":"h"})",
      "no JSON",
      R"({"role":7})",
  };
  const auto turns = [&](const char* principal, const char* thread) {
    return backend().count_turns(principal, thread).value().turns;
  };
  EXPECT_EQ(turns("alice", "t"), 0U);
  std::vector<MessageRow> rows;
  json::Tree list = json::Tree::array();
  for (const std::string& text : texts) {
    rows.push_back({std::to_string(rows.size()), static_cast<std::int64_t>(rows.size()), text, {}});
    if (auto message = json::Tree::parse(text)) list.push(std::move(message).value());
    ASSERT_TRUE(backend().set_messages("alice", "t", rows).ok());
    EXPECT_EQ(turns("alice", "t"), chat::history_records(list, 0).size()) << text;
  }
  EXPECT_EQ(turns("bob", "t"), 0U);
  EXPECT_EQ(turns("alice", "other"), 0U);
}

TEST_P(StorageConformance, KnowsWhichRunsHaveNoAnswer) {
  ASSERT_TRUE(backend().put_thread({"alice", "t", "", now_, now_, ""}).ok());
  const std::vector<MessageRow> rows{
      {"1", 1, R"({"role":"user","run":"run_b","content":"one"})", {}},
      {"2", 2, R"({"role":"user","run":"run_a","content":"two"})", {}},
      {"3", 3, R"({"role":"assistant","run":"run_c","content":"to another"})", {}},
      {"4", 4, R"({"role":"assistant","run":"run_a","content":"a"})", {}},
      {"5", 5, R"({"role":"user","run":"run_b","content":"three"})", {}},
      {"6", 6, R"({"role":"tool","run":"run_b","content":"no answer"})", {}},
      {"7", 7, R"({"role":"user","run":"run_a","content":"four"})", {}},
      {"8", 8, R"({"role":"user","run":7,"content":"five"})", {}},
      {"9", 9, R"({"role":"user","run":"run_\u0000d","content":"six"})", {}},
  };
  ASSERT_TRUE(backend().put_messages("alice", "t", rows).ok());
  const TurnCount count = backend().count_turns("alice", "t").value();
  EXPECT_EQ(count.turns, 8U);
  EXPECT_EQ(count.unanswered, (std::vector<std::string>{std::string("run_\0d", 6), "run_b"}));
}

}  // namespace
}  // namespace millrace::store
