// Calls of tools in a step: which run, in what order, and how a batch of them ends.
#include <algorithm>
#include <set>

#include "agent/approval/approvals.hpp"
#include "agent/approval/waiting.hpp"
#include "agent/deltas.hpp"
#include "agent/repaired_calls.hpp"
#include "agent/state.hpp"
#include "agent/step/step_machine.hpp"
#include "agent/tool_names.hpp"
#include "base/json_repair.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

// Calls of one lane run one after the other; an empty lane is of this call alone.
std::string lane_of(const Tree& state, const Tree& call) {
  const std::string_view identifier = call["identifier"].string();
  for (const Tree& api : manifest_of(state, identifier)["api"].items()) {
    if (api["name"].string() != call["apiName"].string()) continue;
    if (api["ordered"].truthy()) return "ordered";
    if (!api["serializeBy"].is_string()) return {};
    auto args = read_arguments(call["arguments"].string());
    const Tree value = args ? args.value()[api["serializeBy"].string()] : Tree();
    if (value.is_null()) return {};
    return "by " + std::string(identifier) + ' ' + value.to_json();
  }
  return {};
}

// A result in LobeHub's shape may end the run, unless it hands over to sub-agents. A value that
// only happens to have such a member does not.
bool ends_run(const Tree& data) {
  return data["content"].is_string() && data["stop"].is_true() &&
         !data["state"]["type"].string().starts_with("exec");
}

// Whether a failure may pass: as hosts report what was thrown, and as results of tools name it.
bool is_passing(const Tree& error) {
  return error["retry"].truthy() || error["retryable"].is_true() ||
         error["kind"].string() == "retry";
}

}  // namespace

void StepMachine::call_tool(const Tree& instruction) {
  const Tree& payload = instruction["payload"];
  // Older agents have `toolCall`.
  const Tree& given =
      payload["toolCalling"].is_null() ? payload["toolCall"] : payload["toolCalling"];
  Tree call = chat_tool_call(given);
  if (!call["apiName"].is_string() || call["apiName"].string().empty()) {
    return fail_step(error_tree(make_error(
        Errc::invalid_instruction,
        "The instruction call_tool has no tool name: give payload.toolCalling { id, identifier, "
        "apiName, arguments }.")));
  }
  start_tools({std::move(call)}, payload, true);
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
  if (batch_->custom) batch_->base = state_;
  std::set<std::string> ids;
  for (Tree& call : calls) {
    std::string id(call["id"].string());
    if (id.empty() || !ids.insert(id).second) {
      id = "call_" + new_id();
      call.set("id", id);
    }
    ToolRun run;
    run.lane = lane_of(state_, call);
    run.state_message = payload["existingToolMessageIds"][id].string();
    if (single && payload["skipCreateToolMessage"].truthy()) run.state_message = batch_->parent;
    run.call = std::move(call);
    batch_->runs.push_back(std::move(run));
  }
  batch_->results.resize(batch_->runs.size());
  set_status(state_, Status::running);
  // Tools may take days.
  state_.fit_list();
  for (const std::string_view name : {"usage", "cost"}) {
    if (Tree* const counts = state_.find(name)) counts->fit();
  }
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
  if (batch_->custom) return start_custom_run(index);
  if (runs_at_client(state_, run.call)) {
    run.over = run.parked = true;
    return;
  }
  const std::string name = tool_of(run.call);
  if (name.empty()) {
    const std::string api(run.call["apiName"].string());
    run.error = error_tree(make_error(Errc::tool_not_found, "Tool not found: " + api));
    run.over = run.rejected = true;
    Tree event = typed("error");
    event.set("error", run.error);
    return emit(std::move(event));
  }
  if (!options_.raw_arguments) repair_call(run.call);
  const std::string_view text = run.call["arguments"].string();
  auto args = text.empty()             ? Result<Tree>(Tree::object())
              : options_.raw_arguments ? Result<Tree>(Tree::text(text))
                                       : Tree::parse(text);
  if (!args) {
    run.error = error_tree(make_error(Errc::invalid_argument,
                                      "The arguments are not valid JSON: " + args.error().message));
    run.over = run.rejected = true;
    return;
  }
  run.running = true;
  Tree action = Tree::object();
  action.set("name", name);
  action.set("toolCall", run.call);
  action.set("args", std::move(args).value());
  const Tree& effect = manifest_of(state_, run.call["identifier"].string())["effect"];
  if (effect.is_string()) action.set("effect", effect);
  run.action = std::move(action);
  request_tool(index, 0);
}

// A call of a host's own model, or of a state that a host brings. Those of the engine's models are
// mended before.
void StepMachine::repair_call(Tree& call) {
  const std::string_view text = call["arguments"].string();
  if (const auto parsed = Tree::parse(text); parsed && parsed.value().is_object()) return;
  auto repaired = json::repair_object(text);
  if (!repaired) return;
  report(CallRepair{describe({std::string(call["id"].string()),
                              std::string(call["apiName"].string()), std::move(repaired->what)})});
  call.set("arguments", repaired->json);
}

void StepMachine::request_tool(std::size_t index, std::int64_t wait_ms) {
  Tree action = batch_->runs[index].action;
  if (wait_ms > 0) {
    action.set("waitMs", Tree::integer(wait_ms));
    action.set("retry", Tree::integer(batch_->runs[index].retries));
  }
  request(
      ActionKind::tool, std::move(action),
      [this, index](Tree result) {
        // A host in C++ reports each failure as one.
        const bool again = !options_.lean && try_again(index, result["error"]);
        if (!again) end_run(index, std::move(result), Tree());
      },
      [this, index](Tree error) {
        if (!try_again(index, error)) end_run(index, Tree(), std::move(error));
      });
}

// Tries a call again that failed in passing, where its tool allows that.
bool StepMachine::try_again(std::size_t index, const Tree& error) {
  constexpr std::int64_t first_wait_ms = 200;
  ToolRun& run = batch_->runs[index];
  if (!is_passing(error) || !options_.retries) return false;
  if (run.retries >= options_.retries(run.action)) return false;
  const std::int64_t wait_ms = first_wait_ms << run.retries++;
  report(CallRetry{std::string(run.call["id"].string()), run.retries,
                   std::string(error["message"].string())});
  request_tool(index, wait_ms);
  return true;
}

// A batch whose calls a custom executor carries out, one instruction a call.
void StepMachine::start_custom_run(std::size_t index) {
  ToolRun& run = batch_->runs[index];
  run.running = true;
  Tree instruction = typed("call_tool");
  Tree& payload = instruction.at("payload");
  payload.set("parentMessageId", run.state_message.empty() ? batch_->parent : run.state_message);
  payload.set("toolCalling", run.call);
  if (!run.state_message.empty()) payload.set("skipCreateToolMessage", Tree::flag(true));
  Tree action = Tree::object();
  action.set("instruction", std::move(instruction));
  action.set("state", batch_->base);
  action.set("context", context_);
  request(ActionKind::executor, std::move(action), [this, index](Tree result) {
    batch_->results[index] = std::move(result);
    batch_->runs[index].running = false;
    batch_->runs[index].over = true;
    pump_tools();
  });
}

// The host's name of the tool that a call is for, or "".
std::string StepMachine::tool_of(const Tree& call) const {
  if (!options_.tools) return {};
  const auto& names = *options_.tools;
  const std::string_view api = call["apiName"].string();
  const std::string joined = joined_name(call["identifier"].string(), api);
  const std::string shown = shown_tool_name(call["identifier"].string(), api);
  for (const std::string_view candidate :
       {std::string_view(joined), std::string_view(shown), api}) {
    const auto found = std::find(names.begin(), names.end(), candidate);
    if (found != names.end()) return *found;
  }
  return {};
}

void StepMachine::end_run(std::size_t index, Tree result, Tree error) {
  ToolRun& run = batch_->runs[index];
  run.running = false;
  run.over = true;
  run.elapsed = std::max<std::int64_t>(0, now_ms_ - run.started);
  run.parked = options_.history && error.is_null() && result["deferred"].is_true();
  run.result = std::move(result);
  run.error = std::move(error);
  run.action = Tree();
  run.error.erase("retry");
  if (options_.lean) {
    if (Tree* details = run.error.find("details")) run.details = std::move(*details);
    run.error.erase("details");
    if (!run.parked) report_result(run);
  }
  pump_tools();
}

void StepMachine::finish_tools() {
  Tree results = Tree::array();
  const bool parked = park_runs();
  bool stop = false;
  bool rejected = false;
  for (ToolRun& run : batch_->runs) {
    rejected = rejected || run.rejected;
    if (run.parked) continue;
    Tree entry = reported_result(run);
    stop = stop || ends_run(entry["data"]);
    results.push(std::move(entry));
  }
  if (rejected && options_.history) {
    const std::int64_t rounds = state_["unresolvedToolFeedbackRounds"].integer_or(0);
    state_.set("unresolvedToolFeedbackRounds", Tree::integer(rounds + 1));
  }
  pass_results(std::move(results));
  if (parked) {
    set_status(state_, Status::waiting_for_async_tool);
  } else if (!state_["pendingToolsCalling"].items().empty()) {
    // An approved call ran while others still wait.
    keep_waiting(state_, Status::waiting_for_human, now_ms_);
  } else if (stop && options_.history) {
    end_by_tool();
  }
  if (!is_blocked(status_of(state_))) over_cost_limit();
  finish_instruction();
}

void StepMachine::end_by_tool() {
  end_run_with("completed", "A tool ended the run");
}

void StepMachine::merge_custom_tools() {
  const Tree base = std::move(batch_->base);
  // By their ids: an older turn may have used the id of the call.
  std::set<std::string> known;
  const auto name_of = [](const Tree& state_message) {
    return std::string(
        state_message[state_message["id"].is_string() ? "id" : "tool_call_id"].string());
  };
  for (const Tree& message : base["messages"].items()) {
    if (message["role"].string() == "tool") known.insert(name_of(message));
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
      if (!known.insert(name_of(message)).second) continue;
      if (find_tool_message(state_, message["tool_call_id"].string()) != nullptr) continue;
      if (message["id"].is_string()) parent = message["id"].string();
      state_.at("messages").push(message);
    }
    for (const std::string_view member : {"usage", "cost"}) {
      add_delta(state_.at(member), base[member], made[member]);
    }
    if (is_blocked(status_of(made))) {
      set_status(state_, status_of(made));
      if (made["pendingToolsCalling"].is_array()) {
        Tree* pending = state_.find("pendingToolsCalling");
        Tree& list =
            pending != nullptr ? *pending : state_.set("pendingToolsCalling", Tree::array());
        for (const Tree& call : made["pendingToolsCalling"].items()) {
          if (same_entry(list, call) == nullptr) list.push(call);
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
  if (!is_blocked(status_of(state_))) over_cost_limit();
  finish_instruction();
}

}  // namespace millrace::agent
