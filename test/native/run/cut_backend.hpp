// A store whose process ends at a commit that a test chooses: with it, or just behind it.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/backend.hpp"

namespace millrace::test {

// Thread: as its backend; `cut` and `restore` while nothing works on it.
class CutBackend final : public store::StorageBackend {
 public:
  explicit CutBackend(std::unique_ptr<store::StorageBackend> inner) : inner_(std::move(inner)) {}

  // The commit of this number is the last one; whoever made it hears of it where `is_reported`.
  void cut(std::size_t number, bool is_reported) {
    commits_ = 0;
    last_ = number;
    is_reported_ = is_reported;
  }
  void restore() { cut(std::numeric_limits<std::size_t>::max(), true); }
  [[nodiscard]] std::size_t commits() const { return commits_; }

  std::vector<store::AppendOutcome> append(std::span<const store::AppendBatch> batches) override {
    std::vector<store::AppendOutcome> outcomes;
    for (const store::AppendBatch& batch : batches) {
      if (commits_ < last_) {
        ++commits_;
        outcomes.push_back(inner_->append({&batch, 1}).front());
        if (commits_ < last_ || is_reported_) continue;
        outcomes.pop_back();
      }
      outcomes.push_back({store::AppendStatus::failed, batch.run, 0, 0, std::nullopt});
    }
    return outcomes;
  }

  Result<std::vector<store::StoredPage>> read(const store::RunId& root, std::uint64_t after,
                                              std::size_t max_bytes) override {
    return inner_->read(root, after, max_bytes);
  }
  Result<std::vector<store::Claim>> claim(std::span<const std::string> names,
                                          std::string_view owner, std::size_t most) override {
    return inner_->claim(names, owner, most);
  }
  Result<std::optional<store::Claim>> claim_run(const store::RunId& root,
                                                std::string_view owner) override {
    return inner_->claim_run(root, owner);
  }
  Result<std::size_t> release(std::string_view owner, store::Release how) override {
    return inner_->release(owner, how);
  }
  Result<void> renew(std::string_view owner) override { return inner_->renew(owner); }
  Result<std::vector<store::RunHead>> watch(std::span<const store::RunId> roots) override {
    return inner_->watch(roots);
  }
  Result<std::optional<std::int64_t>> next_due() override { return inner_->next_due(); }
  Result<std::optional<store::RunRow>> run(const store::RunId& id) override {
    return inner_->run(id);
  }
  Result<store::RunList> runs(const store::RunQuery& query) override { return inner_->runs(query); }
  Result<std::vector<store::RunRow>> children(const store::RunId& root) override {
    return inner_->children(root);
  }
  Result<std::vector<store::SegmentRow>> segments(std::string_view principal,
                                                  std::string_view ag_ui_run) override {
    return inner_->segments(principal, ag_ui_run);
  }
  Result<std::vector<store::CheckpointRow>> checkpoints(const store::RunId& run) override {
    return inner_->checkpoints(run);
  }
  Result<std::vector<store::CallRow>> calls(const store::RunId& run) override {
    return inner_->calls(run);
  }
  Result<std::vector<store::ApprovalRow>> approvals(const store::ApprovalQuery& query) override {
    return inner_->approvals(query);
  }
  Result<store::DecisionOutcome> decide(const store::Decision& decision) override {
    return inner_->decide(decision);
  }
  Result<void> put_thread(const store::ThreadRow& thread) override {
    return inner_->put_thread(thread);
  }
  Result<std::optional<store::ThreadRow>> thread(std::string_view principal,
                                                 std::string_view id) override {
    return inner_->thread(principal, id);
  }
  Result<std::vector<store::ThreadRow>> threads(std::string_view principal, std::string_view before,
                                                std::size_t limit) override {
    return inner_->threads(principal, before, limit);
  }
  Result<bool> delete_thread(std::string_view principal, std::string_view id) override {
    return inner_->delete_thread(principal, id);
  }
  Result<void> put_messages(std::string_view principal, std::string_view thread,
                            std::span<const store::MessageRow> messages) override {
    return inner_->put_messages(principal, thread, messages);
  }
  Result<std::vector<store::MessageRow>> messages(std::string_view principal,
                                                  std::string_view thread) override {
    return inner_->messages(principal, thread);
  }
  Result<void> put_artifact(const store::ArtifactRow& artifact) override {
    return inner_->put_artifact(artifact);
  }
  Result<std::optional<store::ArtifactRow>> artifact(std::string_view principal,
                                                     std::string_view id) override {
    return inner_->artifact(principal, id);
  }
  Result<std::vector<store::ArtifactRow>> artifacts(std::string_view principal,
                                                    std::string_view thread) override {
    return inner_->artifacts(principal, thread);
  }
  Result<bool> delete_artifact(std::string_view principal, std::string_view id) override {
    return inner_->delete_artifact(principal, id);
  }
  Result<std::string> put_blob(std::string_view bytes) override { return inner_->put_blob(bytes); }
  Result<std::optional<std::string>> blob(std::string_view hash) override {
    return inner_->blob(hash);
  }
  Result<void> put_attachment(const store::AttachmentRow& attachment) override {
    return inner_->put_attachment(attachment);
  }
  Result<std::optional<store::AttachmentRow>> attachment(std::string_view principal,
                                                         std::string_view id) override {
    return inner_->attachment(principal, id);
  }
  Result<bool> delete_attachment(std::string_view principal, std::string_view id) override {
    return inner_->delete_attachment(principal, id);
  }
  Result<std::vector<store::OutboxRow>> outbox(std::size_t most) override {
    return inner_->outbox(most);
  }
  Result<void> settle_outbox(std::string_view id, std::optional<std::int64_t> next_at) override {
    return inner_->settle_outbox(id, next_at);
  }
  Result<store::SweepReport> sweep(const store::SweepPolicy& policy) override {
    return inner_->sweep(policy);
  }
  Result<void> delete_run(const store::RunId& root) override { return inner_->delete_run(root); }
  Result<void> backup(const std::string& path) override { return inner_->backup(path); }
  Result<std::vector<store::Problem>> check() override { return inner_->check(); }
  Result<void> dump(const store::EachRow& each) override { return inner_->dump(each); }
  Result<void> load(const store::NextRow& next) override { return inner_->load(next); }
  Result<void> tidy() override { return inner_->tidy(); }
  std::int64_t now() override { return inner_->now(); }

 private:
  std::unique_ptr<store::StorageBackend> inner_;
  std::size_t commits_ = 0;
  std::size_t last_ = std::numeric_limits<std::size_t>::max();
  bool is_reported_ = true;
};

}  // namespace millrace::test
