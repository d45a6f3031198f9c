#include "store/memory/memory_backend.hpp"

#include <optional>
#include <set>

#include "base/sha256.hpp"
#include "store/memory/append.hpp"
#include "store/memory/tables.hpp"
#include "store/memory/transfer.hpp"
#include "store/rules.hpp"

namespace millrace::store {
namespace {

using memory::Owned;
using memory::Tables;

template <class Map, class Key>
auto found_in(const Map& map, const Key& key) -> std::optional<typename Map::mapped_type> {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

// A row that another principal has is not there.
template <class Map>
auto owned_in(const Map& map, std::string_view principal, std::string_view id)
    -> std::optional<typename Map::mapped_type> {
  auto row = found_in(map, std::string(id));
  return row && row->principal == principal ? row : std::nullopt;
}

Owned owned(std::string_view principal, std::string_view id) {
  return {std::string(principal), std::string(id)};
}

class MemoryBackend final : public StorageBackend {
 public:
  explicit MemoryBackend(Clock clock) : clock_(std::move(clock)) {}

  std::vector<AppendOutcome> append(std::span<const AppendBatch> batches) override {
    const std::int64_t at = now();
    std::vector<AppendOutcome> outcomes;
    outcomes.reserve(batches.size());
    std::set<RunId> broken;
    for (const AppendBatch& batch : batches) {
      outcomes.push_back(broken.contains(batch.run) ? behind_failure(batch)
                                                    : memory::append(tables_, batch, at));
      if (outcomes.back().status != AppendStatus::committed) broken.insert(batch.run);
    }
    return outcomes;
  }

  Result<std::vector<StoredPage>> read(const RunId& root, std::uint64_t after,
                                       std::size_t max_bytes) override {
    if (tables_.find(root) == nullptr) return no_run(root);
    std::vector<StoredPage> pages;
    std::size_t bytes = 0;
    for (const StoredPage& page : tables_.journals[root]) {
      if (page.last <= after) continue;
      bytes += page.bytes.size();
      if (!pages.empty() && bytes > max_bytes) break;
      pages.push_back(page);
    }
    return pages;
  }

  Result<std::vector<Claim>> claim(std::span<const std::string> names, std::string_view owner,
                                   std::size_t most) override {
    const std::int64_t at = now();
    std::vector<RunRow*> due;
    for (auto& [id, row] : tables_.runs) {
      const bool is_named = std::find(names.begin(), names.end(), row.run.name) != names.end();
      if (is_named && is_due(row, at)) due.push_back(&row);
    }
    std::stable_sort(due.begin(), due.end(), [](const RunRow* a, const RunRow* b) {
      return a->run.run_at < b->run.run_at;
    });
    std::vector<Claim> claims;
    for (RunRow* row : due) {
      if (claims.size() == most) break;
      if (auto claim = take(*row, owner, at)) claims.push_back(std::move(*claim));
    }
    return claims;
  }

  Result<std::optional<Claim>> claim_run(const RunId& root, std::string_view owner) override {
    RunRow* row = tables_.find(root);
    if (row == nullptr || row->run.root) return no_run(root);
    if (journal::is_over(row->state) || !row->run.owner.empty()) return std::optional<Claim>();
    return take(*row, owner, now());
  }

  Result<std::size_t> release(std::string_view owner, Release how) override {
    std::size_t count = 0;
    for (auto& [id, row] : tables_.runs) {
      if (row.run.owner != owner) continue;
      row.run.owner.clear();
      row.run.run_at = now();
      if (how == Release::clean) row.head = released_head;
      ++count;
    }
    return count;
  }
  Result<void> renew(std::string_view /*owner*/) override { return {}; }

  Result<std::vector<RunHead>> watch(std::span<const RunId> roots) override {
    std::vector<RunHead> heads;
    for (const RunId& id : roots) {
      if (const RunRow* row = tables_.find(id)) heads.push_back({id, row->last, row->state});
    }
    return heads;
  }

  Result<std::optional<std::int64_t>> next_due() override {
    std::optional<std::int64_t> first;
    const auto take = [&](std::int64_t time) { first = std::min(first.value_or(time), time); };
    for (const auto& [id, row] : tables_.runs) {
      const bool waits =
          row.state == journal::RunState::queued || row.state == journal::RunState::sleeping;
      if (waits && !row.run.root) take(row.run.run_at);
    }
    for (const auto& [id, row] : tables_.approvals) {
      if (!row.decided && !row.has_expired && row.expires != 0) take(row.expires);
    }
    return first;
  }

  Result<std::optional<RunRow>> run(const RunId& id) override { return found_in(tables_.runs, id); }

  Result<RunList> runs(const RunQuery& query) override {
    std::vector<const RunRow*> rows;
    for (const auto& [id, row] : tables_.runs) {
      const bool fits = (!query.principal || row.run.principal == *query.principal) &&
                        (!query.state || row.state == *query.state) &&
                        (!query.thread || row.run.thread == *query.thread) &&
                        (query.with_children || !row.run.root);
      if (fits) rows.push_back(&row);
    }
    std::sort(rows.begin(), rows.end(), [](const RunRow* a, const RunRow* b) {
      return std::pair(a->created, a->run.id) > std::pair(b->created, b->run.id);
    });
    RunList list;
    const auto before = RunId::parse(query.before);
    const RunRow* edge = before ? tables_.find(*before) : nullptr;
    for (const RunRow* row : rows) {
      if (edge != nullptr &&
          std::pair(row->created, row->run.id) >= std::pair(edge->created, edge->run.id)) {
        continue;
      }
      if (list.runs.size() == query.limit) {
        list.next = list.runs.back().run.id.text();
        break;
      }
      list.runs.push_back(*row);
    }
    return list;
  }

  Result<std::vector<RunRow>> children(const RunId& root) override {
    std::vector<RunRow> rows;
    for (const RunRow* row : tables_.children_of(root)) rows.push_back(*row);
    return rows;
  }

  Result<std::vector<SegmentRow>> segments(std::string_view principal,
                                           std::string_view ag_ui_run) override {
    std::vector<SegmentRow> rows;
    for (const SegmentRow& row : tables_.segments) {
      if (row.principal == principal && row.ag_ui_run == ag_ui_run) rows.push_back(row);
    }
    return rows;
  }

  Result<std::vector<CheckpointRow>> checkpoints(const RunId& run) override {
    return found_in(tables_.checkpoints, run).value_or(std::vector<CheckpointRow>());
  }
  Result<std::vector<CallRow>> calls(const RunId& run) override {
    return found_in(tables_.calls, run).value_or(std::vector<CallRow>());
  }

  Result<std::vector<ApprovalRow>> approvals(const ApprovalQuery& query) override {
    std::vector<ApprovalRow> rows;
    for (const auto& [id, row] : tables_.approvals) {
      const bool fits = (!query.principal || row.principal == *query.principal) &&
                        (!query.run || row.run == *query.run) &&
                        (!query.open_only || (!row.decided && !row.has_expired));
      if (fits) rows.push_back(row);
    }
    return rows;
  }

  Result<DecisionOutcome> decide(const Decision& decision) override {
    const std::int64_t at = now();
    const auto found = tables_.approvals.find(decision.approval);
    DecisionOutcome outcome{DecisionStatus::not_found, {}, 0};
    if (found == tables_.approvals.end()) return outcome;
    ApprovalRow& row = found->second;
    outcome.status = status_of(row, decision, at);
    if (outcome.status == DecisionStatus::not_found) return outcome;
    outcome.run = row.run;
    if (outcome.status != DecisionStatus::decided) return outcome;
    RunRow& root = *tables_.find(row.run);
    const journal::ApprovalDecided fact{row.id, decision.decision, decision.edits, decision.by};
    outcome.seq = tables_.write(root, page_of(fact, at)).second;
    row.decided = at;
    row.decision = decision.decision;
    row.decided_by = decision.by;
    const bool is_last =
        std::none_of(tables_.approvals.begin(), tables_.approvals.end(), [&](const auto& entry) {
          const ApprovalRow& other = entry.second;
          return other.run == row.run && !other.decided && !other.has_expired;
        });
    if (is_last) answer_waiting(root, at);
    return outcome;
  }

  Result<void> put_thread(const ThreadRow& thread) override {
    ThreadRow& row = tables_.threads[owned(thread.principal, thread.id)];
    const std::int64_t created = row.created;
    row = thread;
    if (created != 0) row.created = created;
    return {};
  }
  Result<std::optional<ThreadRow>> thread(std::string_view principal,
                                          std::string_view id) override {
    return found_in(tables_.threads, owned(principal, id));
  }
  Result<std::vector<ThreadRow>> threads(std::string_view principal, std::string_view before,
                                         std::size_t limit) override {
    std::vector<ThreadRow> rows;
    for (const auto& [key, row] : tables_.threads) {
      if (row.principal == principal) rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end(), [](const ThreadRow& a, const ThreadRow& b) {
      return std::pair(a.updated, a.id) > std::pair(b.updated, b.id);
    });
    if (!before.empty()) {
      const auto edge = std::find_if(rows.begin(), rows.end(),
                                     [&](const ThreadRow& row) { return row.id == before; });
      rows.erase(rows.begin(), edge == rows.end() ? edge : std::next(edge));
    }
    if (rows.size() > limit) rows.resize(limit);
    return rows;
  }
  Result<bool> delete_thread(std::string_view principal, std::string_view id) override {
    const Owned key = owned(principal, id);
    if (tables_.threads.erase(key) == 0) return false;
    tables_.messages.erase(key);
    const auto is_of_it = [&](const auto& entry) {
      return entry.second.principal == principal && entry.second.thread == id;
    };
    std::erase_if(tables_.artifacts, is_of_it);
    std::erase_if(tables_.attachments, is_of_it);
    std::vector<RunId> roots;
    for (const auto& [run, row] : tables_.runs) {
      if (!row.run.root && row.run.principal == principal && row.run.thread == id) {
        roots.push_back(run);
      }
    }
    for (const RunId& root : roots) tables_.erase_run(root);
    return true;
  }
  Result<void> put_messages(std::string_view principal, std::string_view thread,
                            std::span<const MessageRow> rows) override {
    const Owned key = owned(principal, thread);
    const auto found = tables_.threads.find(key);
    if (found == tables_.threads.end()) {
      return make_error(Errc::invalid_argument, "There is no thread '" + key.second + "'.");
    }
    found->second.updated = now();
    tables_.put_messages(key, rows);
    return {};
  }
  Result<std::vector<MessageRow>> messages(std::string_view principal,
                                           std::string_view thread) override {
    return found_in(tables_.messages, owned(principal, thread)).value_or(std::vector<MessageRow>());
  }

  Result<void> put_artifact(const ArtifactRow& artifact) override {
    if (!tables_.threads.contains(owned(artifact.principal, artifact.thread))) {
      return make_error(Errc::invalid_argument, "There is no thread '" + artifact.thread + "'.");
    }
    const auto old = tables_.artifacts.find(artifact.id);
    if (old != tables_.artifacts.end() && old->second.principal != artifact.principal) {
      return make_error(Errc::invalid_argument, "The artifact id '" + artifact.id + "' is taken.");
    }
    tables_.artifacts[artifact.id] = artifact;
    return {};
  }
  Result<std::optional<ArtifactRow>> artifact(std::string_view principal,
                                              std::string_view id) override {
    return owned_in(tables_.artifacts, principal, id);
  }
  Result<std::vector<ArtifactRow>> artifacts(std::string_view principal,
                                             std::string_view thread) override {
    std::vector<ArtifactRow> rows;
    for (const auto& [id, row] : tables_.artifacts) {
      if (row.principal != principal || row.thread != thread) continue;
      rows.push_back(row);
      rows.back().content.clear();
    }
    return rows;
  }
  Result<bool> delete_artifact(std::string_view principal, std::string_view id) override {
    if (!owned_in(tables_.artifacts, principal, id)) return false;
    return tables_.artifacts.erase(std::string(id)) == 1;
  }

  Result<std::string> put_blob(std::string_view bytes) override {
    std::string hash = sha256_hex(bytes);
    tables_.blobs.try_emplace(hash, memory::Blob{std::string(bytes), now()});
    return hash;
  }
  Result<std::optional<std::string>> blob(std::string_view hash) override {
    const auto found = found_in(tables_.blobs, std::string(hash));
    return found ? std::optional(found->bytes) : std::nullopt;
  }
  Result<void> put_attachment(const AttachmentRow& attachment) override {
    if (!tables_.blobs.contains(attachment.hash)) {
      return make_error(Errc::invalid_argument, "There is no blob '" + attachment.hash + "'.");
    }
    tables_.attachments[attachment.id] = attachment;
    return {};
  }
  Result<std::optional<AttachmentRow>> attachment(std::string_view principal,
                                                  std::string_view id) override {
    return owned_in(tables_.attachments, principal, id);
  }
  Result<bool> delete_attachment(std::string_view principal, std::string_view id) override {
    if (!owned_in(tables_.attachments, principal, id)) return false;
    return tables_.attachments.erase(std::string(id)) == 1;
  }

  Result<std::vector<OutboxRow>> outbox(std::size_t most) override {
    std::vector<OutboxRow> rows;
    for (const OutboxRow& row : tables_.outbox) {
      if (row.next_at <= now()) rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const OutboxRow& a, const OutboxRow& b) { return a.next_at < b.next_at; });
    if (rows.size() > most) rows.resize(most);
    return rows;
  }
  Result<void> settle_outbox(std::string_view id, std::optional<std::int64_t> next_at) override {
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

  Result<SweepReport> sweep(const SweepPolicy& policy) override {
    const std::int64_t at = now();
    SweepReport report;
    for (auto& [id, row] : tables_.approvals) {
      const bool is_late = row.expires != 0 && row.expires <= at;
      if (row.decided || row.has_expired || !is_late) continue;
      row.has_expired = true;
      RunRow& root = *tables_.find(row.run);
      const journal::ApprovalExpired fact{id};
      tables_.write(root, page_of(fact, at));
      answer_waiting(root, at);
      report.expired.push_back({root.run.id, root.last, root.state});
    }
    for (auto& [id, row] : tables_.runs) {
      const bool is_old = row.ended && *row.ended + policy.events_ms <= at;
      if (is_old && tables_.journals.erase(id) != 0) ++report.journals;
    }
    std::set<std::string> used;
    for (const auto& [id, row] : tables_.attachments) used.insert(row.hash);
    report.blobs = std::erase_if(tables_.blobs, [&](const auto& entry) {
      return !used.contains(entry.first) && entry.second.created + policy.blobs_ms <= at;
    });
    return report;
  }

  Result<void> delete_run(const RunId& root) override {
    const RunRow* row = tables_.find(root);
    if (row == nullptr || row->run.root) return no_run(root);
    tables_.erase_run(root);
    return {};
  }

  Result<void> backup(const std::string& /*path*/) override {
    return make_error(Errc::invalid_state, "A store in memory has no file to back up.");
  }
  Result<std::vector<Problem>> check() override { return std::vector<Problem>(); }
  Result<void> dump(const EachRow& each) override { return memory::dump(tables_, each); }
  Result<void> load(const NextRow& next) override { return memory::load(tables_, next); }
  Result<void> tidy() override { return {}; }
  std::int64_t now() override { return seen_ = std::max(seen_, clock_()); }

 private:
  std::optional<Claim> take(RunRow& row, std::string_view owner, std::int64_t at) {
    if (tables_.at_work_in(row.run) != nullptr) return std::nullopt;
    Claim claim;
    const auto& pages = tables_.journals[row.run.id];
    const std::int64_t since = pages.empty() ? 0 : end_of(pages.back());
    tables_.write(row, take_over(row, claim, owner, since, at));
    for (RunRow* child : tables_.children_of(row.run.id)) {
      if (journal::is_over(child->state)) continue;
      child->epoch += 1;
      claim.children.push_back(*child);
    }
    claim.run = row;
    return claim;
  }

  Tables tables_;
  Clock clock_;
  std::int64_t seen_ = 0;
};

}  // namespace

std::unique_ptr<StorageBackend> make_memory_backend(Clock clock) {
  return std::make_unique<MemoryBackend>(std::move(clock));
}

}  // namespace millrace::store
