// What a store in memory holds, and the rows of runs in it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/backend.hpp"
#include "store/hash_chain.hpp"
#include "store/types.hpp"

namespace millrace::store::memory {

using Owned = std::pair<std::string, std::string>;  // principal and id

inline Owned owned(std::string_view principal, std::string_view id) {
  return {std::string(principal), std::string(id)};
}

template <class Map, class Key>
auto found_in(const Map& map, const Key& key) -> std::optional<typename Map::mapped_type> {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

// A row that another principal has is not there.
template <class Map>
auto owned_in(const Map& map, std::string_view principal, std::string_view id)
    -> std::optional<typename Map::mapped_type> {
  auto row = found_in(map, std::string(id));
  return row && row->principal == principal ? row : std::nullopt;
}

struct Blob {
  std::string bytes;
  std::int64_t created = 0;
};

struct ChainedPage {
  StoredPage page;
  std::string hash;  // of the chain (store/hash_chain.hpp); "" for a loaded page without one
};

struct Tables {
  std::map<RunId, RunRow> runs;
  std::map<RunId, std::vector<ChainedPage>> journals;
  std::unique_ptr<HashChain> chain = std::make_unique<HashChain>();
  std::map<RunId, std::vector<CheckpointRow>> checkpoints;
  std::map<RunId, std::vector<CallRow>> calls;  // in the order of their intents
  std::map<std::string, ApprovalRow> approvals;
  std::vector<SegmentRow> segments;
  std::map<Owned, ThreadRow> threads;
  std::int64_t last_change = 0;  // of a thread
  std::map<Owned, std::vector<MessageRow>> messages;
  std::map<Owned, ArtifactRow> artifacts;
  std::map<std::string, Blob> blobs;
  std::map<std::string, AttachmentRow> attachments;
  std::vector<OutboxRow> outbox;
  std::map<std::string, KeyUseRow> key_uses;
  std::map<RunId, std::uint64_t> arrivals;  // in which order runs came
  std::uint64_t last_arrival = 0;
  std::map<Owned, RunId> keys;  // runs by principal and key of idempotence
  std::map<Owned, std::vector<RunId>> in_threads;
  // What a claim looks at, however many runs are over: rows of `runs`, and ids by their root.
  std::map<RunId, RunRow*> unfinished;
  std::map<RunId, std::vector<RunId>> children;
  std::map<RunId, std::vector<std::string>> approvals_of;  // ids by their run
  // Places in `calls` and `segments`.
  std::map<std::pair<RunId, std::string>, std::size_t> call_places;
  std::map<std::array<std::string, 3>, std::size_t> segment_places;

  // False for a run that is there already.
  bool add(const RunRow& row) {
    const NewRun& run = row.run;
    const auto [at, is_new] = runs.try_emplace(run.id, row);
    if (!is_new) return false;
    arrivals.try_emplace(run.id, ++last_arrival);
    if (!run.idem_key.empty()) keys[{run.principal, run.idem_key}] = run.id;
    if (!run.thread.empty() && !run.root) in_threads[{run.principal, run.thread}].push_back(run.id);
    if (run.root) children[*run.root].push_back(run.id);
    note_state(at->second);
    return true;
  }
  // After each change of the state of a run.
  void note_state(RunRow& row) {
    if (journal::is_over(row.state)) {
      unfinished.erase(row.run.id);
    } else {
      unfinished[row.run.id] = &row;
    }
  }
  // False for an approval that is there already.
  bool add_approval(const ApprovalRow& row) {
    if (!approvals.try_emplace(row.id, row).second) return false;
    approvals_of[row.run].push_back(row.id);
    return true;
  }
  std::vector<ApprovalRow*> approvals_in(const RunId& run) {
    std::vector<ApprovalRow*> rows;
    const auto found = approvals_of.find(run);
    if (found == approvals_of.end()) return rows;
    for (const std::string& id : found->second) rows.push_back(&approvals.at(id));
    return rows;
  }
  RunRow* find(const RunId& id) {
    const auto found = runs.find(id);
    return found == runs.end() ? nullptr : &found->second;
  }
  CallRow* find_call(const RunId& run, const std::string& call) {
    const auto found = call_places.find({run, call});
    return found == call_places.end() ? nullptr : &calls[run][found->second];
  }
  void put_call(const CallRow& row) {
    if (CallRow* old = find_call(row.run, row.call)) {
      *old = row;
      return;
    }
    call_places[{row.run, row.call}] = calls[row.run].size();
    calls[row.run].push_back(row);
  }
  static std::array<std::string, 3> key_of(const SegmentRow& row) {
    return {row.principal, row.ag_ui_run, row.thread};
  }
  const SegmentRow* find_segment(const SegmentRow& like) const {
    const auto found = segment_places.find(key_of(like));
    return found == segment_places.end() ? nullptr : &segments[found->second];
  }
  void add_segment(const SegmentRow& row) {
    segment_places[key_of(row)] = segments.size();
    segments.push_back(row);
  }
  // The run that was begun with the key, or nullptr.
  RunRow* with_key(const std::string& principal, const std::string& key) {
    const auto found = key.empty() ? keys.end() : keys.find({principal, key});
    return found == keys.end() ? nullptr : find(found->second);
  }
  // A run that keeps this one, in this state, from its turn in its thread, or nullptr.
  const RunRow* before_in_thread(const NewRun& other, journal::RunState state);
  // The same, or one that waits for its turn there.
  const RunRow* in_thread_of(const NewRun& other);
  std::vector<RunRow*> children_of(const RunId& root);
  // Gives the numbers of the page: first and last.
  // Gives the number of its record.
  std::uint64_t decide(const Decision& decision, std::int64_t at);
  std::pair<std::uint64_t, std::uint64_t> write(RunRow& root, const journal::Page& page);
  // `run` is the one whose commit it is.
  void put_messages(const Owned& thread, std::span<const MessageRow> rows,
                    const std::optional<RunId>& run);
  // The same for changes that are no run's: what is the same as before stays the message of its
  // run.
  void change_messages(const Owned& thread, std::span<const MessageRow> rows, bool replaces_all);
  void update_thread(const Owned& thread, const ThreadUpdate& update, const RunId& run);
  [[nodiscard]] std::size_t place_behind(const std::vector<MessageRow>& list,
                                         const RunId& run) const;
  void erase_run(const RunId& root);
  // Gives the thread another number (ThreadRow::changes).
  void note_change(ThreadRow& row) { row.changes = ++last_change; }
  // The messages that the run wrote. A title that repeats one of them goes as well.
  void erase_messages(const RunRow& run);
  // Unless an attachment refers to it.
  void erase_blob(const std::string& hash);
  // Roots that ended until then, and whose records are in this form.
  std::vector<RunRow*> ended_runs(std::int64_t until, StoredRecords records);
  // False where there was no room for all of it.
  bool compact_run(const RunId& run, std::size_t& room);
  std::size_t remove_blobs(std::int64_t until);
};

// Runs that are due and have no owner, as ClaimOrder finds them. The times are those of is_due.
std::vector<RunRow> find_due(const Tables& tables, const ClaimOrder::Wanted& wanted,
                             std::int64_t at, std::int64_t clock);

}  // namespace millrace::store::memory
