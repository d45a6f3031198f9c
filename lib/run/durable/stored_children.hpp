// What the store knows of the agents that work for a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "run/durable/stored_run.hpp"

namespace millrace::run {

// Takes the records of a line in their order, then the rows of those agents that still matter.
// Thread: any, one at a time.
class StoredChildren {
 public:
  void add(const journal::Record& record);
  // Errors: those of the backend; store_damaged where checkpoints do not fit each other.
  Result<void> load(store::StorageBackend& backend, StoredRun& run);

 private:
  void take_event(std::uint32_t branch, const journal::Record& record);
  Result<void> load_rows(store::StorageBackend& backend, const StoredRun& run, StoredChild& child);
  static void plan(const StoredRun& run, const journal::FoldedBranch& branch, std::int64_t now,
                   StoredChild& child);
  [[nodiscard]] bool matters(const StoredRun& run, const StoredChild& child) const;

  std::map<std::uint32_t, StoredChild> children_;
  std::map<store::RunId, std::uint32_t> branches_;
};

// Puts the states of agents that wait for the user into the state of the run that called them:
// each is in its own checkpoint.
Result<void> join_waiting(store::StorageBackend& backend, const store::RunId& root,
                          const store::RunId& run, json::Tree& checkpoint);

// The last checkpoint as it is stored. With the run's branch of the journal, which names it: an
// earlier one from which the ledger makes it, where it is missing or damaged.
// Errors: those of the backend; store_damaged.
Result<StoredState> load_checkpoint(store::StorageBackend& backend, const store::RunId& run,
                                    const journal::FoldedBranch* branch = nullptr);
Result<Ledger> load_ledger(store::StorageBackend& backend, const store::RunId& run);

// The messages that readers have seen of the step at work.
void note_shown(const event::Body& body, std::vector<std::string>& shown);

// True when readers have seen a part of what comes again: a response that is joined comes from its
// beginning, but where it goes on behind what was read.
bool comes_again(const journal::RecoveryPlan& plan);
// The attempt that the reset is of.
std::int64_t cut_attempt(const journal::RecoveryPlan& plan);

// Takes back the messages that readers have of a step.
void take_back(const journal::RecoveryPlan& plan, const std::vector<std::string>& shown,
               event::EventSink& sink);

// Closes what the readers have half of the agents, the last one first. Of those that go on, what
// comes again is taken back.
void close_children(const StoredRun& stored, bool goes_on, event::EventSink& sink);

}  // namespace millrace::run
