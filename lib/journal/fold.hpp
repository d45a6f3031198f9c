// The place a run has reached, from its journal. Recovery decides by it, and `storage check`
// compares the tables that only repeat the journal with it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "journal/facts.hpp"
#include "journal/record.hpp"

namespace millrace::journal {

struct FoldedCall {
  std::string call;
  std::string name;
  CallKind kind = CallKind::tool;
  Effect effect = Effect::once;
  CallState state = CallState::intent;
  std::int64_t tries = 0;
  std::string child;          // run that works for it
  std::int64_t until_ms = 0;  // of a sleep
};

struct FoldedApproval {
  std::string id;
  std::string call;
  std::int64_t expires_ms = 0;  // 0: never
  bool is_decided = false;
  bool has_expired = false;
};

// The model call of a step, as far as it came.
struct FoldedModel {
  enum class Phase : std::uint8_t { none, requested, opened, completed };
  Phase phase = Phase::none;
  std::int64_t attempt = 0;
  bool is_let_go = false;  // `attempt` does not count the last one: its process let go of the run
  std::string response_id;
  bool background = false;
  std::int64_t upstream_seq = 0;
  std::string records;     // of a background response, as ModelProgress has them
  bool was_shown = false;  // readers have seen a part of its answer
};

// One branch: the root run, or a child.
struct FoldedBranch {
  std::uint32_t number = 0;
  RunState state = RunState::queued;
  std::int64_t step = 0;
  std::int64_t checkpoint = -1;  // number of the last one
  std::uint64_t checkpoint_seq = 0;
  std::int64_t checkpoint_step = -1;
  // The first checkpoint from which the ledger alone makes the last one: what was recorded between
  // them is calls of tools. The last one itself where there is none, and where more followed.
  std::int64_t rebuilt_from = -1;
  bool has_only_calls = false;  // since the last checkpoint
  std::int64_t recoveries = 0;  // since its last step ended
  FoldedModel model;
  std::vector<FoldedCall> calls;  // in the order of their intents
  std::vector<FoldedApproval> approvals;
  bool stop_requested = false;
  bool is_job = false;
  std::string parked;

  [[nodiscard]] FoldedCall* find_call(std::string_view call);
  [[nodiscard]] const FoldedApproval* open_approval_of(std::string_view call) const;
};

// Takes the records of a root run in their order.
class RunFold {
 public:
  void add(const Record& record);

  [[nodiscard]] const std::map<std::uint32_t, FoldedBranch>& branches() const { return branches_; }
  [[nodiscard]] std::uint64_t last() const { return last_; }
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  [[nodiscard]] std::int64_t claims() const { return claims_; }

 private:
  struct FactFold;
  std::map<std::uint32_t, FoldedBranch> branches_;
  std::uint64_t last_ = 0;
  std::int64_t epoch_ = 0;
  std::int64_t claims_ = 0;
};

}  // namespace millrace::journal
