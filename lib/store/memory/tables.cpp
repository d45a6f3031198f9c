#include "store/memory/tables.hpp"

#include "store/rules.hpp"

namespace millrace::store::memory {

const RunRow* Tables::at_work_in(const NewRun& other) {
  if (other.thread.empty() || other.root) return nullptr;
  for (const auto& [id, row] : runs) {
    const bool is_there = row.run.thread == other.thread && row.run.principal == other.principal;
    if (is_there && !row.run.root && id != other.id && holds_thread(row.state)) return &row;
  }
  return nullptr;
}

std::vector<RunRow*> Tables::children_of(const RunId& root) {
  std::vector<RunRow*> found;
  for (auto& [id, row] : runs) {
    if (row.run.root == root) found.push_back(&row);
  }
  return found;
}

std::pair<std::uint64_t, std::uint64_t> Tables::write(RunRow& root, const journal::Page& page) {
  if (page.count == 0) return {0, 0};
  const std::uint64_t first = root.last + 1;
  root.last += page.count;
  root.reserved = std::max(root.reserved, root.last);
  journals[root.run.id].push_back({root.last, page.count, page.bytes});
  return {first, root.last};
}

void Tables::put_messages(const Owned& thread, std::span<const MessageRow> rows) {
  auto& list = messages[thread];
  for (const MessageRow& row : rows) {
    std::erase_if(
        list, [&](const MessageRow& old) { return old.id == row.id || old.place == row.place; });
    list.push_back(row);
  }
  std::sort(list.begin(), list.end(),
            [](const MessageRow& a, const MessageRow& b) { return a.place < b.place; });
}

void Tables::erase_run(const RunId& root) {
  const auto is_of_it = [&](const RunId& id) {
    const auto found = runs.find(id);
    return id == root || (found != runs.end() && found->second.run.root == root);
  };
  std::erase_if(approvals, [&](const auto& entry) { return is_of_it(entry.second.run); });
  std::erase_if(segments, [&](const SegmentRow& row) { return is_of_it(row.run); });
  std::erase_if(outbox, [&](const OutboxRow& row) { return is_of_it(row.run); });
  std::erase_if(checkpoints, [&](const auto& entry) { return is_of_it(entry.first); });
  std::erase_if(calls, [&](const auto& entry) { return is_of_it(entry.first); });
  journals.erase(root);
  std::erase_if(runs, [&](const auto& entry) {
    return entry.first == root || entry.second.run.root == root;
  });
}

}  // namespace millrace::store::memory
