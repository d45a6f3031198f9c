// Decisions that every backend takes the same way.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/types.hpp"

namespace millrace::store {

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
// The head of a run that its process let go of in good order.
inline constexpr std::string_view released_head = "released";

// True for a run without an owner whose time has come.
bool is_due(const RunRow& row, std::int64_t now);

// Makes `row` its new owner's. Gives the page that says so: a gap over numbers that were reserved
// and not written, then the fact.
// `since` is when its last record was made.
journal::Page take_over(RunRow& row, Claim& claim, std::string_view owner, std::int64_t since,
                        std::int64_t now);
// When the last record of a page was made; 0 for one that cannot be read.
std::int64_t end_of(const StoredPage& page);

journal::Page page_of(const journal::Fact& fact, std::int64_t now);

// What a decision would be; `decided` when it may be made.
DecisionStatus status_of(const ApprovalRow& approval, const Decision& decision, std::int64_t now);
// An answer, or the end of the time for one, lets a waiting run go on.
void answer_waiting(RunRow& row, std::int64_t now);

// For a batch behind one of the same run that was not committed: nothing may be missing in between.
AppendOutcome behind_failure(const AppendBatch& batch);

Error no_run(const RunId& run);

}  // namespace millrace::store
