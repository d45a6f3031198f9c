// Threads, artifacts and attachments as chat front ends have them.
#include "run/durable/chat_storage.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/memory/memory_backend.hpp"

namespace millrace::run::front {
namespace {

using json::Tree;

class ChatStorage : public testing::Test {
 protected:
  Result<Tree> call(std::string_view name, std::string_view options) {
    const Work work = find_work(name);
    EXPECT_NE(work, nullptr) << name;
    return work(*backend_, Tree::parse(options).value());
  }
  Errc code_of(std::string_view name, std::string_view options) {
    const auto result = call(name, options);
    EXPECT_FALSE(result.ok()) << name;
    return result ? Errc::internal : result.error().code;
  }
  void make_thread() {
    EXPECT_TRUE(call("thread.create", R"({"principal":"ada","id":"t","message":{"id":"u",)"
                                      R"("role":"user","content":"Hello"}})")
                    .ok());
  }

  std::unique_ptr<store::StorageBackend> backend_ =
      store::make_memory_backend([] { return std::int64_t{1000}; });
};

TEST_F(ChatStorage, KnowsItsOperations) {
  EXPECT_EQ(find_work("thread.lists"), nullptr);
}

TEST_F(ChatStorage, DeletesNoThreadWhoseRunIsNotOver) {
  make_thread();
  store::AppendBatch batch;
  batch.run = store::RunId::of_uuid("00000000-0000-4000-8000-000000000001");
  batch.epoch = 1;
  batch.accept.emplace();
  batch.accept->id = batch.run;
  batch.accept->kind = "agent";
  batch.accept->name = "a";
  batch.accept->principal = "ada";
  batch.accept->thread = "t";
  batch.accept->owner = "owner";
  ASSERT_EQ(backend_->append({&batch, 1}).front().status, store::AppendStatus::committed);
  const char* const options = R"({"principal":"ada","id":"t"})";
  EXPECT_EQ(code_of("thread.delete", options), Errc::run_conflict);
  store::RunChange change;
  change.run = batch.run;
  change.state = journal::RunState::completed;
  batch.accept.reset();
  batch.changes.push_back(change);
  ASSERT_EQ(backend_->append({&batch, 1}).front().status, store::AppendStatus::committed);
  EXPECT_TRUE(call("thread.delete", options).ok());
}

TEST_F(ChatStorage, NamesThreadsThatAreNotThere) {
  make_thread();
  for (const std::string owner : {"bob", ""}) {
    const std::string of = R"({"principal":")" + owner + R"(",)";
    EXPECT_EQ(code_of("thread.update", of + R"("thread":{"id":"t","title":"x"}})"),
              Errc::thread_not_found);
    EXPECT_EQ(code_of("thread.setMessages", of + R"("threadId":"t","messages":[]})"),
              Errc::thread_not_found);
    EXPECT_EQ(code_of("artifact.create",
                      of + R"("artifact":{"threadId":"t","title":"x","type":"y","content":1}})"),
              Errc::thread_not_found);
  }
}

TEST_F(ChatStorage, NamesMessagesThatAreNotThere) {
  make_thread();
  EXPECT_EQ(
      code_of("thread.updateMessage", R"({"principal":"ada","threadId":"t",)"
                                      R"("message":{"id":"gone","role":"user","content":"x"}})"),
      Errc::message_not_found);
}

TEST_F(ChatStorage, NamesArtifactsThatAreNotThere) {
  make_thread();
  const auto made = call("artifact.create",
                         R"({"principal":"ada","artifact":{"threadId":"t","title":"x","type":"y",)"
                         R"("content":{"a":1}}})");
  ASSERT_TRUE(made.ok());
  const std::string id(made.value()["id"].string());
  EXPECT_EQ(code_of("artifact.get", R"({"principal":"bob","id":")" + id + "\"}"),
            Errc::artifact_not_found);
  EXPECT_EQ(code_of("artifact.update", R"({"principal":"ada","id":"gone","content":1})"),
            Errc::artifact_not_found);
  const auto found = call("artifact.get", R"({"principal":"ada","id":")" + id + "\"}");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value()["content"].to_json(), R"({"a":1})");
}

TEST_F(ChatStorage, LeavesOutItsOwnMembersAndKeepsThem) {
  make_thread();
  EXPECT_TRUE(backend_
                  ->put_messages("ada", "t",
                                 std::vector<store::MessageRow>{
                                     {"a", 1,
                                      R"({"id":"a","role":"assistant","content":"Hi","run":"r",)"
                                      R"("status":"cancelled","createdAt":7})"}})
                  .ok());
  const std::string of_thread = R"({"principal":"ada","threadId":"t")";
  EXPECT_EQ(call("thread.messages", of_thread + "}").value().items()[1].to_json(),
            R"({"id":"a","role":"assistant","content":"Hi"})");
  ASSERT_TRUE(call("thread.updateMessage",
                   of_thread + R"(,"message":{"id":"a","role":"assistant","content":"Ho"}})")
                  .ok());
  const Tree stored = Tree::parse(backend_->messages("ada", "t").value()[1].json).value();
  EXPECT_EQ(stored["content"].string(), "Ho");
  EXPECT_EQ(stored["run"].string(), "r");
  EXPECT_EQ(stored["createdAt"].integer_or(0), 7);
}

TEST_F(ChatStorage, KeepsFiles) {
  make_thread();
  const auto put =
      call("attachment.put", R"({"principal":"ada","name":"a.txt","threadId":"t","data":"AAH/"})");
  ASSERT_TRUE(put.ok()) << put.error().message;
  EXPECT_EQ(put.value()["size"].integer_or(0), 3);
  EXPECT_EQ(put.value()["media"].string(), "application/octet-stream");
  const std::string id = R"("id":")" + std::string(put.value()["id"].string()) + "\"}";
  EXPECT_EQ(call("attachment.get", R"({"principal":"ada",)" + id).value()["data"].string(), "AAH/");
  EXPECT_EQ(code_of("attachment.get", R"({"principal":"bob",)" + id), Errc::attachment_not_found);
  EXPECT_TRUE(call("attachment.delete", R"({"principal":"ada",)" + id).value().is_true());
  EXPECT_EQ(code_of("attachment.get", R"({"principal":"ada",)" + id), Errc::attachment_not_found);
  EXPECT_EQ(code_of("attachment.put", R"({"principal":"ada","name":"a","data":"*"})"),
            Errc::invalid_argument);
}

}  // namespace
}  // namespace millrace::run::front
