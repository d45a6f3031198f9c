// Lists of runs, the newest first.
#include <algorithm>
#include <utility>

#include "store/memory/backend_impl.hpp"
#include "store/rules.hpp"

namespace millrace::store::memory {

Result<RunList> Backend::runs(const RunQuery& query) {
  std::vector<const RunRow*> rows;
  for (const auto& [id, row] : tables_.runs) {
    const bool fits = (!query.principal || row.run.principal == *query.principal) &&
                      (query.states.empty() || std::find(query.states.begin(), query.states.end(),
                                                         row.state) != query.states.end()) &&
                      (!query.thread || row.run.thread == *query.thread) &&
                      (query.with_children || !row.run.root);
    if (fits) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(), [](const RunRow* a, const RunRow* b) {
    return std::pair(a->created, a->run.id) > std::pair(b->created, b->run.id);
  });
  RunList list;
  const auto edge = read_run_cursor(query.before);
  if (!edge) return edge.error();
  for (const RunRow* row : rows) {
    if (edge.value() && std::pair(row->created, row->run.id) >=
                            std::pair(edge.value()->created, edge.value()->run)) {
      continue;
    }
    if (list.runs.size() == query.limit) {
      list.next = list.runs.empty() ? std::string() : run_cursor(list.runs.back());
      break;
    }
    list.runs.push_back(*row);
  }
  return list;
}

}  // namespace millrace::store::memory
