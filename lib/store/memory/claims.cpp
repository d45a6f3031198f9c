// Who works on a run, and what the user decides.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "store/memory/append.hpp"
#include "store/memory/backend_impl.hpp"
#include "store/rules.hpp"

namespace millrace::store::memory {

Result<std::vector<Claim>> Backend::claim(const ClaimRequest& request) {
  const std::int64_t at = now();
  auto at_work = work_counts();
  ClaimOrder order(request, at_work.value(), turns_, [&](const ClaimOrder::Wanted& wanted) {
    return memory::find_due(tables_, wanted, at, clock_());
  });
  std::vector<Claim> claims;
  while (claims.size() < request.most) {
    const auto row = order.next();
    if (!row) break;
    auto claim = take(*tables_.find(row->run.id), request.owner, at);
    if (!claim) continue;
    order.begun(*claim);
    claims.push_back(std::move(*claim));
  }
  if (const auto starts = remembered_starts(claims, request.rates); !starts.empty()) {
    forget_starts(request.rates.longest);
    for (const NewRun& run : starts) starts_.push_back({clock_(), run.name, run.principal});
  }
  return claims;
}

Result<std::vector<BegunRun>> Backend::starts() {
  std::vector<BegunRun> begun;
  for (const Start& start : starts_) {
    const std::int64_t age = std::max<std::int64_t>(0, clock_() - start.at);
    begun.push_back({start.name, start.principal, std::chrono::milliseconds(age)});
  }
  return begun;
}

// A clock that was put back: what began then began now at the latest.
void Backend::forget_starts(std::chrono::milliseconds longest) {
  const std::int64_t at = clock_();
  for (Start& start : starts_) start.at = std::min(start.at, at);
  std::erase_if(starts_, [&](const Start& start) { return start.at <= at - longest.count(); });
}

Result<std::vector<WorkCount>> Backend::work_counts() {
  std::map<std::pair<std::string, std::string>, std::size_t> runs;
  for (const auto& [id, row] : tables_.unfinished) {
    const NewRun& run = row->run;
    const bool is_at_work = !run.root && !run.owner.empty() &&
                            row->state == journal::RunState::running && run.lane != Lane::inner;
    if (is_at_work) ++runs[{run.name, run.principal}];
  }
  std::vector<WorkCount> counts;
  for (const auto& [key, count] : runs) counts.push_back({key.first, key.second, count});
  return counts;
}

Result<std::optional<Claim>> Backend::claim_run(const RunId& root, std::string_view owner) {
  RunRow* row = tables_.find(root);
  if (row == nullptr || row->run.root) return no_run(root);
  if (journal::is_over(row->state) || !row->run.owner.empty()) return std::optional<Claim>();
  return take(*row, owner, now());
}

Result<bool> Backend::append_unowned(const AppendBatch& batch) {
  RunRow* row = tables_.find(batch.run);
  const bool waits = row != nullptr && takes_unowned(*row) && row->epoch == batch.epoch;
  if (!waits) return false;
  row->run.owner = "append_unowned";
  AppendOutcome outcome = memory::append(tables_, batch, now(), clock_());
  row->run.owner.clear();
  if (outcome.status == AppendStatus::committed) return true;
  return outcome.error.value_or(make_error(Errc::store_failed));
}

Result<bool> Backend::begin_held(const RunId& root) {
  RunRow* row = tables_.find(root);
  const bool waits = row != nullptr && row->run.owner.empty() &&
                     row->state == journal::RunState::queued && row->run.run_at == until_begun;
  if (waits) row->run.run_at = now();
  return waits;
}

Result<std::size_t> Backend::release(std::string_view owner, Release how) {
  std::size_t count = 0;
  for (auto& [id, row] : tables_.runs) {
    if (row.run.owner != owner) continue;
    row.run.owner.clear();
    row.run.run_at = std::min(row.run.run_at, now());
    row.head = how == Release::clean ? released_head : std::string_view();
    ++count;
  }
  return count;
}

Result<std::vector<DecisionOutcome>> Backend::decide(std::span<const Decision> decisions) {
  const std::int64_t at = now();
  std::vector<std::optional<ApprovalRow>> approvals;
  for (const Decision& decision : decisions) {
    approvals.push_back(found_in(tables_.approvals, decision.approval));
  }
  auto outcomes = outcomes_of(approvals, decisions, at);
  if (!all_decided(outcomes)) return outcomes;
  for (std::size_t one = 0; one < decisions.size(); ++one) {
    outcomes[one].seq = tables_.decide(decisions[one], at);
    outcomes[one].at_ms = at;
  }
  return outcomes;
}

std::optional<Claim> Backend::take(RunRow& row, std::string_view owner, std::int64_t at) {
  if (tables_.before_in_thread(row.run, row.state) != nullptr) return std::nullopt;
  Claim claim;
  const auto& pages = tables_.journals[row.run.id];
  LineEnd end;
  for (auto page = pages.rbegin(); page != pages.rend() && end.add(page->page);) ++page;
  tables_.write(row, take_over(row, claim, owner, end, at));
  for (RunRow* child : tables_.children_of(row.run.id)) {
    if (journal::is_over(child->state)) continue;
    child->epoch += 1;
    claim.children.push_back(*child);
  }
  claim.run = row;
  return claim;
}

}  // namespace millrace::store::memory
