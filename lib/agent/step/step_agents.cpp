// Other agents that a step gives work to.
#include <algorithm>
#include <string>

#include "agent/deltas.hpp"
#include "agent/state.hpp"
#include "agent/step/step_machine.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

constexpr std::size_t sub_agents_at_once = 4;
constexpr std::int64_t deepest_sub_agent = 4;
constexpr std::int64_t sub_agent_timeout_ms = 30LL * 60 * 1000;

std::string text_of_result(const Tree& result) {
  const bool worked = result["success"].truthy();
  const Tree& received = result[worked ? "result" : "error"];
  const Tree& text = received["message"].is_string() ? received["message"] : received;
  std::string reported = text.is_string() ? std::string(text.string()) : text.to_json();
  if (text.is_null()) reported = "(no result)";
  return worked ? reported : "Failed: " + reported;
}

std::string title_of(const Tree& task) {
  const Tree& title = task["description"].is_string() ? task["description"] : task["instruction"];
  return std::string(title.string());
}

}  // namespace

void StepMachine::exec_sub_agents(const Tree& instruction) {
  const std::string type(instruction["type"].string());
  if (!options_.sub_agents) {
    return fail_step(error_tree(make_error(
        Errc::unknown_instruction, "No executor found for instruction type: " + type + ".")));
  }
  const Tree& payload = instruction["payload"];
  sub_agents_ = SubAgents{};
  sub_agents_->type = type;
  sub_agents_->parent = payload["parentMessageId"].string();
  if (type.ends_with('s')) {
    sub_agents_->tasks = payload["tasks"].items();
  } else {
    sub_agents_->tasks.push_back(payload["task"]);
  }
  sub_agents_->results.resize(sub_agents_->tasks.size());
  set_status(state_, Status::running);
  pump_sub_agents();
}

// The model reads of the tasks in the row of the tool that asked for them, or in rows of their own.
void StepMachine::write_results() {
  const auto& agents = *sub_agents_;
  auto& messages = state_.at("messages").items();
  const auto requested =
      std::find_if(messages.begin(), messages.end(), [&](const Tree& state_message) {
        return !agents.parent.empty() && state_message["role"].string() == "tool" &&
               state_message["id"].string() == agents.parent;
      });
  if (requested != messages.end()) {
    requested->set("content", joined_results());
    return;
  }
  for (std::size_t i = 0; i < agents.tasks.size(); ++i) {
    Tree state_message = Tree::object();
    state_message.set("id", new_id());
    state_message.set("role", "task");
    state_message.set("content", text_of_result(agents.results[i]));
    if (!agents.parent.empty()) state_message.set("parentId", agents.parent);
    state_message.at("metadata").set("instruction", title_of(agents.tasks[i]));
    const Tree& thread = agents.results[i]["threadId"];
    if (!thread.is_null()) state_message.set("threadId", thread);
    messages.push_back(std::move(state_message));
  }
}

std::string StepMachine::joined_results() const {
  const auto& agents = *sub_agents_;
  if (!agents.type.ends_with('s')) return text_of_result(agents.results.front());
  std::string all;
  for (std::size_t i = 0; i < agents.tasks.size(); ++i) {
    if (!all.empty()) all.append("\n\n");
    all.append(std::to_string(i + 1)).append(". ").append(title_of(agents.tasks[i])).append("\n");
    all.append(text_of_result(agents.results[i]));
  }
  return all;
}

void StepMachine::pump_sub_agents() {
  auto& agents = *sub_agents_;
  const std::int64_t depth = state_["subAgentDepth"].integer_or(0) + 1;
  const auto end = [this](std::size_t index, Tree result) {
    if (!result["success"].truthy() && result["error"].is_null()) {
      result.set("error", "The sub-agent gave no result.");
    }
    if (result["success"].is_null()) result.set("success", Tree::flag(false));
    sub_agents_->results[index] = std::move(result);
    ++sub_agents_->over;
  };
  while (agents.next < agents.tasks.size() && agents.running < sub_agents_at_once) {
    const std::size_t index = agents.next++;
    const Tree& task = agents.tasks[index];
    if (depth > deepest_sub_agent) {
      Tree rejected = Tree::object();
      rejected.set("error", "Sub-agents may be nested 4 deep.");
      end(index, std::move(rejected));
      continue;
    }
    ++agents.running;
    Tree action = Tree::object();
    action.set("task", task);
    action.set("parentMessageId", agents.parent);
    action.set("depth", Tree::integer(depth));
    const std::int64_t given = task["timeout"].integer_or(0);
    action.set("timeoutMs", Tree::integer(given > 0 ? given : sub_agent_timeout_ms));
    request(
        ActionKind::sub_agent, std::move(action),
        [this, index, end](Tree result) {
          --sub_agents_->running;
          // What the child spent is the parent's.
          for (const std::string_view member : {"usage", "cost"}) {
            if (result[member].is_object()) {
              add_delta(state_.at(member), Tree(), result[member]);
              result.erase(member);
            }
          }
          end(index, std::move(result));
          pump_sub_agents();
        },
        [this, index, end](const Tree& error) {
          --sub_agents_->running;
          Tree result = Tree::object();
          result.set("error", error["message"].is_string() ? error["message"] : error);
          end(index, std::move(result));
          pump_sub_agents();
        });
  }
  if (agents.over == agents.tasks.size()) finish_sub_agents();
}

void StepMachine::finish_sub_agents() {
  auto& agents = *sub_agents_;
  if (options_.history) write_results();
  const bool several = agents.type.ends_with('s');
  const bool older = agents.type.find("task") != std::string::npos;
  Tree payload = Tree::object();
  payload.set("parentMessageId", agents.parent);
  if (several) {
    Tree list = Tree::array();
    for (Tree& result : agents.results) list.push(std::move(result));
    payload.set("results", std::move(list));
  } else {
    payload.set("result", std::move(agents.results.front()));
  }
  const std::string_view phase = several
                                     ? (older ? "tasks_batch_result" : "sub_agents_batch_result")
                                     : (older ? "task_result" : "sub_agent_result");
  next_context_ = context_of(phase, std::move(payload));
  finish_instruction();
}

}  // namespace millrace::agent
