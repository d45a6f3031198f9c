#include "store/memory/transfer.hpp"

#include <utility>

#include "base/sha256.hpp"
#include "journal/page.hpp"
#include "store/checkpoint_chain.hpp"

namespace millrace::store::memory {
namespace {

Error no_run_here() {
  return make_error(Errc::invalid_argument, "It refers to a run that is not there.");
}

class TableLoader {
 public:
  explicit TableLoader(Tables& tables) : tables_(tables) {}

  Result<void> operator()(const RunRow& row) {
    if (row.run.root && tables_.find(*row.run.root) == nullptr) return no_run_here();
    return put(tables_.add(row));
  }
  Result<void> operator()(const SegmentRow& row) {
    if (tables_.find(row.run) == nullptr) return no_run_here();
    tables_.add_segment(row);
    return {};
  }
  Result<void> operator()(const JournalRow& row) {
    const StoredPage& page = row.page;
    if (journal::checksum_of(page.bytes, row.run.bytes(), page.last, page.count) != row.checksum) {
      return make_error(Errc::invalid_argument, "The page does not have its checksum.");
    }
    return add(row.run, tables_.journals[row.run], ChainedPage{page, row.hash});
  }
  Result<void> operator()(const CheckpointRow& row) {
    const std::int64_t crc =
        checksum_of_checkpoint(row.run, row.number, row.seq, row.is_full, row.data);
    if (row.checksum.value_or(crc) != crc) {
      return make_error(Errc::invalid_argument, "The checkpoint does not have its checksum.");
    }
    return add(row.run, tables_.checkpoints[row.run], row);
  }
  Result<void> operator()(const CallRow& row) {
    if (tables_.find(row.run) == nullptr) return no_run_here();
    tables_.put_call(row);
    return {};
  }
  Result<void> operator()(const ApprovalRow& row) {
    if (tables_.find(row.run) == nullptr) return no_run_here();
    return put(tables_.add_approval(row));
  }
  Result<void> operator()(const OutboxRow& row) { return add(row.run, tables_.outbox, row); }
  Result<void> operator()(const ThreadRow& row) {
    const auto [at, is_new] = tables_.threads.try_emplace({row.principal, row.id}, row);
    if (is_new) tables_.note_change(at->second);
    return put(is_new);
  }
  Result<void> operator()(const ThreadMessage& row) {
    tables_.messages[{row.principal, row.thread}].push_back(row.message);
    return {};
  }
  Result<void> operator()(const ArtifactRow& row) {
    return put(tables_.artifacts.try_emplace({row.principal, row.id}, row).second);
  }
  Result<void> operator()(const BlobRow& row) {
    return put(
        tables_.blobs.try_emplace(sha256_hex(row.bytes), Blob{row.bytes, row.created}).second);
  }
  Result<void> operator()(const AttachmentRow& row) {
    return put(tables_.attachments.try_emplace(row.id, row).second);
  }

 private:
  static Result<void> put(bool is_new) {
    if (is_new) return {};
    return make_error(Errc::invalid_argument, "The row is there twice, or does not fit others.");
  }
  template <class Row>
  Result<void> add(const RunId& run, std::vector<Row>& rows, const Row& row) {
    if (tables_.find(run) == nullptr) return no_run_here();
    rows.push_back(row);
    return {};
  }

  Tables& tables_;
};

template <class Map>
Result<void> each_in(const Map& map, const EachRow& each) {
  for (const auto& [key, row] : map) MILLRACE_TRY(each(row));
  return {};
}

}  // namespace

Result<void> dump(const Tables& tables, const EachRow& each) {
  // Roots first: children name them.
  for (const bool is_child : {false, true}) {
    for (const auto& [id, row] : tables.runs) {
      if (row.run.root.has_value() != is_child) continue;
      RunRow free = row;
      free.run.owner.clear();
      MILLRACE_TRY(each(free));
    }
  }
  for (const SegmentRow& row : tables.segments) MILLRACE_TRY(each(row));
  for (const auto& [run, pages] : tables.journals) {
    for (const auto& [page, hash] : pages) {
      const auto sum = journal::checksum_of(page.bytes, run.bytes(), page.last, page.count);
      MILLRACE_TRY(each(JournalRow{run, page, sum, hash}));
    }
  }
  for (const auto& [run, rows] : tables.checkpoints) {
    for (const CheckpointRow& row : rows) MILLRACE_TRY(each(row));
  }
  for (const auto& [run, rows] : tables.calls) {
    for (const CallRow& row : rows) MILLRACE_TRY(each(row));
  }
  MILLRACE_TRY(each_in(tables.approvals, each));
  for (const OutboxRow& row : tables.outbox) MILLRACE_TRY(each(row));
  MILLRACE_TRY(each_in(tables.threads, each));
  for (const auto& [thread, rows] : tables.messages) {
    for (const MessageRow& row : rows) {
      MILLRACE_TRY(each(ThreadMessage{thread.first, thread.second, row}));
    }
  }
  MILLRACE_TRY(each_in(tables.artifacts, each));
  for (const auto& [hash, blob] : tables.blobs) {
    MILLRACE_TRY(each(BlobRow{blob.created, blob.bytes}));
  }
  return each_in(tables.attachments, each);
}

Result<void> load(Tables& tables, const NextRow& next) {
  if (!tables.runs.empty() || !tables.threads.empty() || !tables.blobs.empty()) {
    return make_error(Errc::invalid_state, "The store is not empty.");
  }
  Tables loaded;
  loaded.last_change = tables.last_change;
  TableLoader loader(loaded);
  for (auto row = next();; row = next()) {
    if (!row) return std::move(row).error();
    if (!row.value()) break;
    MILLRACE_TRY(std::visit(loader, *row.value()));
  }
  tables = std::move(loaded);
  return {};
}

}  // namespace millrace::store::memory
