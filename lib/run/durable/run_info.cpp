#include "run/durable/run_info.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/shown.hpp"
#include "run/durable/function_session.hpp"
#include "run/durable/run_place.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

void set_text(Tree& to, std::string_view name, std::string_view text) {
  if (!text.empty()) to.set(name, text);
}

// What a run that is not over waits for, and who is to do something about it.
Tree what_it_waits_for(const store::RunRow& row) {
  Tree waits = Tree::object();
  switch (row.state) {
    case RunState::running:
      waits.set("reason", row.run.owner.empty() ? "claim" : "work");
      set_text(waits, "owner", row.run.owner);
      break;
    case RunState::waiting:
      waits.set("reason", row.run.deadline ? "client" : "approval");
      if (row.run.deadline) waits.set("until", Tree::integer(*row.run.deadline));
      break;
    case RunState::queued:
      waits.set("reason", "queue");
      waits.set("priority", store::name_of(row.run.lane));
      break;
    case RunState::sleeping:
      waits.set("reason", row.run.run_at < never_ms ? "timer" : "event");
      if (row.run.run_at < never_ms) waits.set("until", Tree::integer(row.run.run_at));
      break;
    case RunState::parked: waits.set("reason", row.head.empty() ? "parked" : row.head); break;
    default: return {};
  }
  return waits;
}

Error wrong_query(std::string_view name, std::string_view expected, const Tree& value) {
  return make_error(Errc::invalid_argument, "`" + std::string(name) + "` must be " +
                                                std::string(expected) + ", not " +
                                                shown_value(value) + ".");
}

Result<void> read_member(store::RunQuery& query, std::string_view name, const Tree& value) {
  if (name == "state") {
    for (const RunState state : journal::run_states) {
      if (journal::name_of(state) == value.string()) query.states = {state};
    }
    if (query.states.empty()) return wrong_query(name, "the state of a run, as 'waiting'", value);
  } else if (name == "threadId") {
    if (!value.is_string()) return wrong_query(name, "a string", value);
    query.thread = value.string();
  } else if (name == "limit") {
    constexpr std::int64_t most = 1000;
    const std::int64_t limit = value.integer_or(0);
    if (limit < 1 || limit > most) return wrong_query(name, "a number from 1 to 1000", value);
    query.limit = static_cast<std::size_t>(limit);
  } else if (name == "cursor") {
    if (!value.is_string()) return wrong_query(name, "a string", value);
    query.before = value.string();
  } else if (name == "children") {
    query.with_children = value.is_true();
  } else {
    return make_error(Errc::invalid_argument,
                      "A query of runs has no member " + shown_text(name) + ".");
  }
  return {};
}

// What a run that is queued waits for: "thread", or a limit of store::Admission.
Result<std::string> limit_of(store::StorageBackend& backend, const store::RunRow& row,
                             const store::StartLimits& limits, const store::CountedStarts& rates) {
  const store::NewRun& run = row.run;
  if (!run.thread.empty()) {
    store::RunQuery query;
    query.principal = run.principal;
    query.thread = run.thread;
    query.states = {RunState::running, RunState::waiting, RunState::parked};
    auto others = backend.runs(query);
    if (!others) return others.error();
    for (const store::RunRow& other : others.value().runs) {
      const bool is_other = other.run.id != run.id;
      if (is_other && store::keeps_from_turn(other, row.state)) return std::string("thread");
    }
  }
  auto counts = backend.work_counts();
  if (!counts) return counts.error();
  const store::Admission admission(limits, counts.value(), rates);
  const auto turn =
      store::was_at_work(row) ? store::Admission::Turn::again : store::Admission::Turn::start;
  return std::string(admission.hindrance(run.name, run.principal, turn));
}

// The place of a queued run among those of its lane, from 1; nothing behind too many runs to count.
Result<std::optional<std::int64_t>> place_in_lane(store::StorageBackend& backend,
                                                  const store::RunRow& row) {
  constexpr std::size_t most_ahead = 1000;
  store::RunQuery query;
  query.states = {RunState::queued};
  query.before = store::run_cursor(row);
  query.limit = most_ahead;
  auto ahead = backend.runs(query);
  if (!ahead) return ahead.error();
  if (!ahead.value().next.empty()) return std::optional<std::int64_t>();
  const auto& runs = ahead.value().runs;
  return std::optional<std::int64_t>(
      1 + std::count_if(runs.begin(), runs.end(),
                        [&](const store::RunRow& one) { return one.run.lane == row.run.lane; }));
}

}  // namespace

Tree run_info(const store::RunRow& row) {
  const store::NewRun& run = row.run;
  Tree info = Tree::object();
  info.set("id", run.id.text());
  info.set("kind", run.kind);
  info.set("name", run.name);
  set_text(info, "version", run.version);
  info.set("state", journal::name_of(row.state));
  set_text(info, "threadId", run.thread);
  set_text(info, "principal", run.principal);
  info.set("createdAt", Tree::integer(row.created));
  if (row.ended) info.set("endedAt", Tree::integer(*row.ended));
  info.set("lastSeq", Tree::integer(static_cast<std::int64_t>(row.last)));
  info.set("step", Tree::integer(row.step));
  info.set("attempts", Tree::integer(row.attempts));
  info.set("recoveries", Tree::integer(row.recoveries));
  if (row.state == RunState::completed && !row.head.empty()) {
    if (auto result = Tree::parse(row.head)) info.set("result", std::move(result).value());
  }
  if (row.stop) info.set("stopRequested", Tree::flag(true));
  if (run.parent) info.set("parent", run.parent->text());
  if (run.root) info.set("root", run.root->text());
  if (row.records == store::StoredRecords::removed) info.set("recordsRemoved", Tree::flag(true));
  if (Tree waits = what_it_waits_for(row); waits.is_object()) {
    info.set("waitsFor", std::move(waits));
  }
  return info;
}

Tree approval_info(const store::ApprovalRow& row) {
  Tree info = Tree::object();
  info.set("id", row.id);
  info.set("runId", row.run.text());
  set_text(info, "toolCallId", row.call);
  info.set("kind", journal::name_of(row.kind));
  if (row.expires != 0) info.set("expiresAt", Tree::integer(row.expires));
  if (auto shown = Tree::parse(row.shown)) info.set("interrupt", std::move(shown).value());
  if (row.decided) info.set("decidedAt", Tree::integer(*row.decided));
  set_text(info, "decidedBy", row.decided_by);
  if (row.has_expired) info.set("expired", Tree::flag(true));
  return info;
}

Result<Tree> describe_run(store::StorageBackend& backend, const store::RunId& run,
                          std::string_view principal, const store::StartLimits& limits,
                          const store::CountedStarts& rates) {
  auto row = find_run(backend, run, principal);
  if (!row) return row.error();
  Tree info = run_info(row.value());
  if (row.value().state == RunState::queued) {
    auto limit = limit_of(backend, row.value(), limits, rates);
    if (!limit) return limit.error();
    set_text(info.at("waitsFor"), "limit", limit.value());
    auto place = place_in_lane(backend, row.value());
    if (!place) return place.error();
    if (place.value()) info.at("waitsFor").set("position", Tree::integer(*place.value()));
  }
  store::ApprovalQuery query;
  query.run = run;
  auto approvals = backend.approvals(query);
  if (!approvals) return approvals.error();
  if (approvals.value().empty()) return info;
  Tree& list = info.set("approvals", Tree::array());
  for (const store::ApprovalRow& approval : approvals.value()) list.push(approval_info(approval));
  return info;
}

Tree run_list(const store::RunList& list) {
  Tree page = Tree::object();
  Tree& runs = page.set("runs", Tree::array());
  for (const store::RunRow& row : list.runs) runs.push(run_info(row));
  set_text(page, "nextCursor", list.next);
  return page;
}

Result<store::RunQuery> read_run_query(const Tree& query) {
  store::RunQuery read;
  for (const auto& [name, value] : query.members()) {
    if (!value.is_null()) MILLRACE_TRY(read_member(read, name, value));
  }
  return read;
}

}  // namespace millrace::run
