// Where durable runs are kept. A backend is synchronous: the thread that calls it is its own
// (store/writer.hpp), never an engine thread.
//
// What every backend holds to is written as tests: test/native/store/conformance.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "store/admission.hpp"
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

  // Another backend over the same data that only reads, on a thread of its own. It sees what is
  // committed. Nothing where only this one can read.
  // Lifetime: ends before this one.
  virtual std::unique_ptr<StorageBackend> open_reader() { return nullptr; }
  // What `reads` reads is of one moment, where others may commit meanwhile.
  virtual void read_together(const std::function<void()>& reads) { reads(); }

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
  // Where there are limits, a run waits for them, and lanes take turns; those that work for another
  // run come first. Where there are rates, what begins is remembered as long as it counts.
  virtual Result<std::vector<Claim>> claim(const ClaimRequest& request) = 0;
  Result<std::vector<Claim>> claim(std::span<const std::string> names, std::string_view owner,
                                   std::size_t most) {
    return claim({{names.begin(), names.end()}, std::string(owner), most, {}});
  }
  // Runs at work, without those that work for another run.
  virtual Result<std::vector<WorkCount>> work_counts() = 0;
  // What claims with rates began, each once and the oldest first, also before this backend was
  // opened. A start may be forgotten once the claim's rates count it no longer, and is after a day.
  virtual Result<std::vector<BegunRun>> starts() = 0;
  // Takes over this root run whatever it waits for; nothing when it is over or somebody works on
  // it.
  // Errors: run_not_found.
  virtual Result<std::optional<Claim>> claim_run(const RunId& root, std::string_view owner) = 0;
  // Commits the end of a run that waits for its turn, or what it is to find when it goes on: its
  // thread may be busy with another run. The batch changes its state. One that waits for the user,
  // or whose process ended, gets what it is to find as well, and may stay as it is. False when it
  // is over, has an owner, or was at work since the batch's epoch.
  virtual Result<bool> append_unowned(const AppendBatch& batch) = 0;
  // Gives a run that was accepted with `until_begun` its turn. False where it does not wait so.
  virtual Result<bool> begin_held(const RunId& root) = 0;
  // Gives back what an owner has; others can claim it at once.
  virtual Result<std::size_t> release(std::string_view owner, Release how) = 0;
  // Keeps an owner's runs its own, where owners of other processes share the store.
  virtual Result<void> renew(std::string_view owner) = 0;
  // Where these runs stand. May be late.
  virtual Result<std::vector<RunHead>> watch(std::span<const RunId> roots) = 0;
  // When the next sleeping or queued run is due, or an approval expires, in the time of `now`.
  virtual Result<std::optional<std::int64_t>> next_due() = 0;

  virtual Result<std::optional<RunRow>> run(const RunId& id) = 0;
  // The run that a request of the principal with this key of idempotence began; none has "".
  virtual Result<std::optional<RunRow>> run_with_key(std::string_view principal,
                                                     std::string_view key) = 0;
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
  // run that waits go on. All are made or none: none where one is not `decided`. One outcome a
  // decision, in their order.
  virtual Result<std::vector<DecisionOutcome>> decide(std::span<const Decision> decisions) = 0;
  Result<DecisionOutcome> decide(const Decision& decision) {
    auto outcomes = decide(std::span(&decision, 1));
    if (!outcomes) return std::move(outcomes).error();
    return outcomes.value().front();
  }

  // Threads belong to a principal; another one's are not found.
  // All of them in one commit.
  virtual Result<void> put_threads(std::span<const ThreadRow> threads) = 0;
  Result<void> put_thread(const ThreadRow& thread) { return put_threads({&thread, 1}); }
  virtual Result<std::optional<ThreadRow>> thread(std::string_view principal,
                                                  std::string_view id) = 0;
  // The last changed first, those before `before` (an id) left out.
  virtual Result<std::vector<ThreadRow>> threads(std::string_view principal,
                                                 std::string_view before, std::size_t limit) = 0;
  // With its messages, artifacts, attachments and runs, beyond recovery.
  virtual Result<bool> delete_thread(std::string_view principal, std::string_view id) = 0;
  virtual Result<void> put_messages(std::string_view principal, std::string_view thread,
                                    std::span<const MessageRow> messages) = 0;
  // Replaces all messages of the thread.
  virtual Result<void> set_messages(std::string_view principal, std::string_view thread,
                                    std::span<const MessageRow> messages) = 0;
  virtual Result<std::vector<MessageRow>> messages(std::string_view principal,
                                                   std::string_view thread) = 0;

  virtual Result<TurnCount> count_turns(std::string_view principal, std::string_view thread) = 0;

  // Removes the messages of a thread, beyond recovery. Shape: their number.
  virtual Result<std::size_t> clear_messages(std::string_view principal,
                                             std::string_view thread) = 0;

  virtual Result<void> put_artifact(const ArtifactRow& artifact) = 0;
  virtual Result<std::optional<ArtifactRow>> artifact(std::string_view principal,
                                                      std::string_view id) = 0;
  // Without their content.
  virtual Result<std::vector<ArtifactRow>> artifacts(std::string_view principal,
                                                     std::string_view thread) = 0;
  // Of all threads, in the order of their ids: those behind `after`. Without their content.
  virtual Result<std::vector<ArtifactRow>> artifacts_of(std::string_view principal,
                                                        std::string_view after,
                                                        std::size_t limit) = 0;
  virtual Result<bool> delete_artifact(std::string_view principal, std::string_view id) = 0;

  // Keeps bytes under their SHA-256, in hexadecimal digits, once.
  virtual Result<std::string> put_blob(std::string_view bytes) = 0;
  virtual Result<std::optional<std::string>> blob(std::string_view hash) = 0;
  // The bytes from a place on, `most` at most, which are not compared with the hash.
  virtual Result<std::optional<std::string>> blob_part(std::string_view hash, std::uint64_t from,
                                                       std::size_t most) = 0;
  // Errors: invalid_argument when the blob is not there.
  virtual Result<void> put_attachment(const AttachmentRow& attachment) = 0;
  virtual Result<std::optional<AttachmentRow>> attachment(std::string_view principal,
                                                          std::string_view id) = 0;
  virtual Result<bool> delete_attachment(std::string_view principal, std::string_view id) = 0;

  // Messages that are due, the longest waiting first.
  virtual Result<std::vector<OutboxRow>> outbox(std::size_t most) = 0;
  // The time of the first message, `after_run` where all wait for their runs; nothing without any.
  virtual Result<std::optional<std::int64_t>> next_outbox() = 0;
  // Delivered, or with a time for the next attempt.
  virtual Result<void> settle_outbox(std::string_view id, std::optional<std::int64_t> next_at) = 0;
  // Rows without an address whose runs are not over.
  virtual Result<std::vector<OutboxRow>> open_outbox(std::size_t most) = 0;
  // Gives a row another body ("" deletes it) and adds rows of its run, all at once. False, and
  // nothing, where the row does not have this body any more.
  virtual Result<bool> change_outbox(const OutboxRow& row, std::string_view body,
                                     std::span<const OutboxRow> added) = 0;

  // Adds to what keys have used; gives what that is then, in their order. kill -9 loses nothing of
  // it, a power cut may.
  virtual Result<std::vector<KeyUseRow>> spend(std::span<const KeySpending> spent) = 0;

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
