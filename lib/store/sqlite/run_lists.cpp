// Lists of runs, the newest first: each state is read from an index that has them in that order, so
// that a page costs the same whatever the store holds.
#include <algorithm>
#include <limits>
#include <tuple>

#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {
namespace {

#define MILLRACE_LISTED(index, scope)                                                             \
  "SELECT created, id, no FROM runs INDEXED BY " index " WHERE " scope                            \
  "state=?2 AND (?3 OR root IS NULL) AND (created, id) < (?4, ?5) ORDER BY created DESC, id DESC" \
  " LIMIT ?6"

constexpr const char* list_all = MILLRACE_LISTED("runs_new", "");
constexpr const char* list_of_principal = MILLRACE_LISTED("runs_list", "principal=?1 AND ");
constexpr const char* list_of_thread = MILLRACE_LISTED("runs_thread", "thread=?1 AND ");

#undef MILLRACE_LISTED

}  // namespace

// Which index a list is read from, and for which principal or threads.
struct Backend::ListScope {
  const char* sql = list_all;
  std::vector<std::int64_t> numbers{0};
};

Backend::ListScope Backend::scope_of(const RunQuery& query) {
  ListScope scope;
  const auto only = [](std::optional<std::int64_t> number) {
    return number ? std::vector{*number} : std::vector<std::int64_t>();
  };
  if (query.thread) {
    scope.sql = list_of_thread;
    if (query.principal) {
      scope.numbers = only(find_thread(*query.principal, *query.thread));
      return scope;
    }
    scope.numbers.clear();
    Rows rows = database_.rows("SELECT n FROM threads WHERE id=?1", *query.thread);
    while (rows.next()) scope.numbers.push_back(rows.number(0));
  } else if (query.principal) {
    scope.sql = list_of_principal;
    scope.numbers = only(find_name(*query.principal));
  }
  return scope;
}

Result<RunList> Backend::runs(const RunQuery& query) {
  const auto edge = read_run_cursor(query.before);
  if (!edge) return edge.error();
  struct Listed {
    std::int64_t created = 0;
    RunId id;
    std::int64_t no = 0;
  };
  std::vector<Listed> listed;
  const RunEdge from = edge.value().value_or(RunEdge{std::numeric_limits<std::int64_t>::max(), {}});
  // A run that changes its state meanwhile, in the process that owns the store, is listed once.
  Snapshot snapshot(database_);
  const ListScope scope = scope_of(query);
  const auto is_wanted = [&](journal::RunState state) {
    return query.states.empty() ||
           std::find(query.states.begin(), query.states.end(), state) != query.states.end();
  };
  for (const std::int64_t number : scope.numbers) {
    for (const journal::RunState state : journal::run_states) {
      if (!is_wanted(state)) continue;
      Rows rows = database_.rows(scope.sql, number, state, query.with_children, from.created,
                                 Bytes{from.run.bytes()}, query.limit + 1);
      while (rows.next()) {
        listed.push_back({rows.number(0), RunId::of_bytes(rows.view(1)), rows.number(2)});
      }
    }
  }
  std::sort(listed.begin(), listed.end(), [](const Listed& one, const Listed& other) {
    return std::tie(one.created, one.id) > std::tie(other.created, other.id);
  });
  RunList list;
  for (const Listed& run : listed) {
    if (list.runs.size() == query.limit) {
      if (!list.runs.empty()) list.next = run_cursor(list.runs.back());
      break;
    }
    Rows rows = database_.rows(MILLRACE_SELECT_RUN " WHERE r.no=?1", run.no);
    if (!rows.next()) continue;
    list.runs.push_back(read_run(rows));
    add_recent(list.runs.back(), run.no);
  }
  return finish(std::move(list));
}

}  // namespace millrace::store::sqlite
