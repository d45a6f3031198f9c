// What only reads.
#include <algorithm>
#include <optional>

#include "store/memory/backend_impl.hpp"
#include "store/rules.hpp"

namespace millrace::store::memory {

Result<std::vector<StoredPage>> Backend::read(const RunId& root, std::uint64_t after,
                                              std::size_t max_bytes) {
  const RunRow* row = tables_.find(root);
  if (row == nullptr) return no_run(root);
  if (row->records == StoredRecords::removed) return no_records(root);
  PagesBehind pages(after, max_bytes);
  for (const ChainedPage& one : tables_.journals[root]) {
    if (one.page.last <= after) continue;
    const auto more = pages.add(one.page);
    if (!more) return more.error();
    if (!more.value()) break;
  }
  return pages.take();
}

Result<std::vector<RunHead>> Backend::watch(std::span<const RunId> roots) {
  std::vector<RunHead> heads;
  for (const RunId& id : roots) {
    if (const RunRow* row = tables_.find(id)) heads.push_back({id, row->last, row->state});
  }
  return heads;
}

Result<std::optional<std::int64_t>> Backend::next_due() {
  std::optional<std::int64_t> first;
  const auto take = [&](std::int64_t time) { first = std::min(first.value_or(time), time); };
  const std::int64_t set_back = std::max<std::int64_t>(now() - clock_(), 0);
  for (const auto& [id, row] : tables_.unfinished) {
    const bool sleeps = row->state == journal::RunState::sleeping;
    const bool waits = row->state == journal::RunState::queued || sleeps;
    if (waits && !row->run.root) take(row->run.run_at + (sleeps ? set_back : 0));
    if (row->state == journal::RunState::waiting && row->run.deadline) {
      take(*row->run.deadline + set_back);
    }
  }
  for (const auto& [id, row] : tables_.approvals) {
    if (!row.decided && !row.has_expired && row.expires != 0) take(row.expires);
  }
  return first;
}

Result<std::optional<RunRow>> Backend::run(const RunId& id) {
  return found_in(tables_.runs, id);
}

Result<std::vector<RunRow>> Backend::children(const RunId& root) {
  std::vector<RunRow> rows;
  for (const RunRow* row : tables_.children_of(root)) rows.push_back(*row);
  return rows;
}

Result<std::vector<SegmentRow>> Backend::segments(std::string_view principal,
                                                  std::string_view ag_ui_run) {
  std::vector<SegmentRow> rows;
  const auto& places = tables_.segment_places;
  const std::string owner(principal);
  const std::string id(ag_ui_run);
  for (auto at = places.lower_bound({owner, id, {}}); at != places.end(); ++at) {
    const auto& [of_principal, of_run, thread] = at->first;
    if (of_principal != owner || of_run != id) break;
    rows.push_back(tables_.segments[at->second]);
  }
  return rows;
}

Result<std::vector<CheckpointRow>> Backend::checkpoints(const RunId& run) {
  return found_in(tables_.checkpoints, run).value_or(std::vector<CheckpointRow>());
}

Result<std::vector<CallRow>> Backend::calls(const RunId& run) {
  return found_in(tables_.calls, run).value_or(std::vector<CallRow>());
}

Result<std::vector<ApprovalRow>> Backend::approvals(const ApprovalQuery& query) {
  std::vector<ApprovalRow> rows;
  for (const auto& [id, row] : tables_.approvals) {
    const bool fits = (!query.principal || row.principal == *query.principal) &&
                      (!query.run || row.run == *query.run) &&
                      (!query.open_only || (!row.decided && !row.has_expired)) &&
                      (!query.id || id == *query.id);
    if (fits) rows.push_back(row);
  }
  return rows;
}

Result<std::vector<OutboxRow>> Backend::outbox(std::size_t most) {
  std::vector<OutboxRow> rows;
  for (const OutboxRow& row : tables_.outbox) {
    if (row.next_at <= now()) rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OutboxRow& a, const OutboxRow& b) { return a.next_at < b.next_at; });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

Result<std::vector<OutboxRow>> Backend::open_outbox(std::size_t most) {
  std::vector<OutboxRow> rows;
  for (const OutboxRow& row : tables_.outbox) {
    if (row.url.empty() && row.next_at == after_run && rows.size() < most) rows.push_back(row);
  }
  return rows;
}

Result<bool> Backend::change_outbox(const OutboxRow& row, std::string_view body,
                                    std::span<const OutboxRow> added) {
  const auto found =
      std::find_if(tables_.outbox.begin(), tables_.outbox.end(),
                   [&](const OutboxRow& one) { return one.id == row.id && one.body == row.body; });
  if (found == tables_.outbox.end()) return false;
  if (body.empty()) {
    tables_.outbox.erase(found);
  } else {
    found->body = body;
  }
  for (const OutboxRow& one : added) {
    tables_.outbox.push_back(one);
    tables_.outbox.back().run = row.run;
  }
  return true;
}

Result<std::optional<std::int64_t>> Backend::next_outbox() {
  std::optional<std::int64_t> first;
  for (const OutboxRow& row : tables_.outbox) {
    first = std::min(first.value_or(after_run), row.next_at);
  }
  return first;
}

Result<void> Backend::settle_outbox(std::string_view id, std::optional<std::int64_t> next_at) {
  if (!next_at) {
    std::erase_if(tables_.outbox, [&](const OutboxRow& row) { return row.id == id; });
    return {};
  }
  for (OutboxRow& row : tables_.outbox) {
    if (row.id != id) continue;
    row.tries += 1;
    row.next_at = *next_at;
  }
  return {};
}

}  // namespace millrace::store::memory
