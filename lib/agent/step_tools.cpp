// Tools and sub-agents of a step.
#include <algorithm>
#include <set>

#include "agent/approvals.hpp"
#include "agent/state.hpp"
#include "agent/step_machine.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

constexpr std::size_t sub_agents_at_once = 4;
constexpr std::int64_t deepest_sub_agent = 4;
constexpr std::int64_t sub_agent_timeout_ms = 30LL * 60 * 1000;

Tree typed(std::string_view type) {
  Tree made = Tree::object();
  made.set("type", type);
  return made;
}

Tree message_of(const Tree& error) {
  Tree made = Tree::object();
  made.set("error", error["message"].is_string() ? error["message"] : error);
  return made;
}

// Calls of one lane run one after the other; an empty lane is nobody else's.
std::string lane_of(const Tree& state, const Tree& call) {
  const std::string_view identifier = call["identifier"].string();
  for (const Tree& api : manifest_of(state, identifier)["api"].items()) {
    if (api["name"].string() != call["apiName"].string()) continue;
    if (api["ordered"].truthy()) return "ordered";
    if (!api["serializeBy"].is_string()) return {};
    auto args = Tree::parse(call["arguments"].string());
    const Tree value = args ? args.value()[api["serializeBy"].string()] : Tree();
    if (value.is_null()) return {};
    return "by " + std::string(identifier) + ' ' + value.to_json();
  }
  return {};
}

bool runs_at_client(const Tree& state, const Tree& call) {
  const std::string_view identifier = call["identifier"].string();
  return call["executor"].string() == "client" || call["source"].string() == "client" ||
         state["toolSourceMap"][identifier].string() == "client" ||
         state["toolExecutorMap"][identifier].string() == "client" ||
         state["operationToolSet"]["executorMap"][identifier].string() == "client";
}

const Tree* keyed(const Tree& list, const Tree& item) {
  for (const std::string_view key : {"name", "id"}) {
    if (!item[key].is_string()) continue;
    const auto found =
        std::find_if(list.items().begin(), list.items().end(),
                     [&](const Tree& other) { return other[key].string() == item[key].string(); });
    return found == list.items().end() ? nullptr : &*found;
  }
  return nullptr;
}

// A result in LobeHub's shape may end the run, unless it hands over to sub-agents. A value that
// only happens to have such a member does not.
bool ends_run(const Tree& data) {
  return data["content"].is_string() && data["stop"].is_true() &&
         !data["state"]["type"].string().starts_with("exec");
}

// Adds what `result` counts beyond `base`: every concurrent result holds the totals of the base.
void add_delta(Tree& sum, const Tree& base, const Tree& result) {
  if (result.is_number()) {
    const double delta = result.number_or(0) - base.number_or(0);
    if (delta != 0 || sum.is_null()) sum = Tree::number(sum.number_or(0) + delta);
  } else if (result.is_object()) {
    for (const auto& [key, value] : result.members()) {
      Tree* member = sum.find(key);
      add_delta(member != nullptr ? *member : sum.set(key, Tree()), base[key], value);
    }
  } else if (result.is_array()) {
    for (const Tree& item : result.items()) {
      auto* entry = const_cast<Tree*>(keyed(sum, item));
      const Tree* before = keyed(base, item);
      add_delta(entry != nullptr ? *entry : sum.push(Tree()), before != nullptr ? *before : Tree(),
                item);
    }
  } else if (!result.is_null()) {
    sum = result;
  }
}

}  // namespace

void StepMachine::call_tool(const Tree& instruction) {
  const Tree& payload = instruction["payload"];
  start_tools({chat_tool_call(payload["toolCalling"])}, payload, true);
}

void StepMachine::call_tools_batch(const Tree& instruction) {
  const Tree& payload = instruction["payload"];
  std::vector<Tree> calls;
  for (const Tree& call : payload["toolsCalling"].items()) calls.push_back(chat_tool_call(call));
  start_tools(std::move(calls), payload, false);
}

void StepMachine::start_tools(std::vector<Tree> calls, const Tree& payload, bool single) {
  if (over_limit_before("tool")) return finish_instruction();
  batch_ = ToolBatch{};
  batch_->single = single;
  batch_->custom = !single && is_custom("call_tool");
  batch_->parent = payload["parentMessageId"].string();
  batch_->base = state_;
  std::set<std::string> ids;
  for (Tree& call : calls) {
    std::string id(call["id"].string());
    if (id.empty() || !ids.insert(id).second) {
      id = "call_" + new_id();
      call.set("id", id);
    }
    ToolRun run;
    run.lane = lane_of(state_, call);
    run.row = payload["existingToolMessageIds"][id].string();
    if (single && payload["skipCreateToolMessage"].truthy()) run.row = batch_->parent;
    run.call = std::move(call);
    batch_->runs.push_back(std::move(run));
  }
  batch_->results.resize(batch_->runs.size());
  state_.set("status", "running");
  pump_tools();
}

void StepMachine::pump_tools() {
  auto& runs = batch_->runs;
  std::set<std::string> busy;
  std::size_t running = 0;
  for (const ToolRun& run : runs) {
    if (!run.running) continue;
    ++running;
    if (!run.lane.empty()) busy.insert(run.lane);
  }
  for (std::size_t i = 0; i < runs.size() && running < options_.concurrency; ++i) {
    ToolRun& run = runs[i];
    if (run.running || run.over) continue;
    if (!run.lane.empty() && !busy.insert(run.lane).second) continue;
    start_run(i);
    if (done_) return;
    if (runs[i].running) ++running;
  }
  const bool over =
      std::all_of(runs.begin(), runs.end(), [](const ToolRun& run) { return run.over; });
  if (over && running == 0) account_tools();
}

void StepMachine::start_run(std::size_t index) {
  ToolRun& run = batch_->runs[index];
  run.started = now_ms_;
  if (batch_->custom) {
    run.running = true;
    Tree instruction = typed("call_tool");
    Tree& payload = instruction.at("payload");
    payload.set("parentMessageId", run.row.empty() ? batch_->parent : run.row);
    payload.set("toolCalling", run.call);
    if (!run.row.empty()) payload.set("skipCreateToolMessage", Tree::flag(true));
    Tree action = Tree::object();
    action.set("instruction", std::move(instruction));
    action.set("state", batch_->base);
    action.set("context", context_);
    request("executor", std::move(action), [this, index](Tree result) {
      batch_->results[index] = std::move(result);
      batch_->runs[index].running = false;
      batch_->runs[index].over = true;
      pump_tools();
    });
    return;
  }
  if (runs_at_client(state_, run.call)) {
    run.over = run.parked = true;
    return;
  }
  const std::string_view api = run.call["apiName"].string();
  const std::string joined =
      std::string(run.call["identifier"].string()) + "____" + std::string(api);
  std::string name;
  for (const std::string_view candidate : {std::string_view(joined), api}) {
    const auto found = std::find(options_.tools.begin(), options_.tools.end(), candidate);
    if (found != options_.tools.end() && name.empty()) name = *found;
  }
  if (name.empty()) {
    Tree error =
        error_tree(make_error(Errc::tool_not_found, "Tool not found: " + std::string(api)));
    Tree event = typed("error");
    event.set("error", error);
    emit(std::move(event));
    run.error = std::move(error);
    run.over = true;
    return;
  }
  const std::string_view text = run.call["arguments"].string();
  auto args = text.empty() ? Result<Tree>(Tree::object()) : Tree::parse(text);
  if (!args) {
    run.error = error_tree(make_error(Errc::invalid_argument,
                                      "The arguments are not valid JSON: " + args.error().message));
    run.over = true;
    return;
  }
  run.running = true;
  Tree action = Tree::object();
  action.set("name", name);
  action.set("toolCall", run.call);
  action.set("args", std::move(args).value());
  request(
      "tool", std::move(action),
      [this, index](Tree result) { end_run(index, std::move(result), Tree()); },
      [this, index](Tree error) { end_run(index, Tree(), std::move(error)); });
}

void StepMachine::end_run(std::size_t index, Tree result, Tree error) {
  ToolRun& run = batch_->runs[index];
  run.running = false;
  run.over = true;
  run.elapsed = std::max<std::int64_t>(0, now_ms_ - run.started);
  run.parked = options_.history && error.is_null() && result["deferred"].is_true();
  run.result = std::move(result);
  run.error = std::move(error);
  pump_tools();
}

// Counts the calls one after the other, in the order they were asked for.
void StepMachine::account_tools() {
  if (batch_->custom) return merge_custom_tools();
  while (batch_->accounted < batch_->runs.size() && batch_->runs[batch_->accounted].parked) {
    ++batch_->accounted;
  }
  if (batch_->accounted == batch_->runs.size()) return finish_tools();
  const ToolRun& run = batch_->runs[batch_->accounted];
  Tree result = Tree::object();
  result.set("toolCall", run.call);
  result.set("result", run.error.is_null() ? run.result : message_of(run.error));
  result.set("executionTime", Tree::integer(run.elapsed));
  result.set("isSuccess", Tree::flag(run.error.is_null()));
  account("tool", std::move(result), run.elapsed, [this] {
    ++batch_->accounted;
    account_tools();
  });
}

// A result as the model reads it.
void StepMachine::write_tool_row(const ToolRun& run, const Tree& content) {
  const bool plain = options_.history && content.is_string();
  const bool wrapped = options_.history && content["content"].is_string();
  const std::string text = plain     ? std::string(content.string())
                           : wrapped ? std::string(content["content"].string())
                                     : (content.is_null() ? "null" : content.to_json());
  if (!run.row.empty()) {
    for (Tree& message : state_.at("messages").items()) {
      if (message["id"].string() != run.row) continue;
      message.set("content", text);
      return;
    }
  }
  Tree row = Tree::object();
  row.set("role", "tool");
  row.set("content", text);
  row.set("tool_call_id", run.call["id"]);
  if (options_.history) {
    row.set("id", run.row.empty() ? new_id() : run.row);
    if (!batch_->parent.empty()) row.set("parentId", batch_->parent);
    row.set("plugin", run.call);
  }
  state_.at("messages").push(std::move(row));
}

void StepMachine::finish_tools() {
  Tree results = Tree::array();
  bool parked = false;
  bool stop = false;
  for (const ToolRun& run : batch_->runs) {
    if (run.parked) {
      Tree* pending = state_.find("pendingToolsCalling");
      (pending != nullptr ? *pending : state_.set("pendingToolsCalling", Tree::array()))
          .push(run.call);
      parked = true;
      continue;
    }
    const bool ok = run.error.is_null();
    const Tree data = ok ? run.result : message_of(run.error);
    write_tool_row(run, data);
    Tree event = typed("tool_result");
    event.set("id", run.call["id"]);
    event.set("result", data);
    emit(std::move(event));
    const bool succeeded = ok && !(data["success"].type() == json::Type::boolean_false);
    stop = stop || ends_run(data);
    Tree entry = Tree::object();
    entry.set("toolCall", run.call);
    entry.set("toolCallId", run.call["id"]);
    entry.set("data", data);
    entry.set("result", data);
    entry.set("isSuccess", Tree::flag(succeeded));
    entry.set("executionTime", Tree::integer(run.elapsed));
    if (data["stop"].truthy()) entry.set("stop", Tree::flag(true));
    results.push(std::move(entry));
  }
  std::string parent = batch_->parent;
  const auto& messages = state_["messages"].items();
  if (options_.history && !messages.empty() && messages.back()["role"].string() == "tool") {
    parent = messages.back()["id"].string();
  }
  if (batch_->single && !results.items().empty()) {
    Tree payload = std::move(results.items().front());
    payload.set("parentMessageId", parent);
    next_context_ = context_of("tool_result", std::move(payload));
  } else {
    Tree payload = Tree::object();
    payload.set("parentMessageId", parent);
    payload.set("toolCount", Tree::integer(static_cast<std::int64_t>(batch_->runs.size())));
    payload.set("toolResults", std::move(results));
    next_context_ = context_of("tools_batch_result", std::move(payload));
  }
  if (parked) {
    state_.set("status", "waiting_for_async_tool");
  } else if (!state_["pendingToolsCalling"].items().empty()) {
    // An approved call ran while others still wait.
    state_.set("status", "waiting_for_human");
    state_.set("humanWaitingSince", Tree::integer(now_ms_));
  } else if (stop && options_.history) {
    end_by_tool();
  }
  if (!is_blocked(state_["status"].string())) over_cost_limit();
  finish_instruction();
}

void StepMachine::end_by_tool() {
  state_.set("status", "done");
  Tree event = typed("done");
  event.set("finalState", state_);
  event.set("reason", "completed");
  event.set("reasonDetail", "A tool ended the run");
  emit(std::move(event));
}

void StepMachine::merge_custom_tools() {
  const Tree base = std::move(batch_->base);
  std::set<std::string> known;
  for (const Tree& message : base["messages"].items()) {
    if (message["role"].string() == "tool") known.emplace(message["tool_call_id"].string());
  }
  Tree results = Tree::array();
  std::string parent = batch_->parent;
  for (Tree& result : batch_->results) {
    if (!has_state(result)) return;
    auto loaded = load_state(std::move(result.at("newState")), base, now_ms_);
    if (!loaded) return fail_step(error_tree(loaded.error()));
    const Tree& made = loaded.value();
    for (const Tree& message : made["messages"].items()) {
      if (message["role"].string() != "tool") continue;
      if (!known.emplace(message["tool_call_id"].string()).second) continue;
      if (message["id"].is_string()) parent = message["id"].string();
      state_.at("messages").push(message);
    }
    for (const std::string_view member : {"usage", "cost"}) {
      add_delta(state_.at(member), base[member], made[member]);
    }
    if (is_blocked(made["status"].string())) {
      state_.set("status", made["status"]);
      if (made["pendingToolsCalling"].is_array()) {
        Tree* pending = state_.find("pendingToolsCalling");
        Tree& list =
            pending != nullptr ? *pending : state_.set("pendingToolsCalling", Tree::array());
        for (const Tree& call : made["pendingToolsCalling"].items()) {
          if (keyed(list, call) == nullptr) list.push(call);
        }
      }
    }
    for (Tree& event : result.at("events").items()) emit(std::move(event));
    if (result["nextContext"]["payload"].is_object()) {
      results.push(result["nextContext"]["payload"]);
    }
  }
  Tree payload = Tree::object();
  payload.set("parentMessageId", parent);
  payload.set("toolCount", Tree::integer(static_cast<std::int64_t>(batch_->runs.size())));
  payload.set("toolResults", std::move(results));
  next_context_ = context_of("tools_batch_result", std::move(payload));
  if (!is_blocked(state_["status"].string())) over_cost_limit();
  finish_instruction();
}

// Writes one result for every call; gives what the next phase is told.
Tree StepMachine::resolve_tools(const Tree& payload, std::string_view status,
                                std::string_view reason, std::string_view content) {
  Tree results = Tree::array();
  std::string parent(payload["parentMessageId"].string());
  for (const Tree& raw : payload["toolsCalling"].items()) {
    const Tree call = chat_tool_call(raw);
    const std::string_view id = call["id"].string();
    Tree* row = find_tool_row(state_, id);
    if (row == nullptr) {
      Tree made = Tree::object();
      const Tree& existing = payload["existingToolMessageIds"][id];
      made.set("id", existing.is_string() ? std::string(existing.string()) : new_id());
      made.set("role", "tool");
      made.set("tool_call_id", call["id"]);
      if (!payload["parentMessageId"].is_null()) {
        made.set("parentId", payload["parentMessageId"]);
      }
      made.set("plugin", call);
      row = &state_.at("messages").push(std::move(made));
    }
    row->set("content", content);
    row->at("pluginIntervention").set("status", status);
    if (status == "rejected") row->at("pluginIntervention").set("rejectedReason", reason);
    parent = (*row)["id"].string();
    Tree data = Tree::object();
    data.set("content", content);
    data.set("error", reason);
    data.set("success", Tree::flag(false));
    Tree event = typed("tool_result");
    event.set("id", call["id"]);
    event.set("result", data);
    emit(std::move(event));
    Tree entry = Tree::object();
    entry.set("toolCall", call);
    entry.set("toolCallId", call["id"]);
    entry.set("data", std::move(data));
    entry.set("isSuccess", Tree::flag(false));
    results.push(std::move(entry));
  }
  Tree next = Tree::object();
  if (!parent.empty()) next.set("parentMessageId", parent);
  next.set("toolCount", Tree::integer(static_cast<std::int64_t>(results.items().size())));
  next.set("toolResults", std::move(results));
  return next;
}

void StepMachine::resolve_aborted_tools(const Tree& instruction) {
  const Tree& payload = instruction["payload"];
  const std::string reason(payload["reason"].is_string() ? payload["reason"].string()
                                                         : "user_aborted");
  resolve_tools(payload, "aborted", reason, "The call was aborted by the user.");
  state_.erase("pendingToolsCalling");
  state_.set("status", "done");
  Tree event = typed("done");
  event.set("finalState", state_);
  event.set("reason", "user_aborted");
  event.set("reasonDetail", "The run was stopped while calls of tools were open");
  emit(std::move(event));
  finish_instruction();
}

void StepMachine::resolve_blocked_tools(const Tree& instruction) {
  const Tree& payload = instruction["payload"];
  const std::string reason(payload["blockedReason"].is_string() ? payload["blockedReason"].string()
                                                                : "blocked_by_security_privacy");
  const std::string content(payload["blockedContent"].is_string()
                                ? payload["blockedContent"].string()
                                : "This call is not allowed here and was not executed.");
  Tree next = resolve_tools(payload, "rejected", reason, content);
  if (!is_blocked(state_["status"].string())) state_.set("status", "running");
  // Results of tools that ran in the same step stand first.
  if (next_context_["payload"]["toolResults"].is_array()) {
    Tree all = next_context_["payload"]["toolResults"];
    for (Tree& entry : next.at("toolResults").items()) all.push(std::move(entry));
    next.set("toolCount", Tree::integer(static_cast<std::int64_t>(all.items().size())));
    next.set("toolResults", std::move(all));
  }
  next_context_ = context_of("tools_batch_result", std::move(next));
  finish_instruction();
}

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
  state_.set("status", "running");
  pump_sub_agents();
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
      Tree refused = Tree::object();
      refused.set("error", "Sub-agents may be nested 4 deep.");
      end(index, std::move(refused));
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
        "sub_agent", std::move(action),
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
        [this, index, end](Tree error) {
          --sub_agents_->running;
          Tree result = Tree::object();
          result.set("error", error["message"].is_string() ? error["message"] : error);
          end(index, std::move(result));
          pump_sub_agents();
        });
  }
  if (agents.over < agents.tasks.size()) return;
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
