#include "agent/group.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "agent/state.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

struct DecisionRow {
  std::string_view decision;
  std::string_view instruction;
  std::array<std::string_view, 6> members;  // taken over from the parameters
  bool disable_tools = false;
};

constexpr std::array decisions{
    DecisionRow{"speak", "call_agent", {"agentId", "instruction"}, false},
    DecisionRow{"broadcast",
                "parallel_call_agents",
                {"agentIds", "disableTools", "instruction", "toolMessageId"},
                true},
    DecisionRow{"delegate", "delegate", {"agentId", "reason"}, false},
    DecisionRow{"execute_task",
                "exec_async_task",
                {"agentId", "instruction", "task", "timeout", "title", "toolMessageId"},
                false},
    DecisionRow{"execute_tasks", "batch_exec_async_tasks", {"tasks", "toolMessageId"}, false}};

Tree finish_group(std::string_view reason) {
  Tree made = typed("finish");
  made.set("reason", reason);
  return made;
}

Tree call_supervisor(const Tree& config, std::int64_t round, const Tree& group) {
  Tree made = typed("call_supervisor");
  Tree& payload = made.at("payload");
  if (!group.is_null()) payload.set("groupId", group);
  payload.set("round", Tree::integer(round));
  payload.set("supervisorAgentId", config["supervisorAgentId"]);
  return made;
}

Tree on_decision(const Tree& payload) {
  const std::string_view decision = payload["decision"].string();
  const Tree& params = payload["params"];
  if (decision == "finish") {
    const Tree& reason = params["reason"];
    return finish_group(reason.truthy() ? reason.string()
                                        : std::string_view("supervisor_finished"));
  }
  const auto* row = std::find_if(decisions.begin(), decisions.end(),
                                 [&](const DecisionRow& r) { return r.decision == decision; });
  if (row == decisions.end()) return finish_group("unknown_decision: " + std::string(decision));
  Tree made = Tree::object();
  made.set("type", row->instruction);
  Tree& content = made.at("payload");
  if (row->disable_tools) content.set("disableTools", Tree::flag(true));
  for (const std::string_view member : row->members) {
    if (!member.empty() && !params[member].is_null()) content.set(member, params[member]);
  }
  return made;
}

}  // namespace

Tree decide_group(const Tree& config, const Tree& memory, const Tree& result) {
  static constexpr std::array<std::string_view, 4> ends{"agent_spoke", "agents_broadcasted",
                                                        "task_completed", "tasks_completed"};
  const std::string_view type = result["type"].string();
  const Tree& payload = result["payload"];
  std::int64_t round = memory["round"].integer_or(0);
  bool skip = memory["skipCallSupervisor"].truthy();
  Tree instruction;
  if (type == "init") {
    round = 0;
    skip = false;
    instruction = call_supervisor(config, 0, payload["groupId"]);
  } else if (type == "supervisor_decided") {
    skip = payload["skipCallSupervisor"].truthy();
    instruction = on_decision(payload);
  } else if (std::find(ends.begin(), ends.end(), type) != ends.end()) {
    if (skip) {
      instruction = finish_group("skip_call_supervisor");
    } else {
      ++round;
      const std::int64_t most = config["maxRounds"].integer_or(10);
      instruction = round >= most ? finish_group("max_rounds_exceeded")
                                  : call_supervisor(config, round, Tree());
    }
  } else if (type == "delegated") {
    instruction = finish_group("delegated_to_" + std::string(payload["agentId"].string()));
  } else {
    instruction = finish_group("unknown_result_type");
  }
  Tree answer = Tree::object();
  answer.set("instruction", std::move(instruction));
  Tree& retained = answer.at("memory");
  retained.set("round", Tree::integer(round));
  retained.set("skipCallSupervisor", Tree::flag(skip));
  return answer;
}

}  // namespace millrace::agent
