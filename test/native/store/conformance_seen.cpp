// The thread that a run was prepared from: a run begins only where it is as it was seen.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/conformance.hpp"

namespace millrace::store {
namespace {

// As the maker of a run reads it.
SeenThread see(StorageBackend& backend) {
  const auto thread = backend.thread("alice", "t").value();
  return {thread.has_value(), thread ? std::optional(thread->changes) : std::nullopt};
}

// Whoever begins a run has read its thread before: what was removed meanwhile must not come back.
TEST_P(StorageConformance, BeginsARunOnlyInTheThreadThatItsMakerSaw) {
  const auto begins = [&](std::uint64_t number, const SeenThread& seen) {
    NewRun made = new_run(number, "", "t");
    made.seen = seen;
    return append(accepting(made)).status;
  };
  EXPECT_EQ(begins(1, {.is_there = true}), AppendStatus::changed);
  EXPECT_FALSE(backend().run(id_of(1)).value());
  EXPECT_FALSE(backend().thread("alice", "t").value());
  EXPECT_EQ(begins(2, {}), AppendStatus::committed);
  EXPECT_EQ(begins(3, {}), AppendStatus::changed);
  const std::vector<MessageRow> rows{{"a", 0, "{}"}, {"b", 1, "{}"}, {"c", 2, "{}"}};
  ASSERT_TRUE(backend().set_messages("alice", "t", rows).ok());
  const SeenThread seen = see(backend());
  EXPECT_EQ(begins(4, seen), AppendStatus::committed);
  EXPECT_EQ(begins(5, seen), AppendStatus::committed);
  EXPECT_EQ(begins(6, {true, std::nullopt}), AppendStatus::committed);
  ASSERT_TRUE(backend().clear_messages("alice", "t").ok());
  EXPECT_EQ(begins(7, seen), AppendStatus::changed);
  EXPECT_EQ(begins(8, {true, std::nullopt}), AppendStatus::committed);
  EXPECT_EQ(begins(9, see(backend())), AppendStatus::committed);
}

TEST_P(StorageConformance, SeesEachChangeOfAThread) {
  std::uint64_t number = 100;
  const auto begins = [&](const SeenThread& seen) {
    NewRun made = new_run(++number, "", "t");
    made.seen = seen;
    return append(accepting(made)).status;
  };
  ASSERT_TRUE(backend().put_thread({"alice", "t", "", now_, now_, ""}).ok());
  append(accepting(new_run(1, "owner", "t")));
  const auto write = [&](ThreadUpdate update) {
    AppendBatch batch = text_batch(1, "more");
    batch.epoch = row(1).epoch;
    batch.thread = std::move(update);
    EXPECT_EQ(append(batch).status, AppendStatus::committed);
  };
  const auto recreate = [&] {
    ASSERT_TRUE(backend().delete_thread("alice", "t").value());
    ASSERT_TRUE(backend().put_thread({"alice", "t", "", now_, now_, ""}).ok());
  };
  const MessageRow one{"a", 0, R"({"n":1})", {}};
  const MessageRow other{"a", 0, R"({"n":2})", {}};
  const std::vector<std::pair<std::string, std::function<void()>>> changes{
      {"a message",
       [&] {
         ASSERT_TRUE(backend().put_messages("alice", "t", {&one, 1}).ok());
       }},
      {"its text",
       [&] {
         ASSERT_TRUE(backend().put_messages("alice", "t", {&other, 1}).ok());
       }},
      {"all",
       [&] {
         ASSERT_TRUE(backend().set_messages("alice", "t", {&one, 1}).ok());
       }},
      {"of a run",
       [&] {
         write({"", {{"b", "{}", MessageRule::add}}});
       }},
      {"in place",
       [&] {
         write({"", {{"a", "[]", MessageRule::change}}});
       }},
      {"cut",
       [&] {
         write({"", {}, "a"});
       }},
      {"none", [&] { ASSERT_TRUE(backend().clear_messages("alice", "t").ok()); }},
      {"anew", recreate},
  };
  for (const auto& [name, change] : changes) {
    const SeenThread seen = see(backend());
    EXPECT_EQ(begins(seen), AppendStatus::committed) << name;
    change();
    EXPECT_EQ(begins(seen), AppendStatus::changed) << name;
    EXPECT_EQ(begins(see(backend())), AppendStatus::committed) << name;
  }
  // A title is no change of the messages.
  const SeenThread seen = see(backend());
  ASSERT_TRUE(backend().put_thread({"alice", "t", "Title", now_, now_, ""}).ok());
  EXPECT_EQ(begins(seen), AppendStatus::committed);
}

}  // namespace
}  // namespace millrace::store
