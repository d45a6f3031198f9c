#include "run/durable/run_ends.hpp"

#include <memory>
#include <string>
#include <utility>

#include "event/event.hpp"
#include "journal/merger.hpp"
#include "run/durable/ledger_rows.hpp"
#include "run/durable/stored_run.hpp"

namespace millrace::run {
namespace {

using journal::CallState;
using journal::RunState;

// Events of the root run as records of one page.
class EndPage final : public event::EventSink {
 public:
  explicit EndPage(std::int64_t now) : now_(now) {}
  void on_event(const event::Event& event) override { merger_.add(now_, 0, event); }
  void note(const journal::Fact& fact) { merger_.add(now_, 0, fact); }
  journal::Page take() { return merger_.take(); }

 private:
  std::int64_t now_;
  journal::DeltaMerger merger_;
};

void end_calls(const StoredRun& stored, store::AppendBatch& batch, EndPage& page) {
  for (const auto& [id, call] : stored.ledger) {
    if (journal::is_over(call.state)) continue;
    store::CallRow row = call;
    const bool had_begun = row.state == CallState::started;
    row.state = had_begun ? CallState::unknown : CallState::cancelled;
    const tool::ToolOutcome outcome = unknown_outcome(row.name);
    if (had_begun) row.result = result_json(outcome);
    page.note(journal::ToolResult{id,
                                  row.state,
                                  had_begun ? outcome.content : std::string_view(),
                                  had_begun ? outcome.code : std::string_view(),
                                  {}});
    batch.calls.push_back(std::move(row));
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
  EndPage page(backend.now());
  page.note(journal::StopRequested{end.by, end.reason});
  end_calls(stored, batch, page);
  // An AG-UI run that waits for the user has ended for its readers.
  if (!stored.is_between_segments) {
    stored.open.close(page);
    if (!stored.open.step().empty()) page.on_event({event::StepEnd{stored.open.step()}});
    page.on_event({event::RunEnd{row.run.thread, stored.ag_ui_run, event::RunOutcome::cancelled}});
  }
  page.note(journal::Terminal{RunState::cancelled, end.reason, {}, {}, {}});
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
