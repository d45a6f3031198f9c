#include "run/durable/run_ends.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "event/event.hpp"
#include "journal/merger.hpp"
#include "run/durable/ledger_rows.hpp"
#include "run/durable/stored_children.hpp"

namespace millrace::run {
namespace {

using journal::CallState;
using journal::RunState;

// The end of a run and of its agents as records of one page.
class EndPage final : public event::EventSink {
 public:
  EndPage(const StoredRun& stored, std::int64_t now) : now_(now) {
    for (const auto& [branch, child] : stored.children) branches_[child.subagent] = branch;
  }
  void on_event(const event::Event& event) override {
    const auto found = branches_.find(event.subagent);
    merger_.add(now_, event.subagent.empty() || found == branches_.end() ? 0 : found->second,
                event);
  }
  void note(std::uint32_t branch, const journal::Fact& fact) { merger_.add(now_, branch, fact); }
  void note(std::uint32_t branch, const event::Event& event) { merger_.add(now_, branch, event); }
  journal::Page take() { return merger_.take(); }

 private:
  std::int64_t now_;
  journal::DeltaMerger merger_;
  std::map<std::string, std::uint32_t, std::less<>> branches_;  // by what readers call the agents
};

void end_calls(const Ledger& ledger, std::uint32_t branch, store::AppendBatch& batch,
               EndPage& page) {
  for (const auto& [id, call] : ledger) {
    if (journal::is_over(call.state)) continue;
    store::CallRow row = call;
    // What an agent did is known.
    const bool is_unknown = row.state == CallState::started && row.kind != journal::CallKind::child;
    row.state = is_unknown ? CallState::unknown : CallState::cancelled;
    const tool::ToolOutcome outcome = unknown_outcome(row.name);
    if (is_unknown) row.result = result_json(outcome);
    page.note(branch, journal::ToolResult{id,
                                          row.state,
                                          is_unknown ? outcome.content : std::string_view(),
                                          is_unknown ? outcome.code : std::string_view(),
                                          {}});
    batch.calls.push_back(std::move(row));
  }
}

std::uint32_t branch_of(const StoredRun& stored, const std::optional<store::RunId>& run) {
  for (const auto& [branch, child] : stored.children) {
    if (child.row.run.id == run) return branch;
  }
  return 0;
}

// Those that were called last end first.
void end_agents(const StoredRun& stored, std::string_view reason, store::AppendBatch& batch,
                EndPage& page) {
  for (auto at = stored.children.rbegin(); at != stored.children.rend(); ++at) {
    const auto& [branch, child] = *at;
    if (journal::is_over(child.row.state)) continue;
    end_calls(child.ledger, branch, batch, page);
    if (child.is_shown) {
      const std::string message = "The agent " + child.row.run.name + " was stopped.";
      page.note(branch, event::Event{event::SubagentFailed{child.subagent, message,
                                                           row_of(Errc::cancelled).code}});
    }
    page.note(branch, journal::Terminal{RunState::cancelled, reason, {}, {}, {}});
    page.note(branch_of(stored, child.row.run.parent),
              journal::ChildEnded{child.row.run.parent_call, child.row.run.id.text(),
                                  RunState::cancelled});
    store::RunChange change;
    change.run = child.row.run.id;
    change.state = RunState::cancelled;
    batch.changes.push_back(std::move(change));
  }
}

}  // namespace

Result<bool> end_left_run(store::StorageBackend& backend, const LeftEnd& end) {
  auto claim = backend.claim_run(end.run, end.owner);
  if (!claim) return claim.error();
  if (!claim.value()) return false;
  auto loaded = load_run(backend, std::move(*claim.value()));
  if (!loaded) return loaded.error();
  const StoredRun& stored = *loaded.value();
  const store::RunRow& row = stored.claim.run;
  store::AppendBatch batch;
  batch.run = end.run;
  batch.epoch = row.epoch;
  batch.is_urgent = true;
  EndPage page(stored, backend.now());
  page.note(0, journal::StopRequested{end.by, end.reason});
  if (!stored.is_between_segments) close_children(stored, false, page);
  end_agents(stored, end.reason, batch, page);
  end_calls(stored.ledger, 0, batch, page);
  // An AG-UI run that waits for the user has ended for its readers.
  if (!stored.is_between_segments) {
    stored.open.close(page);
    if (!stored.open.step().empty()) page.on_event({event::StepEnd{stored.open.step()}});
    page.on_event({event::RunEnd{row.run.thread, stored.ag_ui_run, event::RunOutcome::cancelled}});
  }
  page.note(0, journal::Terminal{RunState::cancelled, end.reason, {}, {}, {}});
  batch.page = page.take();
  store::RunChange change;
  change.run = end.run;
  change.state = RunState::cancelled;
  batch.changes.push_back(std::move(change));
  const auto outcomes = backend.append({&batch, 1});
  const store::AppendOutcome& outcome = outcomes.front();
  if (outcome.status == store::AppendStatus::committed) return true;
  return outcome.error.value_or(make_error(Errc::store_failed));
}

}  // namespace millrace::run
