// The search for damage in the journals of a store: the pages, their chain, and the rows that only
// repeat them. A backend gives what it has, and gets what is wrong with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "journal/fold.hpp"
#include "store/checkpoint_chain.hpp"
#include "store/hash_chain.hpp"
#include "store/types.hpp"

namespace millrace::store {

// Thread: any, one at a time.
class JournalCheck {
 public:
  // Pages of a run come in their order. `hash` is "" for one without.
  void add_page(const RunId& run, const StoredPage& page, std::uint32_t checksum,
                std::string_view hash);
  // Behind all pages: how far a root run is by its row, and how it ended.
  void check_run(const RunId& run, journal::RunState state, std::uint64_t last,
                 StoredRecords records);
  // Behind all pages: the ledger. `calls_of` gives the calls that it has of a run.
  using Calls = std::vector<CallRow>;
  void check_calls(const std::function<Calls(const RunId& run)>& calls_of);

  // Behind all pages.
  void check_approval(const ApprovalRow& row);

  // As CheckpointChain takes them.
  void check_checkpoint(const CheckpointRow& row);
  // Behind all pages and checkpoints: that of each run the last one is there that its journal has.
  void check_last_checkpoints();

  [[nodiscard]] std::vector<Problem> take() { return std::move(problems_); }

 private:
  // What the row of a call repeats: a step's result as it is, or the members of a tool's.
  struct Result {
    bool is_step = false;
    std::size_t hash = 0;
  };
  // What a tool was called with; nothing is compared that is not recorded.
  struct Intent {
    std::string name;
    std::string args;
    std::string args_hash;
    journal::Effect effect = journal::Effect::once;
  };
  struct Approval {
    std::size_t request = 0;  // a hash
    std::int64_t expires = 0;
    std::optional<std::size_t> decision{};  // a hash
  };
  // What the journal of one run holds, as far as it can be read.
  struct Checked {
    journal::RunFold fold;
    std::map<std::pair<std::uint32_t, std::string>, Result> results;  // by branch and call
    std::map<std::pair<std::uint32_t, std::string>, Intent> intents;
    std::map<std::string, Approval, std::less<>> approvals;
    std::map<std::int64_t, RunId> runs;  // of its agents, by their branches
    std::string hash;                    // of the page before, where that has one
    bool is_readable = true;
    bool is_chained = true;
  };
  std::string check_page(const RunId& id, Checked& run, const StoredPage& page,
                         std::string_view hash);
  static void add_repeated(Checked& run, std::uint32_t branch, const journal::Fact& fact);
  std::string check_call(const Checked& checked, std::uint32_t branch,
                         const journal::FoldedCall& folded, const CallRow& row) const;
  void check_branch(const RunId& run, const Checked& checked, std::uint32_t number,
                    const Calls& calls);

  HashChain chain_;
  CheckpointChain checkpoints_;
  std::map<RunId, std::int64_t> last_checkpoints_;  // their numbers
  std::map<RunId, Checked> checked_;
  std::vector<Problem> problems_;
};

}  // namespace millrace::store
