// Decisions that every backend takes the same way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "store/types.hpp"

namespace millrace::store {

// Counts the turns of a thread by its messages, which come in their order.
class TurnCounter {
 public:
  // Of a role that is neither the user's nor the assistant's, a message is part of its turn.
  void add(std::string_view role, std::string_view run);
  TurnCount take();

 private:
  std::size_t turns_ = 0;
  bool is_open_ = false;  // the last message is of a turn that goes on
  std::string open_run_;
  std::map<std::string, bool, std::less<>> is_answered_;  // by the run
};

// Numbers that a claim may find reserved: how far a synchronous commit looks ahead.
inline constexpr std::uint64_t reserve_ahead = 4096;

RunRow row_of(const NewRun& run, std::int64_t now);
void apply_change(RunRow& row, const RunChange& change, std::int64_t now);

// Whether an append under this epoch still has its run.
inline bool is_fenced(const RunRow& row, std::int64_t epoch) {
  return row.epoch != epoch || row.run.owner.empty() || journal::is_over(row.state);
}
// True for states in which a run has its thread for itself.
inline bool holds_thread(journal::RunState state) {
  return state == journal::RunState::running || state == journal::RunState::waiting;
}
// True for a parked run whose records are damaged: it would be in the way for ever.
bool is_damaged(const RunRow& row);
// Whether `holder` keeps another run of its thread, which is in the state, from its turn. One that
// is parked keeps its place before those that have yet to begin, or to wake.
bool keeps_from_turn(const RunRow& holder, journal::RunState state);
// The head of a run that its process let go of in good order.
inline constexpr std::string_view released_head = "released";

// True for a run without an owner that has no thread for itself, either: one that is queued, sleeps
// or is parked.
bool waits_for_turn(const RunRow& row);
// True for each root run that is not over and has no owner: what is added to its line is no work.
bool takes_unowned(const RunRow& row);
// True for a run without an owner whose time has come. The store's `now` is never set back; the end
// of a sleep is a time of the `clock` that the sleeper reads.
bool is_due(const RunRow& row, std::int64_t now, std::int64_t clock);

// When the last record of a page was made; 0 for one that cannot be read.
std::int64_t end_of(const StoredPage& page);

// How the journal of a run ends, by its pages from the last one on.
class LineEnd {
 public:
  // False once nothing more is to be known.
  bool add(const StoredPage& page);
  // When the last record was made; 0 without one.
  [[nodiscard]] std::int64_t at() const { return at_; }
  // The same but for messages of the user, which also come while no process works on the run.
  [[nodiscard]] std::int64_t worked_at() const { return worked_at_; }

 private:
  std::int64_t at_ = 0;
  std::int64_t worked_at_ = 0;
};

// Makes `row` its new owner's. Gives the page that says so: a gap over numbers that were reserved
// and not written, then the fact.
journal::Page take_over(RunRow& row, Claim& claim, std::string_view owner, const LineEnd& end,
                        std::int64_t now);
// A page for a run that no process works on, with a fact that it finds when it goes on. It is
// behind such a gap.
journal::Page page_behind(const RunRow& row, const journal::Fact& fact, std::int64_t now);

// What a reader gets of the pages of a journal: those behind `after`, at least one, else up to
// `max_bytes`. One in less room gives the pages that it was made of.
class PagesBehind {
 public:
  PagesBehind(std::uint64_t after, std::size_t max_bytes)
      : after_(after), last_(after), max_bytes_(max_bytes) {}
  // False once there is no more room.
  // Errors: store_damaged, also where records before the page are missing.
  Result<bool> add(StoredPage page);
  std::vector<StoredPage> take() { return std::move(pages_); }

 private:
  Result<bool> add_plain(StoredPage page);

  std::uint64_t after_;
  std::uint64_t last_;  // record of the page before
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::vector<StoredPage> pages_;
};
// What `read` gives of a run whose records were removed: run_not_found.
Error no_records(const RunId& run);

// How many bytes of pages become one page in less room: a reader of its last record expands it all.
inline constexpr std::size_t compact_bytes = std::size_t{256} << 10U;

journal::Page page_of(const journal::Fact& fact, std::int64_t now);

// A batch with a page alone, which may be empty.
bool is_progress(const AppendBatch& batch);

// Lets go of a run that nobody can go on with here, with the reason. It can be taken over at once.
AppendBatch parking(const RunId& run, std::int64_t epoch, std::string_view reason,
                    std::int64_t now);

// What a decision would be; `decided` when it may be made.
DecisionStatus status_of(const ApprovalRow& approval, const Decision& decision, std::int64_t now);
// The statuses of decisions that are made together, by their approvals; nothing for one that is not
// there. One of two decisions about the same approval is too late.
std::vector<DecisionOutcome> outcomes_of(std::span<const std::optional<ApprovalRow>> approvals,
                                         std::span<const Decision> decisions, std::int64_t now);
bool all_decided(std::span<const DecisionOutcome> outcomes);
// An answer, or the end of the time for one, lets a waiting run go on.
void answer_waiting(RunRow& row, std::int64_t now);
// Whether a commit has its run wait for approvals. What the user answered before, while the run was
// at work, does not wake it again.
bool begins_to_wait(const AppendBatch& batch);

// Whether a run has waited for its client for long enough; `until` is no later than the clock that
// its deadline comes from.
bool is_client_late(const RunRow& row, std::int64_t until);
// Whether it goes on since it has.
bool goes_on_without_client(const RunRow& row);

// When an approval expires by the store's time, which may be ahead of the clock that its time comes
// from.
constexpr std::int64_t expiry_of(const ApprovalRow& row, std::int64_t now, std::int64_t clock) {
  return row.expires == 0 ? 0 : row.expires + std::max<std::int64_t>(now - clock, 0);
}

// The ids of attachments that a message of a thread refers to: `attachments[].uid`.
std::vector<std::string> attachments_in(std::string_view message_json);

// Whether a message that its thread does not have is added to it.
constexpr bool may_add(MessageRule rule, bool is_new_thread) {
  return rule != MessageRule::change && (rule != MessageRule::history || is_new_thread);
}

// For a batch behind one of the same run that was not committed: nothing may be missing in between.
AppendOutcome behind_failure(const AppendBatch& batch);

// `now` is in milliseconds.
void add_spending(KeyUseRow& row, const KeySpending& spent, std::int64_t now);

// A place in a list of runs, which holds when the run at it goes.
struct RunEdge {
  std::int64_t created = 0;
  RunId run;
};
std::string run_cursor(const RunRow& row);
// Nothing for "". Errors: invalid_argument.
Result<std::optional<RunEdge>> read_run_cursor(std::string_view cursor);

Error no_run(const RunId& run);
Error no_thread(std::string_view id);

}  // namespace millrace::store
