// The store in memory; each file beside this one has a part of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/backend.hpp"
#include "store/memory/tables.hpp"
#include "store/memory/transfer.hpp"

namespace millrace::store::memory {

class Backend final : public StorageBackend {
 public:
  explicit Backend(Clock clock) : clock_(std::move(clock)) {}

  using StorageBackend::claim;
  std::vector<AppendOutcome> append(std::span<const AppendBatch> batches) override;
  Result<std::vector<StoredPage>> read(const RunId& root, std::uint64_t after,
                                       std::size_t max_bytes) override;
  Result<std::vector<Claim>> claim(const ClaimRequest& request) override;
  Result<std::vector<WorkCount>> work_counts() override;
  Result<std::vector<BegunRun>> starts() override;
  Result<std::optional<Claim>> claim_run(const RunId& root, std::string_view owner) override;
  Result<bool> append_unowned(const AppendBatch& batch) override;
  Result<bool> begin_held(const RunId& root) override;
  Result<std::size_t> release(std::string_view owner, Release how) override;
  Result<std::vector<RunHead>> watch(std::span<const RunId> roots) override;
  Result<std::optional<std::int64_t>> next_due() override;
  Result<std::optional<RunRow>> run_with_key(std::string_view principal,
                                             std::string_view idem_key) override;
  Result<std::optional<RunRow>> run(const RunId& id) override;
  Result<RunList> runs(const RunQuery& query) override;
  Result<std::vector<RunRow>> children(const RunId& root) override;
  Result<std::vector<SegmentRow>> segments(std::string_view principal,
                                           std::string_view ag_ui_run) override;
  Result<std::vector<CheckpointRow>> checkpoints(const RunId& run) override;
  Result<std::vector<CallRow>> calls(const RunId& run) override;
  Result<std::vector<ApprovalRow>> approvals(const ApprovalQuery& query) override;
  using StorageBackend::decide;
  Result<std::vector<DecisionOutcome>> decide(std::span<const Decision> decisions) override;
  Result<void> put_threads(std::span<const ThreadRow> threads) override;
  Result<std::optional<ThreadRow>> thread(std::string_view principal, std::string_view id) override;
  Result<std::vector<ThreadRow>> threads(std::string_view principal, std::string_view before,
                                         std::size_t limit) override;
  Result<bool> delete_thread(std::string_view principal, std::string_view id) override;
  Result<void> put_messages(std::string_view principal, std::string_view thread,
                            std::span<const MessageRow> rows) override;
  Result<void> set_messages(std::string_view principal, std::string_view thread,
                            std::span<const MessageRow> rows) override;
  Result<std::vector<MessageRow>> messages(std::string_view principal,
                                           std::string_view thread) override;
  Result<std::size_t> clear_messages(std::string_view principal, std::string_view thread) override;
  Result<void> put_artifact(const ArtifactRow& artifact) override;
  Result<std::optional<ArtifactRow>> artifact(std::string_view principal,
                                              std::string_view id) override;
  Result<std::vector<ArtifactRow>> artifacts(std::string_view principal,
                                             std::string_view thread) override;
  Result<std::vector<ArtifactRow>> artifacts_of(std::string_view principal, std::string_view after,
                                                std::size_t limit) override;
  Result<bool> delete_artifact(std::string_view principal, std::string_view id) override;
  Result<std::string> put_blob(std::string_view bytes) override;
  Result<std::optional<std::string>> blob(std::string_view hash) override;
  Result<std::optional<std::string>> blob_part(std::string_view hash, std::uint64_t from,
                                               std::size_t most) override;
  Result<TurnCount> count_turns(std::string_view principal, std::string_view thread) override;
  Result<void> put_attachment(const AttachmentRow& attachment) override;
  Result<std::optional<AttachmentRow>> attachment(std::string_view principal,
                                                  std::string_view id) override;
  Result<bool> delete_attachment(std::string_view principal, std::string_view id) override;
  Result<std::vector<OutboxRow>> outbox(std::size_t most) override;
  Result<std::vector<OutboxRow>> open_outbox(std::size_t most) override;
  Result<bool> change_outbox(const OutboxRow& row, std::string_view body,
                             std::span<const OutboxRow> added) override;
  Result<std::optional<std::int64_t>> next_outbox() override;
  Result<void> settle_outbox(std::string_view id, std::optional<std::int64_t> next_at) override;
  Result<std::vector<KeyUseRow>> spend(std::span<const KeySpending> spent) override;
  Result<SweepReport> sweep(const SweepPolicy& policy) override;
  Result<void> delete_run(const RunId& root) override;
  Result<void> backup(const std::string& /*path*/) override;
  Result<void> renew(std::string_view /*owner*/) override { return {}; }
  Result<std::vector<Problem>> check() override;
  Result<void> dump(const EachRow& each) override { return memory::dump(tables_, each); }
  Result<void> load(const NextRow& next) override { return memory::load(tables_, next); }
  Result<void> tidy() override { return {}; }
  std::int64_t now() override { return seen_ = std::max(seen_, clock_()); }

 private:
  void sweep_records(const SweepPolicy& policy, std::int64_t at, SweepReport& report);
  std::optional<Claim> take(RunRow& row, std::string_view owner, std::int64_t at);
  void forget_starts(std::chrono::milliseconds longest);

  struct Start {
    std::int64_t at = 0;
    std::string name;
    std::string principal;
  };

  Tables tables_;
  std::vector<Start> starts_;  // the oldest first
  LaneTurns turns_;
  Clock clock_;
  std::int64_t seen_ = 0;
};

}  // namespace millrace::store::memory
