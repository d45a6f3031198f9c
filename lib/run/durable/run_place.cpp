#include "run/durable/run_place.hpp"

#include <optional>
#include <string_view>
#include <vector>

#include "base/shown.hpp"
#include "store/backend.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

// Whether it is a run of the agent `hidden`, or works for one.
Result<bool> is_hidden(store::StorageBackend& backend, const store::NewRun& run,
                       const std::string& hidden) {
  if (hidden.empty()) return false;
  if (!run.root) return run.name == hidden;
  auto root = backend.run(*run.root);
  if (!root) return root.error();
  return root.value() && root.value()->run.name == hidden;
}

Result<RunPlace> place_of_run(store::StorageBackend& backend, const store::RunId& run,
                              const std::string& principal, const std::string& hidden) {
  auto row = find_run(backend, run, principal);
  if (!row) return row.error();
  const auto is_left_out = is_hidden(backend, row.value().run, hidden);
  if (!is_left_out) return is_left_out.error();
  if (is_left_out.value()) return store::no_run(run);
  return RunPlace{std::move(row).value()};
}

}  // namespace

Result<store::RunRow> find_run(store::StorageBackend& backend, const store::RunId& run,
                               std::string_view principal) {
  auto row = backend.run(run);
  if (!row) return row.error();
  const bool is_theirs =
      row.value() && (principal.empty() || row.value()->run.principal == principal);
  if (!is_theirs) return store::no_run(run);
  return std::move(*row.value());
}

Result<RunPlace> find_place(store::StorageBackend& backend, const std::string& id,
                            const std::string& principal, const std::string& thread,
                            const std::string& hidden) {
  if (const auto run = store::RunId::parse(id)) {
    return place_of_run(backend, *run, principal, hidden);
  }
  auto segments = backend.segments(principal, id);
  if (!segments) return segments.error();
  std::vector<store::SegmentRow>& rows = segments.value();
  if (!thread.empty()) {
    std::erase_if(rows, [&](const store::SegmentRow& row) { return row.thread != thread; });
  }
  if (rows.empty())
    return make_error(Errc::run_not_found, "There is no run " + shown_text(id) + ".");
  if (rows.size() > 1) {
    return make_error(Errc::run_conflict, "Several threads have a run " + shown_text(id) +
                                              "; name the thread with `threadId`.");
  }
  auto place = place_of_run(backend, rows.front().run, principal, hidden);
  if (!place) return place;
  place.value().before = rows.front().first - 1;
  place.value().one_run = true;
  return place;
}

Result<store::RunList> runs_without(store::StorageBackend& backend, store::RunQuery query,
                                    const std::string& hidden) {
  const std::size_t most = query.limit++;  // one more shows whether another page follows
  store::RunList list;
  do {
    auto page = backend.runs(query);
    if (!page) return page;
    for (store::RunRow& row : page.value().runs) {
      const auto is_left_out = is_hidden(backend, row.run, hidden);
      if (!is_left_out) return is_left_out.error();
      if (!is_left_out.value()) list.runs.push_back(std::move(row));
    }
    query.before = page.value().next;
  } while (!query.before.empty() && list.runs.size() <= most);
  if (list.runs.size() <= most) return list;
  list.runs.resize(most);
  list.next = store::run_cursor(list.runs.back());
  return list;
}

}  // namespace millrace::run
