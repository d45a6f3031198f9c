#include "api/lobe_answers.hpp"

#include <array>
#include <utility>

#include "agent/state.hpp"
#include "store/types.hpp"

namespace millrace::api {
namespace {

using json::Tree;

void set_given(Tree& to, std::string_view name, std::string_view json) {
  if (Tree value = parsed_json(json); !value.is_null()) to.set(name, std::move(value));
}

double total_cost(const encoder::OperationState& state) {
  return parsed_json(state.cost_json)["total"].number_or(0);
}

void keep_latest(std::vector<Tree>& list, Tree value, std::size_t most) {
  list.push_back(std::move(value));
  if (list.size() > most) list.erase(list.begin());
}

}  // namespace

std::string lobe_time(std::int64_t at_ms) {
  return agent::iso_time(at_ms);
}

void LobeHistory::add(const encoder::OperationEvent& event) {
  if (most == 0) return;
  Tree data = parsed_json(event.data);
  if (event.type == "step_complete") {
    Tree step = Tree::object();
    for (const char* name : {"stepIndex", "stepType", "executionTime"}) step.set(name, data[name]);
    step.set("status", data["finalState"]["status"]);
    step.set("timestamp", Tree::integer(event.at_ms));
    keep_latest(steps, std::move(step), most);
  }
  Tree shown = Tree::object();
  shown.set("type", event.type);
  shown.set("stepIndex", Tree::integer(event.step_index));
  shown.set("timestamp", Tree::integer(event.at_ms));
  shown.set("data", std::move(data));
  shown.set("id", std::to_string(event.seq) + "-" + std::to_string(event.part));
  keep_latest(events, std::move(shown), most);
}

Tree creation_json(const LobeWatch& watch, const std::string& id, bool starts) {
  const encoder::OperationState& state = watch.state();
  Tree answer = Tree::object();
  answer.set("success", Tree::flag(true));
  answer.set("operationId", id);
  answer.set("autoStarted", Tree::flag(starts));
  answer.set("agentId", state.agent);
  answer.set("runId", watch.run().text());
  answer.set("status", state.status);
  answer.set("threadId", state.thread);
  answer.set("createdAt", lobe_time(state.created_ms));
  answer.set("timestamp", lobe_time(store::system_clock()()));
  return answer;
}

Tree status_json(const LobeWatch& watch, const LobeHistory& history) {
  const encoder::OperationState& state = watch.state();
  Tree current = parsed_json(encoder::operation_state_json(state));
  current.erase("operationId");
  current.set("lastModified", lobe_time(state.changed_ms));
  const std::string_view status = state.status;
  Tree metadata = parsed_json(state.context_json);
  metadata.set("agentId", state.agent);
  metadata.set("createdAt", lobe_time(state.created_ms));
  metadata.set("lastActiveAt", lobe_time(state.changed_ms));
  metadata.set("runId", watch.run().text());
  metadata.set("status", status);
  metadata.set("threadId", state.thread);
  metadata.set("totalCost", Tree::number(total_cost(state)));
  metadata.set("totalSteps", Tree::integer(state.step_count));
  metadata.set("userId", state.principal);
  Tree stats = Tree::object();
  stats.set("lastActiveTime", Tree::integer(store::system_clock()() - state.changed_ms));
  stats.set("totalCost", Tree::number(total_cost(state)));
  stats.set("totalMessages", Tree::integer(state.messages));
  stats.set("totalSteps", Tree::integer(state.step_count));
  stats.set("uptime", Tree::integer(state.changed_ms - state.created_ms));

  Tree answer = Tree::object();
  answer.set("operationId", watch.id());
  answer.set("currentState", std::move(current));
  answer.set("isActive", Tree::flag(!state.is_over));
  answer.set("isCompleted", Tree::flag(status == "done"));
  answer.set("hasError", Tree::flag(status == "error"));
  answer.set("needsHumanInput", Tree::flag(status == "waiting_for_human"));
  answer.set("metadata", std::move(metadata));
  answer.set("stats", std::move(stats));
  if (history.most == 0) return answer;
  Tree& steps = answer.set("executionHistory", Tree::array());
  for (const Tree& step : history.steps) steps.push(step);
  Tree& events = answer.set("recentEvents", Tree::array());
  for (const Tree& event : history.events) events.push(event);
  return answer;
}

std::vector<Tree> interventions_json(const LobeWatch& watch) {
  struct Row {
    std::string_view type;
    std::string_view member;
    const std::string* json;
  };
  const encoder::OperationState& state = watch.state();
  std::vector<Tree> list;
  if (state.status != "waiting_for_human") return list;
  for (const Row& row :
       std::array{Row{"tool_approval", "pendingToolsCalling", &state.pending_tools_json},
                  Row{"human_prompt", "pendingHumanPrompt", &state.pending_prompt_json},
                  Row{"human_select", "pendingHumanSelect", &state.pending_select_json}}) {
    if (row.json->empty()) continue;
    Tree& entry = list.emplace_back(Tree::object());
    entry.set("type", row.type);
    entry.set("operationId", watch.id());
    entry.set("status", state.status);
    entry.set("stepCount", Tree::integer(state.step_count));
    entry.set("lastModified", lobe_time(state.changed_ms));
    entry.set("userId", state.principal);
    set_given(entry, row.member, *row.json);
  }
  return list;
}

Tree step_json(const LobeWatch& watch, std::int64_t step_index, std::int64_t took_ms) {
  const encoder::OperationState& state = watch.state();
  // What ends comes behind the step that was asked for.
  const bool goes_on = state.reason.empty();
  Tree answer = Tree::object();
  answer.set("success", Tree::flag(state.status != "error"));
  answer.set("operationId", watch.id());
  answer.set("stepIndex", Tree::integer(step_index));
  answer.set("status", state.status);
  answer.set("completed", Tree::flag(state.status == "done"));
  answer.set("waitingForHuman", Tree::flag(state.status == "waiting_for_human"));
  answer.set("nextStepScheduled", Tree::flag(goes_on));
  if (goes_on) answer.set("nextStepIndex", Tree::integer(step_index + 1));
  answer.set("totalSteps", Tree::integer(state.step_count));
  answer.set("totalCost", Tree::number(total_cost(state)));
  answer.set("executionTime", Tree::integer(took_ms));
  if (!goes_on) answer.set("reason", state.reason);
  set_given(answer, "error", state.error_json);
  set_given(answer, "pendingApproval", state.pending_tools_json);
  set_given(answer, "pendingPrompt", state.pending_prompt_json);
  set_given(answer, "pendingSelect", state.pending_select_json);
  return answer;
}

}  // namespace millrace::api
