// The store over one SQLite connection; each file beside this one has a part of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "os/file_lock.hpp"
#include "os/file_place.hpp"
#include "store/backend.hpp"
#include "store/hash_chain.hpp"
#include "store/rules.hpp"
#include "store/sqlite/database.hpp"
#include "store/sqlite/log_check.hpp"
#include "store/sqlite/recent_index.hpp"
#include "store/sqlite/recent_pages.hpp"
#include "store/sqlite/recent_rows.hpp"
#include "store/sqlite/sqlite_backend.hpp"

namespace millrace::store::sqlite {

class Backend final : public StorageBackend {
 public:
  explicit Backend(SqliteOptions options) : options_(std::move(options)) {}
  ~Backend() override;

  Result<void> open();

  std::unique_ptr<StorageBackend> open_reader() override;
  void read_together(const std::function<void()>& reads) override;
  std::vector<AppendOutcome> append(std::span<const AppendBatch> batches) override;
  Result<std::vector<StoredPage>> read(const RunId& root, std::uint64_t after,
                                       std::size_t max_bytes) override;
  using StorageBackend::claim;
  Result<std::vector<Claim>> claim(const ClaimRequest& request) override;
  Result<std::vector<WorkCount>> work_counts() override;
  Result<std::vector<BegunRun>> starts() override;
  Result<std::optional<Claim>> claim_run(const RunId& root, std::string_view owner) override;
  Result<bool> append_unowned(const AppendBatch& batch) override;
  Result<bool> begin_held(const RunId& root) override;
  Result<std::size_t> release(std::string_view owner, Release how) override;
  Result<void> renew(std::string_view /*owner*/) override { return {}; }
  Result<std::vector<RunHead>> watch(std::span<const RunId> roots) override;
  Result<std::optional<std::int64_t>> next_due() override;
  Result<std::optional<RunRow>> run(const RunId& id) override;
  Result<std::optional<RunRow>> run_with_key(std::string_view principal,
                                             std::string_view idem_key) override;
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
                            std::span<const MessageRow> messages) override;
  Result<void> set_messages(std::string_view principal, std::string_view thread,
                            std::span<const MessageRow> messages) override;
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
  Result<std::optional<std::int64_t>> next_outbox() override;
  Result<void> settle_outbox(std::string_view id, std::optional<std::int64_t> next_at) override;
  Result<std::vector<OutboxRow>> open_outbox(std::size_t most) override;
  Result<bool> change_outbox(const OutboxRow& row, std::string_view body,
                             std::span<const OutboxRow> added) override;
  Result<std::vector<KeyUseRow>> spend(std::span<const KeySpending> spent) override;
  Result<SweepReport> sweep(const SweepPolicy& policy) override;
  Result<void> delete_run(const RunId& root) override;
  Result<void> backup(const std::string& path) override;
  Result<std::vector<Problem>> check() override;
  Result<void> dump(const EachRow& each) override;
  Result<void> load(const NextRow& next) override;
  Result<void> tidy() override;
  std::int64_t now() override;

 private:
  // What the only writer knows of a run at work, so that progress reads nothing.
  struct Live {
    std::int64_t no = 0;
    std::int64_t epoch = 0;
    std::uint64_t last = 0;
    std::uint64_t reserved = 0;
    bool is_open = false;  // has an owner and is not over
    bool is_child = false;
    std::string hash = {};  // of its last page, where that has one
  };

  // The value, or what failed since the last call.
  template <class Value>
  Result<Value> finish(Value value) {
    if (!database_.ok()) return failure();
    return Result<Value>(std::move(value));
  }
  Result<void> finish();
  Error failure();
  [[nodiscard]] Error at_path(Error error) const;

  Result<void> open_file();
  Result<void> connect();
  Result<void> connect_again();
  // True where commits are lost that were shown.
  bool note_passed_over(const std::optional<PassedOver>& passed);
  [[nodiscard]] Error lost_commits(const PassedOver& passed) const;
  bool is_damage(const PassedOver& passed);
  bool has_durability(Durability durability);
  Result<void> check_tables();
  Result<void> check_place();
  Result<void> prepare_connection();
  [[nodiscard]] bool has_log() const;
  [[nodiscard]] Error explained(Error error) const;
  void forget();
  // Opens the file anew where it has to be.
  Result<void> writable();
  // True when the commits that follow must reach the disk.
  void set_synchronous(bool on);

  // append.cpp
  std::vector<AppendOutcome> append_once(std::span<const AppendBatch> batches);
  bool needs_sync(std::span<const AppendBatch> batches);
  AppendOutcome append_one(const AppendBatch& batch, std::int64_t at, bool synced, bool is_crowded);
  bool accept(const AppendBatch& batch, std::int64_t at, AppendOutcome& outcome);
  bool is_as_seen(const NewRun& made);
  bool check_segment(const AppendBatch& batch, AppendOutcome& outcome);
  bool write_rows(const AppendBatch& batch, Live& root, std::int64_t at, AppendOutcome& outcome);
  bool write_calls(const AppendBatch& batch, AppendOutcome& outcome);
  void write_checkpoints(const AppendBatch& batch, const Live& root);
  void write_approvals(const AppendBatch& batch, const Live& root);
  void wake_answered(const RunId& run, std::int64_t no, std::int64_t at);
  void insert_run(const NewRun& run, std::int64_t at);
  std::pair<std::uint64_t, std::uint64_t> write_page(const RunId& id, Live& live,
                                                     const journal::Page& page,
                                                     bool is_recent = false);
  std::string last_hash(std::int64_t run);
  // Nothing when the run is not there.
  Live* live(const RunId& id);
  static Live live_of(const RunRow& row, std::int64_t no);
  Live& keep(const RunId& id, Live made);
  bool survived(std::span<const AppendOutcome> outcomes, std::span<const AppendBatch> batches);

  // recent_adopt.cpp
  // Knows again what the file's recent pages are. Has none of them left where some are damaged.
  Result<void> adopt_recent();
  // What the table has, as far as it can be read.
  FoundPages find_recent();
  bool find_pages(Rows rows, FoundPages& found, std::vector<std::int64_t>& damaged);
  void salvage(std::int64_t row, FoundPages& found);
  void restore(FoundPages found);
  Result<void> move_to_journals(FoundPages found);
  void adopt(std::int64_t run, const std::vector<PlacedPage>& pages);
  void mark_damaged(std::int64_t run);
  void clear_recent(bool is_broken);
  RunsAtWork runs_at_work();
  std::uint64_t last_in_journal(std::int64_t run);
  // Whether what failed last is that a block of the file is damaged, which is forgotten then.
  bool take_broken_block();

  // recent.cpp
  void insert_page(std::int64_t run, const PlacedPage& placed);
  // Writes the recent pages of a run, of all, or of those that are due to the journal. Within a
  // transaction alone, which is not undone in part.
  void settle(std::int64_t run);
  void settle_all();
  void settle_due();
  void end_recent_commit();
  Rows lane_rows(std::int64_t run);
  [[nodiscard]] bool knows_recent() const;
  // False where there is no index of the recent pages.
  bool refresh_index();
  Result<std::vector<PlacedPage>> indexed_of(std::int64_t run, std::uint64_t after);
  // The number of the last record that is among them, or 0.
  std::uint64_t recent_last(std::int64_t run);
  // Those of a run behind a number. Errors: store_damaged.
  Result<std::vector<PlacedPage>> recent_of(std::int64_t run, std::uint64_t after);
  // Each page of all runs, run by run in their order. Errors: store_damaged; those of `call`.
  Result<void> each_page(
      const std::function<Result<void>(const RunId& run, const PlacedPage& page)>& call);

  // rows.cpp
  std::int64_t name(std::string_view text);
  std::optional<std::int64_t> find_name(std::string_view text);
  std::optional<std::int64_t> find_thread(std::string_view principal, std::string_view id);
  std::int64_t ensure_thread(std::string_view principal, std::string_view id, std::int64_t at);
  // A number for ThreadRow::changes.
  std::int64_t next_change();
  void note_change(std::int64_t thread);
  std::optional<std::int64_t> number_of(const RunId& id);
  std::optional<RunRow> load_run(const RunId& id);
  void add_recent(RunRow& row, std::int64_t no);
  void store_run(const RunRow& row);
  // `run` is the number of the run whose commit it is.
  void write_messages(std::int64_t thread, std::span<const MessageRow> rows,
                      std::optional<std::int64_t> run);
  void change_messages(std::int64_t thread, std::span<const MessageRow> rows, bool replaces_all);
  Result<void> store_messages(std::string_view principal, std::string_view thread,
                              std::span<const MessageRow> messages, bool replaces_all);
  void note_attachments(std::int64_t thread, std::string_view message_json);
  std::vector<std::string> erase_attachments(std::int64_t thread, std::string_view id,
                                             std::int64_t principal);
  void cut_messages(std::int64_t thread, std::string_view behind);
  void update_thread(std::int64_t thread, const ThreadUpdate& update, std::int64_t run);
  std::int64_t place_behind(std::int64_t thread, std::int64_t run,
                            std::optional<std::int64_t> last);
  void make_room(std::int64_t thread, std::int64_t place);

  // claims.cpp
  void forget_starts(std::chrono::milliseconds longest);
  void remember_starts(const std::vector<Claim>& claims, const CountedStarts& rates);
  std::string numbers_of(const std::vector<std::string>& names);
  std::vector<RunRow> find_due(const ClaimOrder::Wanted& wanted, std::int64_t at);
  std::vector<RunRow> take_children(std::int64_t root);
  std::optional<Claim> take(RunRow row, std::string_view owner, std::int64_t at);
  // Of the journal of a run; `hash` becomes that of its last page.
  LineEnd line_end(std::int64_t run, std::string* hash = nullptr);
  // A run that keeps this one, in this state, from its turn in its thread.
  std::optional<RunId> before_in_thread(const NewRun& run, journal::RunState state);
  // The same, or one that waits for its turn there.
  std::optional<RunId> in_thread_of(const NewRun& run);
  std::uint64_t write_decision(RunRow row, const Decision& decision, std::int64_t at);
  void write_fact(RunRow& row, const journal::Fact& fact, std::int64_t at);

  // run_lists.cpp
  struct ListScope;
  ListScope scope_of(const RunQuery& query);

  // upkeep.cpp
  void erase_run(std::int64_t root);
  void erase_messages(std::int64_t root);
  void erase_blobs(const std::vector<std::string>& hashes);
  Result<void> forget_for_good();
  void checkpoint_log(int mode);

  // retention.cpp
  struct SweepRoom;
  // Pages of one run that follow each other.
  struct PageGroup {
    std::vector<StoredPage> pages;
    std::string hash;  // of the last one
    std::size_t bytes = 0;
    std::uint64_t last = 0;
  };
  bool expire_approvals(std::int64_t at, SweepReport& report);
  bool wake_late(std::int64_t at, SweepReport& report);
  std::vector<std::pair<std::int64_t, RunId>> ended_runs(std::int64_t until, StoredRecords records,
                                                         std::size_t most);
  void remove_records(std::int64_t until, SweepRoom& room, SweepReport& report);
  void remove_rest(SweepRoom& room);
  bool remove_pages(std::int64_t no, SweepRoom& room);
  void compact_runs(std::int64_t until, SweepRoom& room, SweepReport& report);
  bool compact_run(std::int64_t no, const RunId& id, SweepRoom& room);
  PageGroup pages_behind(std::int64_t no, const RunId& id, std::uint64_t after);
  void remove_blobs(std::int64_t until, SweepRoom& room, SweepReport& report);
  bool give_back_pages();

  // check.cpp
  Result<void> take_damage(std::vector<Problem>& problems);
  void check_log(std::vector<Problem>& problems);

  // transfer.cpp
  class Loader;
  Result<void> load_rows(const NextRow& next);
  Result<void> dump_runs(const EachRow& each);
  Result<void> dump_journal(const EachRow& each);
  Result<void> dump_ledger(const EachRow& each);
  Result<void> dump_threads(const EachRow& each);
  Result<void> dump_blobs(const EachRow& each);

  SqliteOptions options_;
  bool is_alone_ =
      false;  // reads a file that no process has open, in a folder of which none is made
  std::string real_path_;
  os::FilePlace place_;
  bool is_suspect_ = false;   // a read, write or sync of the file failed
  bool must_forget_ = false;  // what was deleted may still be in the log
  std::optional<os::FileLock> lock_;
  Database database_;
  std::map<RunId, Live> live_;
  RecentPages recent_{options_.recent_commits};
  bool is_recent_known_ = false;    // else adopt_recent() comes before the next change
  bool is_recent_changed_ = false;  // by the transaction that is open
  RecentIndex index_;               // what a reader knows of them
  LaneTurns turns_;
  HashChain chain_;
  std::unordered_map<std::string, std::int64_t> names_;
  std::int64_t clock_high_ = 0;
  std::int64_t clock_saved_ = 0;
  std::int64_t last_change_ = 0;  // of a thread
  // Blobs that were stored until then have been looked at; who removes an attachment later looks
  // itself.
  std::optional<std::int64_t> blobs_seen_;
  bool is_synchronous_ = true;
  bool has_unsynced_ = false;  // the log has commits of this owner that need not reach the disk
};

}  // namespace millrace::store::sqlite
