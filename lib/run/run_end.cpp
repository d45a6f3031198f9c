#include "run/run_end.hpp"

#include <string>

#include "base/json.hpp"

namespace millrace::run {
namespace {

using json::Tree;

std::string json_of(const Tree& value) {
  return value.is_null() ? std::string() : value.to_json(json::Surrogates::replace);
}

std::optional<std::int64_t> count_of(const Tree& value) {
  if (!value.is_number()) return std::nullopt;
  return value.integer_or(0);
}

void report_usage(const Tree& state, event::EventSink& sink) {
  if (state["usage"].is_null()) return;
  const std::string usage = json_of(state["usage"]);
  const std::string cost = json_of(reported_cost(state["cost"]));
  sink.on_event(
      {event::RunUsage{usage, cost, count_of(state["stepCount"]), count_of(state["modelTurns"])}});
}

event::RunOutcome event_outcome(const AgentOutcome& outcome, bool ended) {
  using Kind = AgentOutcome::Kind;
  if (outcome.kind == Kind::waiting) return event::RunOutcome::interrupt;
  if (outcome.kind == Kind::delegated) return event::RunOutcome::success;
  const bool cancelled = outcome.kind == Kind::cancelled && !ended;
  return cancelled ? event::RunOutcome::cancelled : event::RunOutcome::none;
}

// Calls of the run's own tools may be open beside the client's.
std::string open_calls(const Tree& state) {
  Tree ids = Tree::array();
  for (const Tree& call : state["pendingToolsCalling"].items()) ids.push(call["id"]);
  return ids.to_json(json::Surrogates::replace);
}

}  // namespace

Tree reported_cost(Tree cost) {
  if (cost["unpricedCalls"].integer_or(0) == 0) return cost;
  for (Tree* part : {&cost, cost.find("llm")}) {
    if (part != nullptr && (*part)["total"].number_or(0) == 0) part->erase("total");
  }
  return cost;
}

void report_end(const RunWork& work, std::string_view thread_id, std::string_view run_id,
                event::EventSink& sink) {
  const AgentOutcome& outcome = work.outcome();
  report_usage(work.state(), sink);
  if (outcome.kind == AgentOutcome::Kind::failed) {
    const Error error = outcome.error.value_or(make_error(Errc::internal));
    event::Event failed{event::Failed{error.message, error.code_name()}};
    if (outcome.failure) {
      const TurnFailure& failure = *outcome.failure;
      if (!failure.code.empty()) failed.body = event::Failed{error.message, failure.code};
      failed.extra = failure.members;
    }
    sink.on_event(failed);
    return;
  }
  // A run that did what the answer wanted is no broken one to clients that know no outcomes.
  const bool ended = outcome.kind == AgentOutcome::Kind::finished || outcome.decided;
  event::RunEnd end{thread_id, run_id, event_outcome(outcome, ended)};
  std::string list;
  if (end.outcome == event::RunOutcome::success) end.calls_json = list = open_calls(work.state());
  if (end.outcome == event::RunOutcome::interrupt) {
    end.interrupts_json = list = json_of(outcome.interrupts);
  }
  std::string result;
  if (ended) {
    result = "{";
    json::append_member(result, "reason", outcome.reason);
    if (!outcome.value_json.empty()) json::append_raw_member(result, "value", outcome.value_json);
    result.push_back('}');
  }
  end.result_json = result;
  sink.on_event({end});
}

}  // namespace millrace::run
