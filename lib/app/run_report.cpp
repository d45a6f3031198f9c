#include "app/run_report.hpp"

#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "journal/record.hpp"
#include "run/durable/job_children.hpp"
#include "run/durable/run_info.hpp"
#include "run/durable/run_records.hpp"
#include "run/durable/stored_run.hpp"
#include "run/run_end.hpp"
#include "store/rules.hpp"

namespace millrace::app {
namespace {

using journal::RunState;
using json::Tree;

// What the journal of a run tells besides the tables.
struct JournalReport {
  std::string model;  // "requested" or "opened", while a provider's answer is missing
  std::int64_t step = 0;
  std::int64_t attempt = 0;
  std::int64_t model_since = 0;
  std::map<std::string, std::int64_t, std::less<>> call_since;
  std::map<std::string, std::string, std::less<>> child_of_call;
  std::int64_t last_at = 0;
  std::string usage_json;
  std::string cost_json;
  std::string error_json;
};

class ReportFacts {
 public:
  ReportFacts(JournalReport& report, std::int64_t at) : report_(report), at_(at) {}

  void operator()(const journal::ModelRequested& fact) const {
    report_.model = "requested";
    report_.step = fact.step;
    report_.attempt = fact.attempt;
    report_.model_since = at_;
  }
  void operator()(const journal::ModelOpened& /*fact*/) const { report_.model = "opened"; }
  void operator()(const journal::ModelCompleted& /*fact*/) const { report_.model.clear(); }
  // A step ends with a checkpoint, a turn of the model with it or with the calls that it asks for.
  void operator()(const journal::Checkpoint& /*fact*/) const { report_.model.clear(); }
  void operator()(const journal::ToolIntent& /*fact*/) const { report_.model.clear(); }
  void operator()(const journal::ToolStarted& fact) const {
    report_.call_since[std::string(fact.call)] = at_;
  }
  void operator()(const journal::ChildStarted& fact) const {
    report_.child_of_call[std::string(fact.call)] = fact.run;
  }
  void operator()(const journal::Terminal& fact) const {
    report_.model.clear();
    report_.usage_json = fact.usage_json;
    report_.cost_json = fact.cost_json;
    report_.error_json = fact.error_json;
  }
  template <class Other>
  void operator()(const Other& /*fact*/) const {}

 private:
  JournalReport& report_;
  std::int64_t at_;
};

Result<JournalReport> read_journal(store::StorageBackend& backend, const store::RunId& root) {
  JournalReport report;
  MILLRACE_TRY(run::each_record(backend, root, [&](const journal::Record& record) {
    report.last_at = record.at_ms;
    const auto* fact = std::get_if<journal::Fact>(&record.body);
    if (fact != nullptr && record.branch == 0) std::visit(ReportFacts(report, record.at_ms), *fact);
    return true;
  }));
  return report;
}

void set_json(Tree& to, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  if (auto parsed = Tree::parse(text)) {
    to.set(name, std::move(parsed).value());
  } else {
    to.set(name, text);
  }
}

Tree call_json(const store::CallRow& row, const JournalReport& report) {
  Tree call = Tree::object();
  call.set("call", row.call);
  call.set("kind", journal::name_of(row.kind));
  call.set("name", row.name);
  call.set("effect", journal::name_of(row.effect));
  call.set("state", journal::name_of(row.state));
  call.set("tries", Tree::integer(row.tries));
  set_json(call, "arguments", row.args);
  set_json(call, "result", row.result);
  const auto child = report.child_of_call.find(row.call);
  if (child != report.child_of_call.end()) call.set("run", child->second);
  if (const store::RunId run = run::run_in(row); !run.empty()) call.set("run", run.text());
  return call;
}

Tree wait_for(std::string_view reason, std::string_view owner) {
  Tree wait = Tree::object();
  wait.set("reason", reason);
  if (!owner.empty()) wait.set("owner", owner);
  return wait;
}

void set_time(Tree& wait, std::string_view name, std::int64_t time) {
  if (time != 0) wait.set(name, Tree::integer(time));
}

// What a process at work waits for at the moment.
void add_work(Tree& waits, const store::RunRow& row, const std::vector<store::CallRow>& calls,
              const JournalReport& report) {
  const std::string& owner = row.run.owner;
  if (!report.model.empty()) {
    Tree wait = wait_for("model", owner);
    wait.set("step", Tree::integer(report.step));
    wait.set("attempt", Tree::integer(report.attempt));
    set_time(wait, "since", report.model_since);
    waits.push(std::move(wait));
  }
  for (const store::CallRow& call : calls) {
    if (call.state != journal::CallState::started) continue;
    Tree wait = wait_for("tool", owner);
    wait.set("call", call.call);
    wait.set("name", call.name);
    const auto since = report.call_since.find(call.call);
    if (since != report.call_since.end()) set_time(wait, "since", since->second);
    waits.push(std::move(wait));
  }
}

// Every wait has an owner, a deadline where there is one, and a reason.
Tree waits_of(const store::RunRow& row, const Tree& info,
              const std::vector<store::ApprovalRow>& approvals,
              const std::vector<store::CallRow>& calls, const JournalReport& report) {
  Tree waits = Tree::array();
  if (journal::is_over(row.state)) return waits;
  for (const store::ApprovalRow& approval : approvals) {
    Tree wait = wait_for(journal::name_of(approval.kind), approval.principal);
    wait.set("approval", approval.id);
    if (!approval.call.empty()) wait.set("call", approval.call);
    set_time(wait, "until", approval.expires);
    waits.push(std::move(wait));
  }
  const Tree& waits_for = info["waitsFor"];
  if (waits_for["reason"].string() == "work") add_work(waits, row, calls, report);
  if (!waits.items().empty() || !waits_for.is_object()) return waits;
  Tree wait = waits_for;
  if (wait["until"].is_null() && row.run.deadline) {
    wait.set("until", Tree::integer(*row.run.deadline));
  }
  set_time(wait, "since", report.last_at);
  waits.push(std::move(wait));
  return waits;
}

// Usage and cost so far: of the end, of the last checkpoint, or of the runs that worked for a job.
// What its calls of the model reported is in the last checkpoint.
void add_totals(Tree& info, store::StorageBackend& backend, const store::RunId& run,
                const std::vector<store::CallRow>& calls, const JournalReport& report) {
  set_json(info, "usage", report.usage_json);
  set_json(info, "cost", report.cost_json);
  set_json(info, "error", report.error_json);
  auto saved = run::load_state(backend, run);
  if (!saved) return;
  Tree state = saved.value().checkpoint["state"];
  // A job has no checkpoint before its end.
  if (!state.is_object()) {
    state = Tree::object();
    for (const store::CallRow& row : calls) run::add_child_spent(state, row);
  }
  for (const std::string_view name : {"notes", "answers", "answersLeftOut"}) {
    if (!state["report"][name].is_null()) info.set(name, state["report"][name]);
  }
  if (!report.usage_json.empty() || !report.cost_json.empty()) return;
  if (state["usage"].is_object()) info.set("usage", state["usage"]);
  const Tree cost = run::reported_cost(state["cost"]);
  if (cost.is_object()) info.set("cost", cost);
}

}  // namespace

void correct_owner(Tree& info, bool is_owned) {
  if (is_owned || info["state"].string() != "running") return;
  Tree waits = Tree::object();
  waits.set("reason", "claim");
  info.set("waitsFor", std::move(waits));
}

Result<Tree> report_run(store::StorageBackend& backend, const store::RunId& run, bool is_owned) {
  auto found = backend.run(run);
  if (!found) return found.error();
  if (!found.value()) return store::no_run(run);
  const store::RunRow& row = *found.value();
  auto described = run::describe_run(backend, run, {});
  if (!described) return described;
  Tree info = std::move(described).value();
  correct_owner(info, is_owned);
  if (row.run.deadline) info.set("deadlineAt", Tree::integer(*row.run.deadline));
  store::ApprovalQuery open;
  open.run = run;
  auto approvals = backend.approvals(open);
  if (!approvals) return approvals.error();
  auto calls = backend.calls(run);
  if (!calls) return calls.error();
  JournalReport report;
  // The line of a root tells of its children what their calls do not.
  if (auto read = read_journal(backend, row.run.root.value_or(run)); !read) {
    const bool is_removed = read.error().code == Errc::run_not_found;
    if (is_removed)
      info.set("recordsRemoved", Tree::flag(true));
    else
      info.set("damage", read.error().message);
  } else if (!row.run.root) {
    report = std::move(read).value();
  }
  info.set("waits", waits_of(row, info, approvals.value(), calls.value(), report));
  Tree& list = info.set("calls", Tree::array());
  for (const store::CallRow& call : calls.value()) list.push(call_json(call, report));
  auto children = backend.children(run);
  if (!children) return children.error();
  auto below = run::runs_below(backend, run);
  if (!below) return below.error();
  std::move(below.value().begin(), below.value().end(), std::back_inserter(children.value()));
  for (const store::RunRow& child : children.value()) {
    if (info.find("children") == nullptr) info.set("children", Tree::array());
    Tree of_child = run::run_info(child);
    correct_owner(of_child, is_owned);
    info.find("children")->push(std::move(of_child));
  }
  add_totals(info, backend, run, calls.value(), report);
  return info;
}

}  // namespace millrace::app
