#include "run/session.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "agent/approval/waiting.hpp"
#include "agent/interrupts.hpp"
#include "agent/state.hpp"
#include "base/json.hpp"
#include "run/children.hpp"

namespace millrace::run {
namespace {

using json::Tree;

Error error_of(const Tree& error) {
  return make_error(code_of(error["type"].string()), std::string(error["message"].string()));
}

// A result as the step machine reports it. What it gives instead of running a call is {"content",
// "error"}.
tool::ToolOutcome outcome_of(const agent::CallEnd& end) {
  const Tree& result = end.result;
  const Tree& error = end.error.is_null() ? result["error"] : end.error;
  tool::ToolOutcome outcome;
  outcome.is_error = !error.is_null();
  const Tree& text = result["content"].is_string() ? result["content"]
                     : error.is_object()           ? error["message"]
                     : outcome.is_error            ? error
                                                   : result;
  outcome.content = text.is_string() ? std::string(text.string()) : text.to_json();
  if (outcome.is_error) {
    outcome.code = error["type"].string();
    outcome.details = tool::read_details(end.details);
  } else if (result["content"].is_string()) {
    Tree beside = result;
    beside.erase("content");
    outcome.details = tool::read_details(beside);
  }
  return outcome;
}

}  // namespace

AgentSession::AgentSession(const model::DriverServices& services,
                           std::shared_ptr<const AgentPlan> plan, AgentTask task, AgentOwner& owner)
    : services_(services),
      plan_(std::move(plan)),
      settings_{std::move(task.thread_id), std::move(task.trace),   std::move(task.used),
                std::move(task.above),     task.interrupt_lifetime, task.recorder},
      task_(std::make_unique<AgentTask>(std::move(task))),
      owner_(&owner) {}

AgentSession::~AgentSession() = default;

void AgentSession::next_step() {
  if (std::any_of(plan_->sub_agents.begin(), plan_->sub_agents.end(),
                  [](const SubAgent& agent) { return agent.inherit_messages; })) {
    inherited_ = state_["messages"];
  }
  if (!long_ && state_["messages"].items().size() >= LongConversation::least_rows) {
    long_ = std::make_unique<LongConversation>();
  }
  agent::StepOptions options;
  if (long_) options.state_messages = &long_->state_messages;
  options.tools = plan_->tool_names;
  options.model = true;
  options.history = true;
  options.lean = true;
  options.concurrency = plan_->concurrency;
  options.answer_tokens = plan_->answer_tokens;
  options.last_id = last_action_;
  options.retries = [plan = plan_](const json::Tree& action) {
    const tool::Tool* tool = plan->tools.find(action["name"].string());
    const bool safe = tool != nullptr && tool->spec().effect != tool::Effect::once;
    return safe ? tool->spec().retries : 0;
  };
  options.above = settings_.above;
  options.decide = [this](Tree& state, const Tree& context) { return decide(state, context); };
  if (plan_->rounds) {
    options.raw_arguments = true;
    options.failure = [plan = plan_](const Tree& error) {
      return agent::reported_failure(error, *plan->rounds);
    };
  }
  machine_ = std::make_unique<agent::StepMachine>(std::move(options), services_.call.ids);
  machine_->begin(std::move(state_), std::move(context_), services_.now_ms());
  state_ = Tree();
  context_ = Tree();
  keep_time(machine_->deadline_ms());
}

// Once for a run: what it waits for people is before its first step here.
void AgentSession::keep_time(std::optional<std::int64_t> until_ms) {
  if (!until_ms || deadline_) return;
  time_left_ms_ = std::max<std::int64_t>(*until_ms - services_.now_ms(), 0);
  deadline_ = services_.wait([this] { time_left_ms_ > 0 ? wait_for_deadline() : expire(); });
  wait_for_deadline();
}

// What is too far for a timer comes in parts. The clock of the state may be set back meanwhile,
// which gives the run no more time.
void AgentSession::wait_for_deadline() {
  constexpr std::int64_t longest = 24LL * 60 * 60 * 1000;
  const std::int64_t part = std::min(time_left_ms_, longest);
  time_left_ms_ -= part;
  deadline_->start(std::chrono::milliseconds(part));
}

// Does what the machine asks for until it waits for somebody.
void AgentSession::pump() {
  if (std::exchange(pumping_, true)) return;
  const auto self = shared_from_this();
  while (machine_) {
    agent::StepNews news = machine_->take_news();
    for (const std::uint64_t id : news.cancelled) cancel_action(id);
    for (const agent::StepReport& report : news.reports) take_report(report);
    if (news.outcome) {
      take_outcome(*std::move(news.outcome));
      continue;
    }
    if (news.actions.empty()) break;
    for (const agent::StepAction& action : news.actions) perform(action);
  }
  pumping_ = false;
  if (owner_ != nullptr) owner_->moved();
}

void AgentSession::perform(const agent::StepAction& action) {
  if (action.kind == agent::ActionKind::model) {
    return begin_model(action.id, action.payload["payload"]);
  }
  if (action.kind == agent::ActionKind::tool) return start_tool(action.id, action.payload);
  machine_->fail(action.id, agent::error_tree(make_error(Errc::unknown_instruction)),
                 services_.now_ms());
}

void AgentSession::take_report(const agent::StepReport& report) {
  std::visit(event::Overloaded{
                 [this](const agent::CallEnd& end) {
                   if (report_result(end.id, outcome_of(end))) report_acknowledged(end);
                 },
                 [this](const agent::CallRetry& retry) {
                   std::string progress = "{";
                   json::append_member(progress, "retry", retry.retry);
                   json::append_member(progress, "error", retry.error);
                   report_progress(retry.id, progress + "}");
                 },
                 [this](const agent::CallRepair& repair) {
                   if (owner_ == nullptr) return;
                   owner_->on_event(
                       {event::Warning{row_of(Errc::invalid_json).code, repair.sentence}, {}});
                 },
                 [this](const agent::CompressionFailure& failure) { warn_of(failure); },
                 [this](const agent::EndReason& end) { reason_ = end.reason; },
             },
             report);
}

// The run goes on without a summary; why, its readers would never hear.
void AgentSession::warn_of(const agent::CompressionFailure& failure) {
  const std::string message =
      "The conversation was not compressed and goes on as it is: " + failure.message;
  if (owner_ != nullptr) owner_->on_event({event::Warning{failure.code, message}, {}});
}

void AgentSession::take_outcome(agent::StepOutcome outcome) {
  last_action_ = machine_->last_id();
  machine_.reset();
  state_ = std::move(outcome.state);
  context_ = std::move(outcome.next_context);
  take_spent();
  take_sent();
  const agent::Status status = agent::status_of(state_);
  // What they ask is void once the run is stopped or over.
  const bool over = status == agent::Status::interrupted || status == agent::Status::done ||
                    status == agent::Status::error;
  if (!over && waiting_children_.is_object() && !waiting_children_.members().empty()) {
    state_.set("subAgentRuns", waiting_children_);
  } else {
    state_.erase("subAgentRuns");
  }
  Tree step = Tree::object();
  step.set("number", Tree::integer(step_));
  step.set("open", Tree::flag(step_open_ && context_.is_object()));
  state_.set("modelStep", std::move(step));
  if (agent::status_of(state_) == agent::Status::done) state_.set("endReason", reason_);
  report_checkpoint();
  if (stopping_) return end({AgentOutcome::Kind::cancelled, "user_aborted", {}, {}});
  if (context_.is_object() || std::exchange(needs_step_, false)) return next_step();
  finish();
}

// The run may go on from here elsewhere.
void AgentSession::report_checkpoint() {
  // The questions have their ids before anybody keeps the state.
  if (!context_.is_object()) {
    take_interrupts();
    defer_question();
  }
  if (owner_ != nullptr) owner_->rest(state_, context_);
}

// The step machine gave no next step: the run is over, or somebody is asked.
void AgentSession::finish() {
  const agent::Status status = agent::status_of(state_);
  if (status == agent::Status::error) {
    const Error error = turn_error_ ? std::move(*turn_error_) : error_of(state_["error"]);
    AgentOutcome failed{AgentOutcome::Kind::failed, "error", error, {}};
    failed.failure = std::move(turn_failure_);
    return end(std::move(failed));
  }
  if (status == agent::Status::waiting_for_human || status == agent::Status::waiting_for_async_tool)
    return end_waiting();
  end({AgentOutcome::Kind::finished, reason_.empty() ? "completed" : reason_, {}, {}});
}

// What people are asked; from here on the run waits for them, also when an agent it calls asks.
Tree AgentSession::take_interrupts() {
  Tree interrupts = agent::open_interrupts(state_, services_.now_ms(), services_.call.ids,
                                           settings_.interrupt_lifetime);
  if (!interrupts.items().empty() && state_["humanWaitingSince"].is_null()) {
    state_.set("humanWaitingSince", Tree::integer(services_.now_ms()));
  }
  return interrupts;
}

// The user is asked once the client's results are there, so that the state must be kept until then.
void AgentSession::defer_question() {
  if (plan_->tools.find(ask_user_name) == nullptr ||
      agent::status_of(state_) != agent::Status::waiting_for_async_tool) {
    return;
  }
  Tree question = pending_input(state_);
  const std::string_view member = agent::deferred_member(question["type"].string());
  if (!member.empty()) state_.set(member, std::move(question));
}

void AgentSession::end_waiting() {
  Tree interrupts = take_interrupts();
  const bool has_interrupts = !interrupts.items().empty();
  end({has_interrupts ? AgentOutcome::Kind::waiting : AgentOutcome::Kind::delegated,
       std::string(has_interrupts ? "waiting_for_human" : "waiting_for_client"),
       {},
       std::move(interrupts)});
}

void AgentSession::pause() {
  paused_ = true;
  if (turn_) turn_->pause();
}

void AgentSession::resume() {
  paused_ = false;
  if (turn_) turn_->resume();
}

}  // namespace millrace::run
