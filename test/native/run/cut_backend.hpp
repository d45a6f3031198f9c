// A store whose process ends at a commit that a test chooses: with it, or just behind it.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/backend.hpp"
#include "store/checkpoint_chain.hpp"

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
  [[nodiscard]] std::size_t watches() const { return watches_; }
  // What `read` gives from now on in place of pages; nothing: pages.
  void damage(std::optional<Error> error) { damage_ = std::move(error); }
  // Checkpoints differ from their checksums from here on, or fit them again.
  void damage_checkpoints(bool is_damaged) { are_checkpoints_damaged_ = is_damaged; }
  // The newest checkpoint of each run is not there.
  void lose_checkpoints(bool are_lost) { are_checkpoints_lost_ = are_lost; }
  // The same of the newest one of each run.
  void damage_last_checkpoints(bool is_damaged) { is_last_damaged_ = is_damaged; }
  [[nodiscard]] bool is_cut() const { return commits_ >= last_; }
  [[nodiscard]] std::size_t commits() const { return commits_; }
  // Of these the ones that something waits for: mere progress is committed with them.
  [[nodiscard]] std::size_t urgent_commits() const { return urgent_commits_; }

  std::vector<store::AppendOutcome> append(std::span<const store::AppendBatch> batches) override {
    std::vector<store::AppendOutcome> outcomes;
    for (const store::AppendBatch& batch : batches) {
      if (commits_ < last_) {
        ++commits_;
        if (batch.is_urgent) ++urgent_commits_;
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
    if (damage_) return *damage_;
    return inner_->read(root, after, max_bytes);
  }
  using StorageBackend::claim;
  Result<std::vector<store::Claim>> claim(const store::ClaimRequest& request) override {
    return inner_->claim(request);
  }
  Result<std::vector<store::WorkCount>> work_counts() override { return inner_->work_counts(); }
  // What `starts` gives from now on; nothing: what the backend does.
  void begin_with(std::optional<Result<std::vector<store::BegunRun>>> starts) {
    starts_ = std::move(starts);
  }
  Result<std::vector<store::BegunRun>> starts() override {
    return starts_ ? *starts_ : inner_->starts();
  }
  Result<std::optional<store::Claim>> claim_run(const store::RunId& root,
                                                std::string_view owner) override {
    return inner_->claim_run(root, owner);
  }
  Result<bool> append_unowned(const store::AppendBatch& batch) override {
    return inner_->append_unowned(batch);
  }
  Result<bool> begin_held(const store::RunId& root) override { return inner_->begin_held(root); }
  Result<std::size_t> release(std::string_view owner, store::Release how) override {
    return inner_->release(owner, how);
  }
  Result<void> renew(std::string_view owner) override { return inner_->renew(owner); }
  Result<std::vector<store::RunHead>> watch(std::span<const store::RunId> roots) override {
    ++watches_;
    return inner_->watch(roots);
  }
  Result<std::optional<std::int64_t>> next_due() override { return inner_->next_due(); }
  Result<std::optional<store::RunRow>> run(const store::RunId& id) override {
    return inner_->run(id);
  }
  Result<std::optional<store::RunRow>> run_with_key(std::string_view principal,
                                                    std::string_view idem_key) override {
    return inner_->run_with_key(principal, idem_key);
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
    auto rows = inner_->checkpoints(run);
    if (rows && are_checkpoints_lost_ && !rows.value().empty()) rows.value().pop_back();
    if (rows && is_last_damaged_ && !rows.value().empty()) rows.value().back().data += " ";
    if (!rows || !are_checkpoints_damaged_) return rows;
    for (store::CheckpointRow& row : rows.value()) {
      row.checksum = 1 ^ std::int64_t{store::checksum_of_checkpoint(row.run, row.number, row.seq,
                                                                    row.is_full, row.data)};
    }
    return rows;
  }
  Result<std::vector<store::CallRow>> calls(const store::RunId& run) override {
    return inner_->calls(run);
  }
  Result<std::vector<store::ApprovalRow>> approvals(const store::ApprovalQuery& query) override {
    return inner_->approvals(query);
  }
  using StorageBackend::decide;
  Result<std::vector<store::DecisionOutcome>> decide(
      std::span<const store::Decision> decisions) override {
    return inner_->decide(decisions);
  }
  Result<void> put_threads(std::span<const store::ThreadRow> threads) override {
    return inner_->put_threads(threads);
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
  Result<void> set_messages(std::string_view principal, std::string_view thread,
                            std::span<const store::MessageRow> messages) override {
    return inner_->set_messages(principal, thread, messages);
  }
  Result<std::vector<store::MessageRow>> messages(std::string_view principal,
                                                  std::string_view thread) override {
    return inner_->messages(principal, thread);
  }
  Result<std::size_t> clear_messages(std::string_view principal, std::string_view thread) override {
    return inner_->clear_messages(principal, thread);
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
  Result<std::vector<store::ArtifactRow>> artifacts_of(std::string_view principal,
                                                       std::string_view after,
                                                       std::size_t limit) override {
    return inner_->artifacts_of(principal, after, limit);
  }
  Result<bool> delete_artifact(std::string_view principal, std::string_view id) override {
    return inner_->delete_artifact(principal, id);
  }
  Result<std::string> put_blob(std::string_view bytes) override { return inner_->put_blob(bytes); }
  Result<std::optional<std::string>> blob(std::string_view hash) override {
    return inner_->blob(hash);
  }
  Result<std::optional<std::string>> blob_part(std::string_view hash, std::uint64_t from,
                                               std::size_t most) override {
    return inner_->blob_part(hash, from, most);
  }
  Result<store::TurnCount> count_turns(std::string_view principal,
                                       std::string_view thread) override {
    return inner_->count_turns(principal, thread);
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
  Result<std::optional<std::int64_t>> next_outbox() override { return inner_->next_outbox(); }
  Result<void> settle_outbox(std::string_view id, std::optional<std::int64_t> next_at) override {
    return inner_->settle_outbox(id, next_at);
  }
  Result<std::vector<store::OutboxRow>> open_outbox(std::size_t most) override {
    return inner_->open_outbox(most);
  }
  Result<bool> change_outbox(const store::OutboxRow& row, std::string_view body,
                             std::span<const store::OutboxRow> added) override {
    return inner_->change_outbox(row, body, added);
  }
  Result<std::vector<store::KeyUseRow>> spend(std::span<const store::KeySpending> spent) override {
    return inner_->spend(spent);
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
  std::size_t urgent_commits_ = 0;
  std::size_t last_ = std::numeric_limits<std::size_t>::max();
  bool is_reported_ = true;
  std::optional<Error> damage_;
  bool are_checkpoints_damaged_ = false;
  bool are_checkpoints_lost_ = false;
  bool is_last_damaged_ = false;
  std::size_t watches_ = 0;
  std::optional<Result<std::vector<store::BegunRun>>> starts_;
};

}  // namespace millrace::test
