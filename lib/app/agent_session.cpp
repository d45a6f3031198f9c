#include "app/agent_session.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/general_agent.hpp"
#include "agent/state.hpp"
#include "app/agent_children.hpp"
#include "app/agent_questions.hpp"
#include "app/random_chance.hpp"
#include "schema/pattern.hpp"

namespace millrace::app {
namespace {

using json::Tree;

std::optional<bool> regex_found(std::string_view pattern, std::string_view text) {
  const auto compiled = schema::Pattern::compile(pattern, schema::Syntax::script);
  return compiled ? compiled.value().found_in(text) : std::nullopt;
}

Tree free_manifest(std::string_view name) {
  Tree manifest = Tree::object();
  manifest.set("identifier", name);
  manifest.set("humanIntervention", "never");
  return manifest;
}

Error error_of(const Tree& error) {
  return make_error(code_of(error["type"].string()), std::string(error["message"].string()));
}

}  // namespace

AgentSession::AgentSession(const DriverServices& services, std::shared_ptr<const AgentPlan> plan,
                           AgentTask task, AgentOwner& owner)
    : services_(services), plan_(std::move(plan)), task_(std::move(task)), owner_(&owner) {}

AgentSession::~AgentSession() = default;

void AgentSession::start() {
  prepare_state();
  if (!task_.used) task_.used = std::make_shared<UsedIds>();
  for (const Tree& row : state_["messages"].items()) {
    task_.used->insert(std::string(row["id"].string()));
    for (const Tree& call : row["tool_calls"].items()) {
      task_.used->insert(std::string(call["id"].string()));
    }
  }
  // A run that goes on in the middle of a turn says so to readers of its own.
  if (context_.is_object() && state_["modelStep"]["open"].is_true()) tell_step();
  for (const auto& [call_id, text] : task_.results) tell_result(call_id, {text, true});
  if (!task_.children.members().empty()) return resume_children();
  if (!context_.is_object() && !goes_on()) return;
  next_step();
  pump();
}

// Whether a saved run without a next step has one all the same; what has not ends here.
bool AgentSession::goes_on() {
  const std::string_view status = state_["status"].string();
  if (status == "interrupted" && state_["interruption"]["canResume"].truthy()) {
    state_.set("status", "running");
    state_.erase("interruption");
    return true;
  }
  if (status == "waiting_for_human" || status == "waiting_for_async_tool") {
    end_waiting();
    return false;
  }
  if (!agent::is_blocked(status)) return true;
  reason_ = state_["endReason"].string();
  if (status == "interrupted" || reason_ == "user_aborted") {
    end({AgentOutcome::Kind::cancelled, "user_aborted", {}, {}, {}, true});
  } else {
    finish();
  }
  return false;
}

void AgentSession::prepare_state() {
  const std::int64_t now = now_ms();
  context_ = std::move(task_.context);
  if (task_.state.is_object()) {
    state_ = std::move(task_.state);
    waiting_children_ = state_["subAgentRuns"];
  } else {
    state_ = agent::initial_state(plan_->state, now);
    state_.set("operationId", task_.run_id);
    Tree messages = Tree::array();
    if (!plan_->instructions.empty()) {
      Tree row = Tree::object();
      row.set("id", services_.call.ids.next_id());
      row.set("role", "system");
      row.set("content", plan_->instructions);
      messages.push(std::move(row));
    }
    for (Tree& row : task_.rows.items()) messages.push(std::move(row));
    state_.set("messages", std::move(messages));
    state_.set("modelTurns", Tree::integer(0));
  }
  step_ = state_["modelStep"]["number"].integer_or(state_["modelTurns"].integer_or(0));
  state_.set("tools", plan_->definitions);
  state_.set("toolManifestMap", plan_->manifests);
  for (const Tree& tool : task_.client_tools.items()) {
    const std::string name(tool["name"].string());
    if (!tool::is_tool_name(name) || plan_->tools.find(name) != nullptr) continue;
    client_names_.insert(name);
    state_.at("toolManifestMap").set(name, free_manifest(name));
    state_.at("toolExecutorMap").set(name, "client");
  }
}

void AgentSession::next_step() {
  if (std::any_of(plan_->sub_agents.begin(), plan_->sub_agents.end(),
                  [](const SubAgent& agent) { return agent.inherit_messages; })) {
    inherited_ = state_["messages"];
  }
  agent::StepOptions options;
  for (const auto& [name, entry] : plan_->tools.entries()) options.tools.push_back(name);
  options.model = true;
  options.history = true;
  options.lean = true;
  options.concurrency = plan_->concurrency;
  options.decide = [this](Tree& state, const Tree& context) { return decide(state, context); };
  machine_ = std::make_unique<agent::StepMachine>(std::move(options), services_.call.ids);
  machine_->begin(std::move(state_), std::move(context_), now_ms());
  state_ = Tree();
  context_ = Tree();
  if (const auto deadline = machine_->deadline_ms(); deadline && !deadline_) {
    deadline_ =
        std::make_unique<os::Timer>(services_.loop, [this, at = *deadline] { watch_deadline(at); });
    start_deadline(*deadline);
  }
}

// What is too far for the clock of a timer is looked at again.
void AgentSession::start_deadline(std::int64_t at_ms) {
  constexpr std::int64_t longest = 24LL * 60 * 60 * 1000;
  const std::int64_t rest = std::clamp<std::int64_t>(at_ms - now_ms(), 0, longest);
  deadline_->start_at(os::Timer::Clock::now() + std::chrono::milliseconds(rest));
}

void AgentSession::watch_deadline(std::int64_t at_ms) {
  if (now_ms() < at_ms) return start_deadline(at_ms);
  expire();
}

// The limit of time passed while somebody is waited for.
void AgentSession::expire() {
  if (outcome_) return;
  const auto self = shared_from_this();
  if (!machine_) return end({AgentOutcome::Kind::finished, "timeout", {}, {}, {}});
  take_partial_turn();
  machine_->expire(now_ms());
  cancel_all();
  pump();
}

// What the model has said so far stays in the conversation, and what it cost is counted.
void AgentSession::take_partial_turn() {
  if (!turn_ || turn_->silent()) return;
  Tree spent = Tree::object();
  spent.set("turn", turn_->usage());
  spent_.push_back(std::move(spent));
  machine_->progress(turn_action_, turn_->take_chunk());
}

// A question of the model's comes when nothing else of its turn is left to be done.
Tree AgentSession::decide(Tree& state, const Tree& context) {
  const std::string_view phase = context["phase"].string();
  if (plan_->tools.find(ask_user_name) == nullptr || state["status"].string() == "interrupted") {
    return decide_turn(state, context);
  }
  Tree rest = context;
  if (phase == "llm_result") {
    Tree& payload = rest.at("payload");
    std::erase_if(payload.at("toolsCalling").items(),
                  [this](const Tree& call) { return asks_user(call); });
    const bool asks =
        payload["toolsCalling"].items().size() != context["payload"]["toolsCalling"].items().size();
    if (asks && payload["toolsCalling"].items().empty()) {
      decide_turn(state, context);
      return open_question(state);
    }
  }
  Tree decided = decide_turn(state, rest);
  const std::string_view type = decided["type"].string();
  if (phase == "llm_result" || (type != "call_llm" && type != "finish")) return decided;
  Tree question = open_question(state);
  return question.is_null() ? decided : question;
}

bool AgentSession::asks_user(const Tree& call) const {
  return call["apiName"].string() == ask_user_name &&
         plan_->tools.check(ask_user_name, call["arguments"].string()).ok();
}

// The first call of the last turn that asks the user and has no answer, as an instruction.
Tree AgentSession::open_question(const Tree& state) const {
  const auto& rows = state["messages"].items();
  const auto turn = std::find_if(rows.rbegin(), rows.rend(), [](const Tree& row) {
    return row["role"].string() == "assistant" && !row["tool_calls"].items().empty();
  });
  if (turn == rows.rend()) return {};
  for (const Tree& made : (*turn)["tool_calls"].items()) {
    const Tree call = agent::chat_tool_call(made);
    const std::string_view id = call["id"].string();
    const bool answered = std::any_of(turn.base(), rows.end(), [id](const Tree& row) {
      return row["tool_call_id"].string() == id;
    });
    if (answered || !asks_user(call)) continue;
    auto read = Tree::parse(call["arguments"].string());
    if (!read) continue;
    Tree instruction = std::move(read).value();
    const bool selects = !instruction["options"].items().empty();
    for (Tree& option : instruction.at("options").items()) {
      if (option["label"].is_null()) option.set("label", option["value"]);
    }
    instruction.set("type", selects ? "request_human_select" : "request_human_prompt");
    instruction.set("metadata", Tree::object()).set("toolCallId", id);
    return instruction;
  }
  return {};
}

// The general agent's decision; what the model made up is answered, not asked about.
Tree AgentSession::decide_turn(Tree& state, const Tree& context) {
  if (context["phase"].string() == "llm_result") {
    state.set("modelTurns", Tree::integer(state["modelTurns"].integer_or(0) + 1));
    for (const Tree& call : context["payload"]["toolsCalling"].items()) {
      const std::string_view name = call["identifier"].string();
      const std::string_view api = call["apiName"].string();
      const bool known = plan_->tools.find(name) != nullptr || plan_->tools.find(api) != nullptr ||
                         client_names_.contains(name);
      if (!known) state.at("toolManifestMap").set(name, free_manifest(name));
    }
  }
  if (plan_->max_turns > 0 && state["modelTurns"].integer_or(0) >= plan_->max_turns) {
    state.set("forceFinish", Tree::flag(true));
  }
  Tree config = Tree::object();
  if (!plan_->compression.is_null()) config.set("compressionConfig", plan_->compression);
  if (!state["modelRuntimeConfig"].is_null()) {
    config.set("modelRuntimeConfig", state["modelRuntimeConfig"]);
  }
  Tree decided = agent::decide(state, context, config, Tree::object(), regex_found);
  Tree* found = decided.find("instructions");
  if (found == nullptr) return {};
  Tree instructions = std::move(*found);
  // The tools themselves are the plan's; a last answer loses the mark.
  if (instructions["type"].string() == "call_llm") {
    instructions.at("payload").set("tools", Tree::flag(true));
  }
  return instructions;
}

// Does what the machine asks for until it waits for somebody.
void AgentSession::pump() {
  if (std::exchange(pumping_, true)) return;
  const auto self = shared_from_this();
  while (machine_) {
    Tree todo = machine_->take();
    for (const Tree& id : todo["cancelled"].items()) {
      cancel_action(static_cast<std::uint64_t>(id.integer_or(0)));
    }
    take_events(todo.at("events"));
    if (Tree* outcome = todo.find("outcome")) {
      take_outcome(std::move(*outcome));
      continue;
    }
    const auto& actions = todo["actions"].items();
    if (actions.empty()) break;
    for (const Tree& action : actions) perform(action);
  }
  pumping_ = false;
  if (owner_ != nullptr) owner_->moved();
}

void AgentSession::perform(const Tree& action) {
  const auto id = static_cast<std::uint64_t>(action["id"].integer_or(0));
  if (action["kind"].string() == "model") return call_model(id, action["payload"]["payload"]);
  if (action["kind"].string() == "tool") return call_tool(id, action["payload"]);
  machine_->fail(id, agent::error_tree(make_error(Errc::unknown_instruction)), now_ms());
}

void AgentSession::take_events(Tree& events) {
  for (const Tree& event : events.items()) {
    const std::string_view type = event["type"].string();
    if (type == "done" || type == "interrupted") reason_ = event["reason"].string();
    if (type != "tool_result") continue;
    const std::string id(event["id"].string());
    if (told_.contains(id)) continue;
    const Tree& result = event["result"];
    const Tree& error = result["error"];
    tool::ToolOutcome outcome;
    outcome.is_error = !error.is_null();
    const Tree& text = result["content"].is_string() ? result["content"] : error;
    outcome.content = text.is_string()     ? std::string(text.string())
                      : result.is_string() ? std::string(result.string())
                                           : result.to_json();
    tell_result(id, outcome);
  }
}

void AgentSession::take_outcome(Tree outcome) {
  machine_.reset();
  state_ = std::move(outcome.at("newState"));
  Tree* next = outcome.find("nextContext");
  context_ = next != nullptr ? std::move(*next) : Tree();
  for (Tree& spent : spent_) add_spent(state_, spent);
  spent_.clear();
  if (waiting_children_.is_object() && !waiting_children_.members().empty()) {
    state_.set("subAgentRuns", waiting_children_);
  } else {
    state_.erase("subAgentRuns");
  }
  Tree step = Tree::object();
  step.set("number", Tree::integer(step_));
  step.set("open", Tree::flag(step_open_ && context_.is_object()));
  state_.set("modelStep", std::move(step));
  // The questions have their ids before anybody keeps the state.
  if (!context_.is_object()) ask();
  if (state_["status"].string() == "done") state_.set("endReason", reason_);
  if (owner_ != nullptr) owner_->rest(state_, context_);
  if (stopping_) return end({AgentOutcome::Kind::cancelled, "user_aborted", {}, {}, {}});
  if (context_.is_object()) return next_step();
  finish();
}

// The step machine gave no next step: the run is over, or somebody is asked.
void AgentSession::finish() {
  const std::string_view status = state_["status"].string();
  if (status == "error") {
    const Error error = turn_error_ ? std::move(*turn_error_) : error_of(state_["error"]);
    return end({AgentOutcome::Kind::failed, "error", error, turn_code_, {}});
  }
  if (status == "waiting_for_human" || status == "waiting_for_async_tool") return end_waiting();
  end({AgentOutcome::Kind::finished, reason_.empty() ? "completed" : reason_, {}, {}, {}});
}

// What people are asked; from here on the run waits for them, also when an agent it calls asks.
Tree AgentSession::ask() {
  Tree interrupts = open_questions(state_, now_ms(), services_.call.ids);
  if (!interrupts.items().empty() && state_["humanWaitingSince"].is_null()) {
    state_.set("humanWaitingSince", Tree::integer(now_ms()));
  }
  return interrupts;
}

void AgentSession::end_waiting() {
  Tree interrupts = ask();
  const bool asks = !interrupts.items().empty();
  end({asks ? AgentOutcome::Kind::waiting : AgentOutcome::Kind::delegated,
       std::string(asks ? "waiting_for_human" : "waiting_for_client"),
       {},
       {},
       std::move(interrupts)});
}

void AgentSession::end(AgentOutcome outcome) {
  if (outcome_) return;
  deadline_.reset();
  cancel_all();
  if (outcome.kind == AgentOutcome::Kind::finished) {
    // Calls of a last answer, or of one too many.
    for (const std::string& id : turn_calls_) {
      tell_result(id, {"The call was not executed: the run has ended.", true, "tool_failed"});
    }
  }
  close_step();
  machine_.reset();
  outcome_ = std::move(outcome);
  if (!pumping_ && owner_ != nullptr) owner_->moved();
}

void AgentSession::stop() {
  if (outcome_ || std::exchange(stopping_, true)) return;
  const auto self = shared_from_this();
  if (!machine_) return end({AgentOutcome::Kind::cancelled, "user_aborted", {}, {}, {}});
  take_partial_turn();
  machine_->abort("user_aborted", now_ms());
  cancel_all();
  pump();
}

void AgentSession::leave() {
  owner_ = nullptr;
  stop();
}

void AgentSession::pause() {
  paused_ = true;
  if (turn_) turn_->pause();
}

void AgentSession::resume() {
  paused_ = false;
  if (turn_) turn_->resume();
}

}  // namespace millrace::app
