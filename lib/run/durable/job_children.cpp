#include "run/durable/job_children.hpp"

#include <utility>

#include "agent/deltas.hpp"
#include "agent/turn_reports.hpp"
#include "base/json.hpp"

namespace millrace::run {

using json::Tree;

std::string child_args(std::string_view run) {
  std::string args = "{";
  json::append_member(args, "run", run);
  return args + "}";
}

store::RunId run_in(const store::CallRow& row) {
  if (row.kind != journal::CallKind::child) return {};
  const auto args = Tree::parse(row.args);
  if (!args) return {};
  return store::RunId::parse(args.value()["run"].string()).value_or(store::RunId());
}

Result<std::vector<store::RunRow>> runs_below(store::StorageBackend& backend,
                                              const store::RunId& job) {
  std::vector<store::RunRow> found;
  std::vector<store::RunId> jobs{job};
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    auto calls = backend.calls(jobs[at]);
    if (!calls) return calls.error();
    for (const store::CallRow& call : calls.value()) {
      const store::RunId child = run_in(call);
      if (child.empty()) continue;
      auto row = backend.run(child);
      if (!row) return row.error();
      // Its calls are those of an agent where it is no job.
      if (!row.value() || row.value()->run.parent != jobs[at]) continue;
      if (row.value()->run.kind == "job") jobs.push_back(child);
      found.push_back(std::move(*row.value()));
    }
  }
  return found;
}

void add_child_spent(Tree& state, const Tree& result) {
  for (const std::string_view member : {"usage", "cost"}) {
    if (!result[member].is_object()) continue;
    Tree* sum = state.find(member);
    agent::add_delta(sum != nullptr ? *sum : state.set(member, Tree::object()), Tree(),
                     result[member]);
  }
  if (!result["notes"].is_array()) return;
  Tree report = Tree::object();
  report.set("notes", result["notes"]);
  agent::add_report(state, report);
}

void add_child_spent(Tree& state, const store::CallRow& row) {
  if (row.kind != journal::CallKind::child || !journal::is_over(row.state)) return;
  if (const auto result = Tree::parse(row.result)) add_child_spent(state, result.value());
}

}  // namespace millrace::run
