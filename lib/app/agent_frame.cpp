#include "app/agent_frame.hpp"

namespace millrace::app {
namespace {

using json::Tree;

void tell(event::EventSink& sink, std::string_view type, const Tree& event) {
  const std::string json = event.to_json(json::Surrogates::replace);
  sink.on_event({event::Foreign{type, json}});
}

}  // namespace

Tree run_finished(const AgentOutcome& outcome, std::string_view thread_id,
                  std::string_view run_id) {
  using Kind = AgentOutcome::Kind;
  Tree event = Tree::object();
  event.set("type", "RUN_FINISHED");
  event.set("threadId", thread_id);
  event.set("runId", run_id);
  // A run that did what the answer wanted is no broken one to clients that know no outcomes.
  const bool ended = outcome.kind == Kind::finished || outcome.decided;
  if (ended) event.at("result").set("reason", outcome.reason);
  if (outcome.kind == Kind::cancelled && !ended) event.at("outcome").set("type", "cancelled");
  if (outcome.kind == Kind::waiting) {
    event.at("outcome").set("type", "interrupt");
    event.at("outcome").set("interrupts", outcome.interrupts);
  }
  return event;
}

void tell_end(const AgentSession& session, std::string_view thread_id, std::string_view run_id,
              event::EventSink& sink) {
  const AgentOutcome& outcome = session.outcome();
  Tree usage = Tree::object();
  usage.set("type", "CUSTOM");
  usage.set("name", "millrace.run_usage");
  Tree& value = usage.at("value");
  value.set("usage", session.state()["usage"]);
  value.set("cost", session.state()["cost"]);
  value.set("steps", session.state()["stepCount"]);
  value.set("turns", session.state()["modelTurns"]);
  tell(sink, "CUSTOM", usage);
  if (outcome.kind == AgentOutcome::Kind::failed) {
    const Error error = outcome.error.value_or(make_error(Errc::internal));
    const std::string_view code = outcome.code.empty() ? error.code_name() : outcome.code;
    sink.on_event({event::Failed{error.message, code}, outcome.members});
    return;
  }
  Tree finished = run_finished(outcome, thread_id, run_id);
  if (outcome.kind == AgentOutcome::Kind::delegated) {
    // Calls of the run's own tools may be open beside the client's.
    Tree& told = finished.at("outcome");
    told.set("type", "success");
    told.set("pendingToolCallIds", Tree::array());
    for (const Tree& call : session.state()["pendingToolsCalling"].items()) {
      told.at("pendingToolCallIds").push(call["id"]);
    }
  }
  tell(sink, "RUN_FINISHED", finished);
}

}  // namespace millrace::app
