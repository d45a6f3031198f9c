// Threads and their messages.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/memory/backend_impl.hpp"
#include "store/rules.hpp"

namespace millrace::store::memory {
namespace {

std::set<std::string> names_in(const MessageRow& row) {
  const std::vector<std::string> ids = attachments_in(row.json);
  return {ids.begin(), ids.end()};
}

}  // namespace

Result<void> Backend::put_threads(std::span<const ThreadRow> threads) {
  for (const ThreadRow& thread : threads) {
    const auto [at, is_new] =
        tables_.threads.try_emplace(owned(thread.principal, thread.id), thread);
    ThreadRow& row = at->second;
    if (is_new) {
      row.is_cut = false;
      tables_.note_change(row);
      continue;
    }
    if (row.created == 0) row.created = thread.created;
    row.title = thread.title;
    row.updated = thread.updated;
    row.extra = thread.extra;
  }
  return {};
}

Result<std::optional<ThreadRow>> Backend::thread(std::string_view principal, std::string_view id) {
  return found_in(tables_.threads, owned(principal, id));
}

Result<std::vector<ThreadRow>> Backend::threads(std::string_view principal, std::string_view before,
                                                std::size_t limit) {
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

Result<bool> Backend::delete_thread(std::string_view principal, std::string_view id) {
  const Owned key = owned(principal, id);
  if (tables_.threads.erase(key) == 0) return false;
  std::set<std::string> named;  // attachments in its messages
  for (const MessageRow& row : tables_.messages[key]) named.merge(names_in(row));
  tables_.messages.erase(key);
  const auto is_of_it = [&](const auto& entry) {
    return entry.second.principal == principal && entry.second.thread == id;
  };
  std::erase_if(tables_.artifacts, is_of_it);
  std::set<std::string> used;  // in others of the principal
  for (const auto& [thread, rows] : tables_.messages) {
    if (thread.first != principal) continue;
    for (const MessageRow& row : rows) used.merge(names_in(row));
  }
  std::vector<std::string> blobs;
  for (auto at = tables_.attachments.begin(); at != tables_.attachments.end();) {
    AttachmentRow& row = at->second;
    const bool is_named =
        row.principal == principal && row.thread.empty() && named.contains(row.id);
    const bool goes = (is_named || is_of_it(*at)) && !used.contains(row.id);
    if (is_of_it(*at)) row.thread.clear();
    if (goes) blobs.push_back(row.hash);
    at = goes ? tables_.attachments.erase(at) : std::next(at);
  }
  for (const std::string& hash : blobs) tables_.erase_blob(hash);
  std::vector<RunId> roots;
  for (const auto& [run, row] : tables_.runs) {
    if (!row.run.root && row.run.principal == principal && row.run.thread == id) {
      roots.push_back(run);
    }
  }
  for (const RunId& root : roots) tables_.erase_run(root);
  return true;
}

Result<void> Backend::put_messages(std::string_view principal, std::string_view thread,
                                   std::span<const MessageRow> rows) {
  const Owned key = owned(principal, thread);
  const auto found = tables_.threads.find(key);
  if (found == tables_.threads.end()) {
    return make_error(Errc::invalid_argument, "There is no thread '" + key.second + "'.");
  }
  found->second.updated = std::max(found->second.updated, now());
  tables_.change_messages(key, rows, false);
  return {};
}

Result<void> Backend::set_messages(std::string_view principal, std::string_view thread,
                                   std::span<const MessageRow> rows) {
  MILLRACE_TRY(put_messages(principal, thread, {}));
  const Owned key = owned(principal, thread);
  tables_.change_messages(key, rows, true);
  return {};
}

Result<std::vector<MessageRow>> Backend::messages(std::string_view principal,
                                                  std::string_view thread) {
  return found_in(tables_.messages, owned(principal, thread)).value_or(std::vector<MessageRow>());
}

Result<std::size_t> Backend::clear_messages(std::string_view principal, std::string_view thread) {
  const Owned key = owned(principal, thread);
  const auto found = tables_.messages.find(key);
  if (found == tables_.messages.end()) return std::size_t{0};
  const std::size_t removed = found->second.size();
  tables_.change_messages(key, {}, true);
  tables_.messages.erase(key);
  return removed;
}

}  // namespace millrace::store::memory
