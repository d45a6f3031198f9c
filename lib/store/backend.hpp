// Where durable runs are kept. A backend is synchronous: the thread that calls it is its own
// (store/writer.hpp), never an engine thread.
//
// What every backend holds to is written as tests: test/native/store/conformance.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "store/any_row.hpp"
#include "store/types.hpp"

namespace millrace::store {

// Milliseconds of the wall clock.
using Clock = std::function<std::int64_t()>;
Clock system_clock();

// What a power cut may lose; kill -9 loses nothing that was committed with either.
enum class Durability : std::uint8_t {
  full,      // every commit reaches the disk
  balanced,  // commits that something waits for reach the disk, with all before them
  memory,    // none does
};

// Thread: one at a time.
// Errors: store_failed, store_full, store_damaged, store_moved from every member; invalid_state
// from those that change a backend which is open for reading only.
class StorageBackend {
 public:
  virtual ~StorageBackend() = default;

  // Commits batches together. Each succeeds or fails alone, but for `full` and `failed` of the
  // whole commit. One outcome a batch, in their order.
  virtual std::vector<AppendOutcome> append(std::span<const AppendBatch> batches) = 0;

  // Pages with records behind `after`, at least one when there is any, else up to `max_bytes`. The
  // first page may begin before.
  // Errors: run_not_found; store_damaged where a page does not have its checksum.
  virtual Result<std::vector<StoredPage>> read(const RunId& root, std::uint64_t after,
                                               std::size_t max_bytes) = 0;

  // Takes over up to `most` root runs of these names that have no owner and whose time has come,
  // the longest waiting first, each with its children: epoch + 1, the fact `claimed`, and before it
  // a gap over numbers that may have been shown and are lost. A run whose thread is busy is left.
  virtual Result<std::vector<Claim>> claim(std::span<const std::string> names,
                                           std::string_view owner, std::size_t most) = 0;
  // Takes over this root run whatever it waits for; nothing when it is over or somebody works on
  // it.
  // Errors: run_not_found.
  virtual Result<std::optional<Claim>> claim_run(const RunId& root, std::string_view owner) = 0;
  // Gives back what an owner has; others can claim it at once.
  virtual Result<std::size_t> release(std::string_view owner, Release how) = 0;
  // Keeps an owner's runs its own, where owners of other processes share the store.
  virtual Result<void> renew(std::string_view owner) = 0;
  // Where these runs stand. May be late.
  virtual Result<std::vector<RunHead>> watch(std::span<const RunId> roots) = 0;
  // When the next sleeping or queued run is due, or an approval expires.
  virtual Result<std::optional<std::int64_t>> next_due() = 0;

  virtual Result<std::optional<RunRow>> run(const RunId& id) = 0;
  virtual Result<RunList> runs(const RunQuery& query) = 0;
  virtual Result<std::vector<RunRow>> children(const RunId& root) = 0;
  // The segments that readers know by this id.
  virtual Result<std::vector<SegmentRow>> segments(std::string_view principal,
                                                   std::string_view ag_ui_run) = 0;
  // The last full checkpoint and those behind it, in their order.
  virtual Result<std::vector<CheckpointRow>> checkpoints(const RunId& run) = 0;
  virtual Result<std::vector<CallRow>> calls(const RunId& run) = 0;

  virtual Result<std::vector<ApprovalRow>> approvals(const ApprovalQuery& query) = 0;
  // Decides once. The fact is on the run's line with the decision. The last one of its run lets a
  // run that waits go on.
  virtual Result<DecisionOutcome> decide(const Decision& decision) = 0;

  // Threads belong to a principal; another one's are not found.
  virtual Result<void> put_thread(const ThreadRow& thread) = 0;
  virtual Result<std::optional<ThreadRow>> thread(std::string_view principal,
                                                  std::string_view id) = 0;
  // The last changed first, those before `before` (an id) left out.
  virtual Result<std::vector<ThreadRow>> threads(std::string_view principal,
                                                 std::string_view before, std::size_t limit) = 0;
  // With its messages, artifacts, attachments and runs, beyond recovery.
  virtual Result<bool> delete_thread(std::string_view principal, std::string_view id) = 0;
  virtual Result<void> put_messages(std::string_view principal, std::string_view thread,
                                    std::span<const MessageRow> messages) = 0;
  virtual Result<std::vector<MessageRow>> messages(std::string_view principal,
                                                   std::string_view thread) = 0;

  virtual Result<void> put_artifact(const ArtifactRow& artifact) = 0;
  virtual Result<std::optional<ArtifactRow>> artifact(std::string_view principal,
                                                      std::string_view id) = 0;
  // Without their content.
  virtual Result<std::vector<ArtifactRow>> artifacts(std::string_view principal,
                                                     std::string_view thread) = 0;
  virtual Result<bool> delete_artifact(std::string_view principal, std::string_view id) = 0;

  // Keeps bytes under their SHA-256, in hexadecimal digits, once.
  virtual Result<std::string> put_blob(std::string_view bytes) = 0;
  virtual Result<std::optional<std::string>> blob(std::string_view hash) = 0;
  // Errors: invalid_argument when the blob is not there.
  virtual Result<void> put_attachment(const AttachmentRow& attachment) = 0;
  virtual Result<std::optional<AttachmentRow>> attachment(std::string_view principal,
                                                          std::string_view id) = 0;
  virtual Result<bool> delete_attachment(std::string_view principal, std::string_view id) = 0;

  // Messages that are due, the longest waiting first.
  virtual Result<std::vector<OutboxRow>> outbox(std::size_t most) = 0;
  // Delivered, or with a time for the next attempt.
  virtual Result<void> settle_outbox(std::string_view id, std::optional<std::int64_t> next_at) = 0;

  // Lets approvals expire, and removes what retention is over for.
  virtual Result<SweepReport> sweep(const SweepPolicy& policy) = 0;
  // A root run with its children, beyond recovery. Errors: run_not_found.
  virtual Result<void> delete_run(const RunId& root) = 0;
  // A copy of the whole store in another file, which must not exist.
  virtual Result<void> backup(const std::string& path) = 0;
  virtual Result<std::vector<Problem>> check() = 0;
  // Every row as of one moment, in an order in which `load` takes them.
  // Errors: that of `each`; store_damaged where a page does not have its checksum.
  virtual Result<void> dump(const EachRow& each) = 0;
  // Puts rows into a store without any: all of them or none.
  // Errors: that of `next`; invalid_argument for a row that refers to one which is not there;
  // invalid_state when the store has rows.
  virtual Result<void> load(const NextRow& next) = 0;
  // Does what can wait: checkpoints of a write-ahead log, giving back pages.
  virtual Result<void> tidy() = 0;
  // Never earlier than what the store has seen.
  virtual std::int64_t now() = 0;
};

}  // namespace millrace::store
