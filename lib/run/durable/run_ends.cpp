#include "run/durable/run_ends.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "event/event.hpp"
#include "journal/merger.hpp"
#include "os/random_ids.hpp"
#include "run/durable/job_children.hpp"
#include "run/durable/ledger_rows.hpp"
#include "run/durable/stored_children.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using journal::CallState;
using journal::RunState;

// The end of a run and of its agents as records of one page.
class EndPage final : public event::EventSink {
 public:
  EndPage(const StoredRun& stored, std::int64_t now) : now_(now), messages_(*stored.messages) {
    for (const auto& [branch, child] : stored.children) branches_[child.subagent] = branch;
  }
  void on_event(const event::Event& event) override {
    const auto found = branches_.find(event.subagent);
    merger_.add(now_, event.subagent.empty() || found == branches_.end() ? 0 : found->second,
                event);
    messages_.add(now_, event);
  }
  void note(std::uint32_t branch, const journal::Fact& fact) { merger_.add(now_, branch, fact); }
  void note(std::uint32_t branch, const event::Event& event) { merger_.add(now_, branch, event); }
  journal::Page take() { return merger_.take(); }

 private:
  std::int64_t now_;
  ThreadMessages& messages_;
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

store::AppendBatch end_batch(store::StorageBackend& backend, const StoredRun& stored,
                             const LeftEnd& end) {
  const store::RunRow& row = stored.claim.run;
  store::AppendBatch batch;
  batch.run = end.run;
  batch.epoch = row.epoch;
  batch.is_urgent = true;
  EndPage page(stored, std::max(backend.now(), stored.last_at_ms));
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
  if (!row.run.thread.empty()) {
    // What the user sent is part of the conversation, though it gets no answer.
    os::RandomIds ids;
    if (stored.queued && end.reason != taken_back) {
      join(batch.thread, given_messages(*stored.queued, end.run, backend.now(), ids));
    }
    join(batch.thread, stored.messages->rows(end.run, RunState::cancelled));
    // Those that it has taken are in the thread already.
    for (const json::Tree& message : stored.sent) {
      join(batch.thread, sent_message(message, end.run, backend.now()));
    }
  }
  store::RunChange change;
  change.run = end.run;
  change.state = RunState::cancelled;
  batch.changes.push_back(std::move(change));
  return batch;
}

// Cancels a run of which not all records can be read, and what it called.
Result<void> cancel_unread(store::StorageBackend& backend, const store::RunId& run,
                           store::AppendBatch& batch) {
  auto calls = backend.calls(run);
  if (!calls) return calls.error();
  for (store::CallRow& call : calls.value()) {
    if (journal::is_over(call.state)) continue;
    const bool has_begun = call.state == CallState::started;
    call.state = has_begun ? CallState::unknown : CallState::cancelled;
    batch.calls.push_back(std::move(call));
  }
  store::RunChange change;
  change.run = run;
  change.state = RunState::cancelled;
  batch.changes.push_back(std::move(change));
  return {};
}

// The end of a run of which not all records can be read. Without it the run would stay parked, and
// its thread busy.
Result<store::AppendBatch> unread_end_batch(store::StorageBackend& backend,
                                            const store::RunRow& row, const LeftEnd& end) {
  auto children = backend.children(row.run.id);
  if (!children) return children.error();
  store::AppendBatch batch;
  batch.run = end.run;
  batch.epoch = row.epoch;
  batch.is_urgent = true;
  journal::DeltaMerger merger;
  merger.add(backend.now(), 0, journal::StopRequested{end.by, end.reason});
  merger.add(backend.now(), 0, journal::Terminal{RunState::cancelled, end.reason, {}, {}, {}});
  batch.page = merger.take();
  for (const store::RunRow& child : children.value()) {
    if (!journal::is_over(child.state)) MILLRACE_TRY(cancel_unread(backend, child.run.id, batch));
  }
  MILLRACE_TRY(cancel_unread(backend, end.run, batch));
  return batch;
}

// Gives the run back where its end cannot be stored.
Result<bool> commit_end(store::StorageBackend& backend, const store::RunRow& row,
                        const Result<store::AppendBatch>& batch, const LeftEnd& end) {
  std::optional<Error> error;
  if (batch) {
    const auto outcomes = backend.append({&batch.value(), 1});
    const store::AppendOutcome& outcome = outcomes.front();
    if (outcome.status == store::AppendStatus::committed) return true;
    error = outcome.error.value_or(make_error(Errc::store_failed));
  } else {
    error = batch.error();
  }
  give_back(backend, row, *error, end.on_stranded);
  return *std::move(error);
}

// Of a run that cannot be loaded.
Result<bool> end_unread(store::StorageBackend& backend, const store::RunRow& row,
                        const Error& error, const LeftEnd& end) {
  if (error.code == Errc::store_damaged) {
    return commit_end(backend, row, unread_end_batch(backend, row, end), end);
  }
  give_back_unread(backend, row, error, end.on_stranded);
  return error;
}

// A run that waits for its turn is not taken over where its thread is another one's.
Result<bool> end_unowned(store::StorageBackend& backend, const LeftEnd& end) {
  auto row = backend.run(end.run);
  if (!row) return row.error();
  if (!row.value() || !store::waits_for_turn(*row.value())) return false;
  store::Claim claim;
  claim.run = *row.value();
  auto loaded = load_run(backend, std::move(claim));
  if (loaded) return backend.append_unowned(end_batch(backend, *loaded.value(), end));
  if (loaded.error().code != Errc::store_damaged) return loaded.error();
  auto batch = unread_end_batch(backend, *row.value(), end);
  if (!batch) return batch.error();
  return backend.append_unowned(batch.value());
}

Result<bool> end_one(store::StorageBackend& backend, const LeftEnd& end) {
  auto claim = backend.claim_run(end.run, end.owner);
  if (!claim) return claim.error();
  if (!claim.value()) return end_unowned(backend, end);
  const store::RunRow row = claim.value()->run;
  auto loaded = load_run(backend, std::move(*claim.value()));
  if (loaded) return commit_end(backend, row, end_batch(backend, *loaded.value(), end), end);
  return end_unread(backend, row, loaded.error(), end);
}

// Those at work are stopped where they are.
Result<void> end_runs_below(store::StorageBackend& backend, const LeftEnd& end) {
  auto below = runs_below(backend, end.run);
  if (!below) return below.error();
  for (const store::RunRow& row : below.value()) {
    if (journal::is_over(row.state)) continue;
    const auto ended = end_one(backend, {row.run.id, end.owner, end.by, end.reason});
    if (!ended) return ended.error();
  }
  return {};
}

}  // namespace

Result<bool> end_left_run(store::StorageBackend& backend, const LeftEnd& end) {
  auto ended = end_one(backend, end);
  if (ended && ended.value()) MILLRACE_TRY(end_runs_below(backend, end));
  return ended;
}

}  // namespace millrace::run
