#include "agent/step/step_machine.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/approval/waiting.hpp"
#include "agent/first_context.hpp"
#include "agent/state.hpp"
#include "agent/turn_reports.hpp"
#include "base/shown.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

// Calls in OpenAI's shape, as older agents give a batch.
Tree modern_batch(const Tree& instruction) {
  if (instruction["type"].string() != "call_tools_batch" || !instruction["payload"].is_array()) {
    return instruction;
  }
  Tree calls = Tree::array();
  for (const Tree& call : instruction["payload"].items()) {
    Tree made = call;
    if (call["function"].is_object()) {
      made = Tree::object();
      made.set("apiName", call["function"]["name"]);
      made.set("arguments", call["function"]["arguments"]);
      made.set("id", call["id"]);
      made.set("identifier", call["function"]["name"]);
      if (!call["thoughtSignature"].is_null()) {
        made.set("thoughtSignature", call["thoughtSignature"]);
      }
      made.set("type", "default");
    }
    calls.push(std::move(made));
  }
  Tree modern = instruction;
  Tree payload = Tree::object();
  payload.set("parentMessageId", "");
  payload.set("toolsCalling", std::move(calls));
  modern.set("payload", std::move(payload));
  return modern;
}

}  // namespace

StepMachine::StepMachine(StepOptions options, IdSource& ids)
    : options_(std::move(options)), ids_(ids), last_id_(options_.last_id) {}

std::span<const StepMachine::Builtin> StepMachine::builtins() {
  static constexpr std::array<Builtin, 18> state_messages{
      {{"call_llm", &StepMachine::call_llm},
       {"call_tool", &StepMachine::call_tool},
       {"call_tools_batch", &StepMachine::call_tools_batch},
       {"resolve_aborted_tools", &StepMachine::resolve_aborted_tools},
       {"resolve_blocked_tools", &StepMachine::resolve_blocked_tools},
       {"exec_sub_agent", &StepMachine::exec_sub_agents},
       {"exec_sub_agents", &StepMachine::exec_sub_agents},
       {"exec_client_sub_agent", &StepMachine::exec_sub_agents},
       {"exec_client_sub_agents", &StepMachine::exec_sub_agents},
       {"exec_task", &StepMachine::exec_sub_agents},
       {"exec_tasks", &StepMachine::exec_sub_agents},
       {"exec_client_task", &StepMachine::exec_sub_agents},
       {"exec_client_tasks", &StepMachine::exec_sub_agents},
       {"request_human_approve", &StepMachine::request_human_approve},
       {"request_human_prompt", &StepMachine::request_human_prompt},
       {"request_human_select", &StepMachine::request_human_select},
       {"compress_context", &StepMachine::compress_context},
       {"finish", &StepMachine::finish}}};
  return state_messages;
}

std::uint64_t StepMachine::request(ActionKind kind, Tree payload, Then then, Else otherwise) {
  const std::uint64_t id = ++last_id_;
  news_.actions.push_back({id, kind, std::move(payload)});
  waiting_.emplace(id, Waiting{kind, std::move(then), std::move(otherwise)});
  return id;
}

void StepMachine::complete(std::uint64_t id, Tree result, std::int64_t now_ms) {
  const auto found = waiting_.find(id);
  if (done_ || found == waiting_.end()) return;
  now_ms_ = now_ms;
  const Then then = std::move(found->second.then);
  waiting_.erase(found);
  then(std::move(result));
}

void StepMachine::fail(std::uint64_t id, Tree error, std::int64_t now_ms) {
  const auto found = waiting_.find(id);
  if (done_ || found == waiting_.end()) return;
  now_ms_ = now_ms;
  const Else otherwise = std::move(found->second.otherwise);
  waiting_.erase(found);
  if (otherwise) {
    otherwise(std::move(error));
  } else {
    fail_step(std::move(error));
  }
}

void StepMachine::progress(std::uint64_t id, Tree chunk) {
  const auto found = waiting_.find(id);
  if (done_ || found == waiting_.end() || found->second.kind != ActionKind::model) return;
  if (chunk["retry"].is_object()) return report_retry(chunk["retry"]);
  has_answer_ = true;
  if (chunk["report"].is_object()) {
    add_report(state_, chunk["report"]);
    chunk.erase("report");
  }
  if (chunk["reset"].is_true()) {
    answer_.set("content", "");
    answer_.set("tool_calls", Tree::array());
    answer_.erase("reasoning");
  }
  if (chunk["content"].is_string()) {
    std::string content(answer_["content"].string());
    content.append(chunk["content"].string());
    answer_.set("content", content);
  }
  if (chunk["tool_calls"].is_array()) answer_.set("tool_calls", chunk["tool_calls"]);
  for (const std::string_view name :
       {"usage", "attempts", "finishReason", "messageId", "turn", "grounding", "images"}) {
    if (!chunk[name].is_null()) answer_.set(name, chunk[name]);
  }
  const Tree& reasoning = chunk["reasoning"];
  if (reasoning.is_string()) {
    std::string text(answer_["reasoning"]["content"].string());
    answer_.at("reasoning").set("content", text.append(reasoning.string()));
  } else if (reasoning.is_object()) {
    answer_.set("reasoning", reasoning);
  }
  if (options_.lean) return;
  Tree event = Tree::object();
  event.set("type", "llm_stream");
  event.set("chunk", std::move(chunk));
  if (!sub_agents_ && answer_["compresses"].is_null()) emit(std::move(event));
}

// The model is asked once more, after an attempt of which nothing is kept.
void StepMachine::report_retry(const Tree& data) {
  if (options_.lean || sub_agents_ || !answer_["compresses"].is_null()) return;
  Tree event = typed("stream_retry");
  event.set("data", data);
  emit(std::move(event));
}

void StepMachine::emit(Tree event, bool first) {
  if (options_.lean) return;
  news_.events.push(event);
  if (first) {
    events_.items().insert(events_.items().begin(), std::move(event));
  } else {
    events_.push(std::move(event));
  }
}

void StepMachine::report(StepReport made) {
  if (options_.lean) news_.reports.push_back(std::move(made));
}

void StepMachine::emit_error(Tree error) {
  Tree event = Tree::object();
  event.set("type", "error");
  event.set("error", std::move(error));
  emit(std::move(event), true);
}

bool StepMachine::is_custom(std::string_view type) const {
  return std::find(options_.custom.begin(), options_.custom.end(), type) != options_.custom.end();
}

void StepMachine::take_instructions(Tree answer) {
  std::vector<Tree> list;
  if (answer.is_array()) {
    list = std::move(answer.items());
  } else {
    list.push_back(std::move(answer));
  }
  if (list.empty()) {
    return fail_step(error_tree(make_error(
        Errc::invalid_instruction,
        "The agent returned an empty list of instructions; return a `finish` to end the run.")));
  }
  for (Tree& instruction : list) {
    if (!instruction.is_object() || !instruction["type"].is_string()) {
      return fail_step(error_tree(make_error(
          Errc::invalid_instruction, "The agent returned " + shown_text(instruction.to_json()) +
                                         ", which is not an instruction; return an object with a "
                                         "`type`, or a list of them.")));
    }
    instruction = modern_batch(instruction);
    finish_seen_ = finish_seen_ || instruction["type"].string() == "finish";
  }
  instructions_ = std::move(list);
  if (options_.lean) drop_what_was_read();
  advance();
}

// A lean state changes only where an instruction ends, and of a context that was decided on only
// the parent is read. A run that waits holds neither.
void StepMachine::drop_what_was_read() {
  checkpoint_ = Tree();
  Tree payload = Tree::object();
  const Tree& parent = context_["payload"]["parentMessageId"];
  if (!parent.is_null()) payload.set("parentMessageId", parent);
  context_.set("payload", std::move(payload));
}

// Executes instructions until one waits for an answer or the step is over.
void StepMachine::advance() {
  if (advancing_) return;
  advancing_ = true;
  while (!done_ && !executing_) {
    const Status status = status_of(state_);
    // A parked tool lets what needs no answer pass.
    const bool parked = status == Status::waiting_for_async_tool;
    const bool stopped = next_ > 0 && is_blocked(status) && !parked;
    if (next_ >= instructions_.size() || stopped) {
      end_step();
      break;
    }
    Tree& requested = instructions_[next_++];
    const Tree instruction = options_.lean ? std::move(requested) : requested;
    const std::string_view type = instruction["type"].string();
    if (parked && next_ > 1 && type != "resolve_blocked_tools") {
      const std::string_view member = deferred_member(type);
      if (!member.empty()) state_.set(member, instruction);
      continue;
    }
    executing_ = true;
    execute(instruction);
  }
  advancing_ = false;
}

void StepMachine::execute(const Tree& instruction) {
  const std::string_view type = instruction["type"].string();
  if (is_custom(type)) return run_custom(instruction);
  const auto state_messages = builtins();
  const auto state_message = std::find_if(state_messages.begin(), state_messages.end(),
                                          [&](const Builtin& b) { return b.type == type; });
  if (state_message == state_messages.end()) {
    return fail_step(error_tree(
        make_error(Errc::unknown_instruction,
                   "No executor found for instruction type: " + std::string(type) + ".")));
  }
  (this->*state_message->run)(instruction);
}

void StepMachine::run_custom(const Tree& instruction) {
  Tree payload = Tree::object();
  payload.set("instruction", instruction);
  payload.set("state", state_);
  Tree context = context_;
  context.set("instructionIndex", Tree::integer(static_cast<std::int64_t>(next_) - 1));
  payload.set("context", std::move(context));
  request(ActionKind::executor, std::move(payload), [this](Tree result) {
    if (!has_state(result)) return;
    auto loaded = load_state(std::move(result.at("newState")), state_, now_ms_);
    if (!loaded) return fail_step(error_tree(loaded.error()));
    state_ = std::move(loaded).value();
    for (Tree& event : result.at("events").items()) emit(std::move(event));
    if (result["nextContext"].is_object()) next_context_ = result["nextContext"];
    finish_instruction();
  });
}

// Ends the step when what a custom executor gave holds no state.
bool StepMachine::has_state(const Tree& result) {
  if (result["newState"].is_object()) return true;
  fail_step(error_tree(
      make_error(Errc::invalid_state, "`newState` of the executor's result is " +
                                          shown_value(result["newState"]) +
                                          "; return { events, newState, nextContext? }.")));
  return false;
}

void StepMachine::finish_instruction() {
  if (done_) return;
  executing_ = false;
  batch_.reset();
  sub_agents_.reset();
  state_.set("stepCount", Tree::integer(step_count_));
  if (!options_.lean) checkpoint_ = state_;
  advance();
}

StepNews StepMachine::take_news() {
  news_.deadline_ms = deadline_ms();
  return std::exchange(news_, {});
}

Tree StepMachine::context_of(std::string_view phase, Tree payload) const {
  Tree context = Tree::object();
  context.set("phase", phase);
  if (!payload.is_null()) context.set("payload", std::move(payload));
  context.set("session", session_of(state_)).set("stepCount", Tree::integer(step_count_));
  for (const std::string_view member : {"operationId", "initialContext", "metadata"}) {
    if (!context_[member].is_null()) context.set(member, context_[member]);
  }
  if (context["operationId"].is_null() && !options_.operation_id.empty()) {
    context.set("operationId", options_.operation_id);
  }
  context.fit();
  return context;
}

}  // namespace millrace::agent
