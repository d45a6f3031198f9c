// Messages of threads that differ from what the journals of their runs fold to.
#include "run/durable/check_messages.hpp"

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "eventful_run.hpp"
#include "store/memory/memory_backend.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

// What is found in a copy of the store after `change` had its rows.
std::vector<store::Problem> problems_after(
    test::DurableRig& rig, const std::function<void(std::vector<store::AnyRow>& rows)>& change) {
  std::vector<store::AnyRow> rows;
  rig.on_store([&](store::StorageBackend& backend) {
    EXPECT_TRUE(backend
                    .dump([&](const store::AnyRow& row) -> Result<void> {
                      rows.push_back(row);
                      return {};
                    })
                    .ok());
  });
  change(rows);
  const auto copy = store::make_memory_backend(store::system_clock());
  std::size_t at = 0;
  EXPECT_TRUE(copy->load([&]() -> Result<std::optional<store::AnyRow>> {
                    if (at == rows.size()) return std::optional<store::AnyRow>();
                    return std::optional(rows[at++]);
                  })
                  .ok());
  auto problems = check_messages(*copy);
  EXPECT_TRUE(problems.ok());
  return problems ? std::move(problems).value() : std::vector<store::Problem>();
}

std::vector<store::ThreadMessage*> messages_in(std::vector<store::AnyRow>& rows) {
  std::vector<store::ThreadMessage*> found;
  for (store::AnyRow& row : rows) {
    if (auto* message = std::get_if<store::ThreadMessage>(&row)) found.push_back(message);
  }
  return found;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << text;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(CheckMessages, FindsNothingInAWholeStore) {
  test::Eventful eventful;
  EXPECT_TRUE(problems_after(eventful.rig, [](auto& rows) {
                EXPECT_GT(messages_in(rows).size(), 3U);
              }).empty());
  ASSERT_EQ(test::compact_runs(eventful.rig), 1U);
  EXPECT_TRUE(problems_after(eventful.rig, [](auto&) {}).empty());
}

TEST(CheckMessages, FindsAnAnswerThatDiffers) {
  test::Eventful eventful;
  const auto problems = problems_after(eventful.rig, [](auto& rows) {
    std::string& json = messages_in(rows).back()->message.json;
    json = replaced(json, "All done.", "All gone.");
  });
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].run, eventful.run);
  EXPECT_NE(problems[0].what.find("differs from the journal"), std::string::npos);
  EXPECT_NE(problems[0].what.find("at place "), std::string::npos);
}

TEST(CheckMessages, FindsAQuestionThatDiffers) {
  const auto backend = store::make_memory_backend(store::system_clock());
  for (const std::string_view stored : {"Go.", "No."}) {
    store::AppendBatch batch;
    store::NewRun run;
    run.id = batch.run = store::RunId::of_bytes(std::string(15, 'r') + stored.front());
    run.kind = "function";
    run.name = "work";
    run.principal = "ada";
    run.thread = stored;
    run.owner = "owner";
    batch.epoch = 1;
    journal::Accepted accepted;
    accepted.input_json = R"({"messages":[{"id":"u","role":"user","content":"Go."}]})";
    batch.page = store::page_of(accepted, 1);
    batch.accept = run;
    const std::string json = R"({"id":"u","content":")" + std::string(stored) + R"("})";
    batch.thread = store::ThreadUpdate{"", {{"u", json}}};
    batch.changes.push_back({.run = run.id, .state = journal::RunState::completed});
    ASSERT_EQ(backend->append({&batch, 1}).front().status, store::AppendStatus::committed);
  }
  const auto problems = check_messages(*backend).value();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].run.bytes().back(), 'N');
  EXPECT_NE(problems[0].what.find("differs from what the run was given"), std::string::npos);
}

TEST(CheckMessages, FindsAnAnswerThatIsMissing) {
  test::Eventful eventful;
  const auto problems = problems_after(eventful.rig, [](auto& rows) {
    std::erase_if(rows, [&](const store::AnyRow& row) {
      const auto* message = std::get_if<store::ThreadMessage>(&row);
      return message != nullptr && message->message.json.find("All done.") != std::string::npos;
    });
  });
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].what.find("is missing"), std::string::npos);
}

TEST(CheckMessages, LeavesAloneWhatSomebodyChangedOrRemoved) {
  test::Eventful eventful;
  EXPECT_TRUE(problems_after(eventful.rig, [](auto& rows) {
                store::MessageRow& message = messages_in(rows).back()->message;
                message.json = "{}";
                message.run = std::nullopt;
              }).empty());
  eventful.rig.on_store([&](store::StorageBackend& backend) {
    const auto row = backend.run(eventful.run).value();
    EXPECT_TRUE(backend.set_messages(row->run.principal, row->run.thread, {}).ok());
  });
  EXPECT_TRUE(problems_after(eventful.rig, [](auto& rows) {
                EXPECT_TRUE(messages_in(rows).empty());
              }).empty());
}

}  // namespace
}  // namespace millrace::run
