// The first page of a run that is made of another one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "event/event.hpp"
#include "journal/page.hpp"
#include "run/durable/fork_source.hpp"
#include "run/durable/run_fork.hpp"
#include "store/backend.hpp"

namespace millrace::run {

class ForkPage {
 public:
  ForkPage(store::AppendBatch& batch, std::int64_t now) : batch_(batch), now_(now) {}

  void add(const journal::Fact& fact) { page_.add({.at_ms = now_, .body = fact}); }
  void add(const event::Event& event) { page_.add({.at_ms = now_, .body = event}); }
  void finish() { batch_.page = page_.take(); }

  // A call as far as it had come. `row` is that of the ledger.
  void add_call(const journal::FoldedCall& folded, const ForkedCall& call, store::CallRow row,
                const std::string* edited);
  // Results that the readers of the run had seen after the checkpoint.
  void show_result(const ForkedCall& call, std::string_view id);
  [[nodiscard]] const std::vector<ForkedCall>& calls() const { return forked_; }

 private:
  store::AppendBatch& batch_;
  std::int64_t now_;
  journal::PageWriter page_;
  std::vector<ForkedCall> forked_;
};

// Calls that had started, with what became of them by the record. A sub-agent that was at work
// begins anew.
// Errors: those of the backend; invalid_argument where one was at work whose calls may not run
// twice.
Result<void> add_calls(store::StorageBackend& backend, const ForkRequest& request,
                       const ForkSource& source, const ForkState& state, ForkPage& page);
// The messages that the run got while it worked, and that are not in its state yet.
void add_sent(const ForkSource& source, const json::Tree& saved, ForkPage& page);

}  // namespace millrace::run
