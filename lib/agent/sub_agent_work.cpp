#include "agent/sub_agent_work.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "agent/state.hpp"

namespace millrace::agent {

using json::Tree;

std::optional<Tree> sub_agent_work(const Tree& payload) {
  struct Row {
    std::string_view state;
    std::string_view instruction;
    std::string_view member;
  };
  static constexpr std::array rows{Row{"execTask", "exec_task", "task"},
                                   Row{"execTasks", "exec_tasks", "tasks"},
                                   Row{"execClientTask", "exec_client_task", "task"},
                                   Row{"execClientTasks", "exec_client_tasks", "tasks"},
                                   Row{"execSubAgent", "exec_sub_agent", "task"},
                                   Row{"execSubAgents", "exec_sub_agents", "tasks"},
                                   Row{"execClientSubAgent", "exec_client_sub_agent", "task"},
                                   Row{"execClientSubAgents", "exec_client_sub_agents", "tasks"}};
  const Tree& requested = payload["data"]["state"];
  const auto* row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
    return r.state == requested["type"].string();
  });
  if (row == rows.end()) return std::nullopt;
  Tree made = typed(row->instruction);
  Tree& instruction = made.at("payload");
  const Tree& parent = requested["parentMessageId"];
  instruction.set("parentMessageId", parent.is_null() ? payload["parentMessageId"] : parent);
  instruction.set(row->member, requested[row->member]);
  return made;
}

}  // namespace millrace::agent
