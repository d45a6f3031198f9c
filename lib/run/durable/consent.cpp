#include "run/durable/consent.hpp"

#include <algorithm>

#include "agent/state_messages.hpp"
#include "agent/superseded.hpp"
#include "journal/facts.hpp"
#include "run/suspended_runs.hpp"

namespace millrace::run {
namespace {

using json::Tree;

bool defines(const AgentPlan& plan, std::string_view name) {
  const auto& definitions = plan.definitions.items();
  const bool is_defined = std::any_of(
      definitions.begin(), definitions.end(),
      [name](const Tree& definition) { return name_of_client_tool(definition) == name; });
  return is_defined || !plan.manifests[name].is_null() || plan.tool_sets.contains(name);
}

// Whether the tool of a call that this state or that of one of its agents waits for is there.
bool has_tool(const Tree& state, const AgentPlan& plan, std::string_view call) {
  const Tree* const pending = agent::find_by(state["pendingToolsCalling"], "id", call);
  if (pending != nullptr && defines(plan, (*pending)["apiName"].string())) return true;
  for (const auto& [id, run] : state["subAgentRuns"].members()) {
    for (const SubAgent& agent : plan.sub_agents) {
      if (agent.name == run["agent"].string() && has_tool(run["state"], *agent.plan, call)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

bool has_other_tool(const Tree& state, const AgentPlan& plan, std::string_view call,
                    std::string_view tools_hash) {
  return !tools_hash.empty() && tools_hash != tools_requested(state, plan, call) &&
         has_tool(state, plan, call);
}

bool mark_superseded(Tree& resume, const std::vector<store::ApprovalRow>& open, const Tree& state,
                     const AgentPlan& plan) {
  bool has_some = false;
  for (Tree& entry : resume.items()) {
    const std::string_view id = entry["interruptId"].string();
    const auto row = std::find_if(open.begin(), open.end(),
                                  [id](const store::ApprovalRow& one) { return one.id == id; });
    if (row == open.end() || row->kind != journal::ApprovalKind::approval || declines(entry) ||
        !has_other_tool(state, plan, row->call, row->tools_hash)) {
      continue;
    }
    entry.set("status", agent::superseded_status);
    has_some = true;
  }
  return has_some;
}

}  // namespace millrace::run
