#include "store/rules.hpp"

#include <algorithm>
#include <chrono>

#include "store/backend.hpp"

namespace millrace::store {
namespace {

using journal::RunState;

}  // namespace

Clock system_clock() {
  return [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
  };
}

RunRow row_of(const NewRun& run, std::int64_t now) {
  RunRow row;
  row.run = run;
  row.created = now;
  if (row.run.run_at == 0) row.run.run_at = now;
  const bool runs_at_once = !run.owner.empty() || run.root;
  row.state = runs_at_once ? RunState::running : RunState::queued;
  row.epoch = runs_at_once ? 1 : 0;
  return row;
}

void apply_change(RunRow& row, const RunChange& change, std::int64_t now) {
  if (change.step) row.step = *change.step;
  if (change.attempts) row.attempts = *change.attempts;
  if (change.run_at) row.run.run_at = *change.run_at;
  if (change.stop) row.stop = *change.stop;
  if (change.head) row.head = *change.head;
  if (!change.state) return;
  row.state = *change.state;
  if (row.state != RunState::running) row.run.owner.clear();
  if (journal::is_over(row.state)) row.ended = now;
}

bool is_due(const RunRow& row, std::int64_t now) {
  if (row.run.root || !row.run.owner.empty()) return false;
  switch (row.state) {
    case RunState::running:
    case RunState::parked: return true;
    case RunState::queued:
    case RunState::sleeping: return row.run.run_at <= now;
    default: return false;
  }
}

journal::Page take_over(RunRow& row, Claim& claim, std::string_view owner, std::int64_t since,
                        std::int64_t now) {
  const bool was_running = row.state == RunState::running;
  const bool was_released = row.head == released_head;
  if (was_released) row.head.clear();
  claim.cause = was_released ? released_head : "recovered";
  if (!was_running) claim.cause = journal::name_of(row.state);
  claim.downtime_ms = since == 0 ? 0 : std::max<std::int64_t>(now - since, 0);
  row.epoch += 1;
  if (was_running && !was_released) row.recoveries += 1;
  row.state = RunState::running;
  row.run.owner = owner;
  journal::PageWriter page;
  if (row.reserved > row.last) {
    const auto span = static_cast<std::uint32_t>(row.reserved - row.last);
    page.add({.span = span, .at_ms = now, .body = journal::Fact(journal::Gap{})});
  }
  const journal::Claimed fact{owner, row.epoch, claim.cause, claim.downtime_ms};
  page.add({.at_ms = now, .body = journal::Fact(fact)});
  return page.take();
}

std::int64_t end_of(const StoredPage& page) {
  journal::PageReader reader(page.bytes, page.last, page.count);
  std::int64_t end = 0;
  for (auto record = reader.next(); record.ok() && record.value() != nullptr;
       record = reader.next()) {
    end = record.value()->at_ms;
  }
  return end;
}

journal::Page page_of(const journal::Fact& fact, std::int64_t now) {
  journal::PageWriter page;
  page.add({.at_ms = now, .body = fact});
  return page.take();
}

DecisionStatus status_of(const ApprovalRow& approval, const Decision& decision, std::int64_t now) {
  // Another principal learns nothing, also not that there is such an approval.
  if (approval.principal != decision.principal) return DecisionStatus::not_found;
  if (approval.has_expired) return DecisionStatus::expired;
  if (approval.decided) return DecisionStatus::answered;
  if (approval.expires != 0 && approval.expires <= now) return DecisionStatus::expired;
  const auto differs = [](const std::string& given, const std::string& stored) {
    return !given.empty() && given != stored;
  };
  const bool fits = !differs(decision.args_hash, approval.args_hash) &&
                    !differs(decision.tools_hash, approval.tools_hash);
  return fits ? DecisionStatus::decided : DecisionStatus::mismatch;
}

void answer_waiting(RunRow& row, std::int64_t now) {
  if (row.state != RunState::waiting) return;
  row.state = RunState::queued;
  row.run.run_at = now;
}

AppendOutcome behind_failure(const AppendBatch& batch) {
  return {AppendStatus::fenced, batch.run, 0, 0, std::nullopt};
}

Error no_run(const RunId& run) {
  return make_error(Errc::run_not_found, "There is no run '" + run.text() + "'.");
}

}  // namespace millrace::store
