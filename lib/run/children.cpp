#include "run/children.hpp"

#include <algorithm>
#include <utility>

#include "agent/budget.hpp"
#include "agent/deltas.hpp"
#include "agent/interrupts.hpp"
#include "agent/state.hpp"
#include "agent/turn_reports.hpp"
#include "base/json.hpp"
#include "os/event_loop.hpp"

namespace millrace::run {
namespace {

using json::Tree;

constexpr std::size_t children_at_once = 4;

// Whether the event names whose it is, or is of the whole run.
bool names_its_agent(const event::Event& event) {
  if (!event.subagent.empty()) return true;
  const auto* foreign = std::get_if<event::Foreign>(&event.body);
  if (foreign != nullptr) return foreign->json.find("\"subagentRunId\"") != std::string_view::npos;
  return std::holds_alternative<event::Usage>(event.body) ||
         std::holds_alternative<event::SubagentEnd>(event.body) ||
         std::holds_alternative<event::SubagentFailed>(event.body);
}

}  // namespace

Tree without_waits(const Tree& state) {
  Tree totals = Tree::object();
  for (const std::string_view member : {"usage", "cost", "report"}) {
    if (state[member].is_object()) totals.set(member, state[member]);
  }
  if (Tree* usage = totals.find("usage"); usage != nullptr) {
    usage->at("humanInteraction").erase("totalWaitingTimeMs");
  }
  return totals;
}

void add_spent(Tree& state, const Tree& spent) {
  for (const std::string_view member : {"usage", "cost"}) {
    if (!spent[member].is_object()) continue;
    agent::add_delta(state.at(member), spent["before"][member], spent[member]);
  }
  agent::add_report(state, spent["report"], spent["before"]["report"]);
  const Tree& turn = spent["turn"];
  if (!turn.is_object()) return;
  Tree tokens = Tree::object();
  tokens.set("input", turn["totalInputTokens"]);
  tokens.set("output", turn["totalOutputTokens"]);
  tokens.set("total", turn["totalTokens"]);
  Tree& llm = state.at("usage").at("llm");
  agent::add_delta(llm.at("tokens"), Tree(), tokens);
  agent::add_delta(llm.at("apiCalls"), Tree(), Tree::integer(1));
  agent::record_attempts(state, spent["attempts"], turn);
}

std::string final_text(const Tree& state) {
  const auto& messages = state["messages"].items();
  for (auto state_message = messages.rbegin(); state_message != messages.rend(); ++state_message) {
    if ((*state_message)["role"].string() == "assistant")
      return std::string((*state_message)["content"].string());
    // What is before the question answered another one.
    if ((*state_message)["role"].string() == "user") break;
  }
  return {};
}

AgentSession::Child::Child(AgentSession& parent, std::uint64_t action, const SubAgent& agent,
                           std::string call_id)
    : parent_(parent),
      action_(action),
      agent_(agent),
      call_id_(std::move(call_id)),
      timer_(parent.services_.wait([this] {
        timed_out_ = true;
        session_->stop();
      })) {}

void AgentSession::Child::start(const model::DriverServices& services, AgentTask task,
                                const RecordedChild* recorded) {
  std::int64_t started_ms = services.now_ms();
  if (recorded != nullptr) {
    run_id_ = recorded->run_id;
    was_waiting_ = recorded->is_waiting;
    task.state = recorded->state;
    task.context = recorded->context;
    task.failure = recorded->failure;
  }
  const bool is_known = !run_id_.empty();
  if (is_known) started_ms = recorded->started_ms;
  if (!is_known) run_id_ = services.call.ids.next_id();
  task.run_id = run_id_;
  if (Recorder* recorder = parent_.settings_.recorder) {
    task.recorder = &recorder->begin_child(call_id_, agent_.name, run_id_);
  }
  if (!is_known) {
    event::SubagentStart start{run_id_, agent_.name};
    start.call_id = call_id_;
    parent_.emit(start);
  }
  if (agent_.timeout.count() > 0) {
    // The clock may be set back.
    const std::chrono::milliseconds spent(
        std::max<std::int64_t>(services.now_ms() - started_ms, 0));
    timer_->start(std::max(agent_.timeout - spent, std::chrono::milliseconds(0)));
  }
  session_ = std::make_shared<AgentSession>(services, agent_.plan, std::move(task), *this);
  session_->start();
}

// Marks an event as this agent's, unless it is of an agent that it called.
void AgentSession::Child::on_event(const event::Event& event) {
  AgentOwner* owner = parent_.owner_;
  if (owner == nullptr) return;
  if (const auto* started = std::get_if<event::SubagentStart>(&event.body)) {
    event::SubagentStart start = *started;
    if (start.parent_run_id.empty()) start.parent_run_id = run_id_;
    return owner->on_event({start, event.extra});
  }
  // The messages of a client are those of the whole run.
  if (std::holds_alternative<event::MessagesSnapshot>(event.body)) return;
  if (names_its_agent(event)) return owner->on_event(event);
  owner->on_event({event.body, event.extra, run_id_});
}

// The end is dealt with when nothing of the child is on the stack.
void AgentSession::Child::moved() {
  if (!session_ || !session_->ended()) {
    // A run that is at work for its step machine reports that itself, at the end.
    if (parent_.owner_ != nullptr && !parent_.pumping_) parent_.owner_->moved();
    return;
  }
  if (std::exchange(reported_end_, true)) return;
  timer_->cancel();
  const std::weak_ptr<AgentSession> weak = parent_.weak_from_this();
  const std::uint64_t action = action_;
  parent_.services_.loop.post([weak, action] {
    if (const auto parent = weak.lock()) parent->on_child(action);
  });
}

void AgentSession::Child::request_host(HostWork work, std::uint64_t id, std::string json) {
  if (parent_.owner_ == nullptr) return;
  const std::uint64_t own = ++parent_.last_request_;
  parent_.requested_[own] = {action_, id};
  parent_.owner_->request_host(work, own, std::move(json));
}

void AgentSession::Child::withdraw(std::uint64_t id) {
  for (auto at = parent_.requested_.begin(); at != parent_.requested_.end(); ++at) {
    if (at->second != std::pair{action_, id}) continue;
    if (parent_.owner_ != nullptr) parent_.owner_->withdraw(at->first);
    parent_.requested_.erase(at);
    return;
  }
}

void AgentSession::Child::rest(const Tree& state, const Tree& context) {
  session_->record_rest(state, context);
}

void AgentSession::call_agent(std::uint64_t action, const SubAgent& agent, const Tree& call) {
  AgentTask task;
  task.thread_id = settings_.thread_id;
  task.trace = settings_.trace;
  task.used = settings_.used;
  task.interrupt_lifetime = settings_.interrupt_lifetime;
  task.state_messages = Tree::array();
  if (agent.inherit_messages) {
    for (const Tree& state_message : inherited_.items()) {
      if (state_message["role"].string() != "system") task.state_messages.push(state_message);
    }
  }
  auto arguments = Tree::parse(call["arguments"].string());
  Tree state_message = Tree::object();
  state_message.set("id", services_.call.ids.next_id());
  state_message.set("role", "user");
  state_message.set("content", arguments ? arguments.value()["task"] : Tree::text(""));
  task.state_messages.push(std::move(state_message));
  start_child(action, agent, std::string(call["id"].string()), std::move(task));
}

void AgentSession::start_child(std::uint64_t action, const SubAgent& agent, std::string call_id,
                               AgentTask task) {
  if (children_.size() >= children_at_once) {
    queued_.push_back({action, &agent, std::move(call_id), std::move(task)});
    return;
  }
  task.above = [weak = weak_from_this()]() -> std::optional<agent::ReachedLimit> {
    const auto self = weak.lock();
    return self ? self->reached_limit() : std::nullopt;
  };
  // One that the user answered begins anew for the readers.
  std::optional<RecordedChild> recorded;
  if (settings_.recorder != nullptr && !task.state.is_object()) {
    if (const RecordedChild* known = settings_.recorder->child_of(call_id)) recorded = *known;
  }
  auto child = std::make_unique<Child>(*this, action, agent, std::move(call_id));
  Child& started = *child;
  children_.emplace(action, std::move(child));
  started.start(services_, std::move(task), recorded ? &*recorded : nullptr);
}

void AgentSession::start_queued() {
  while (!queued_.empty() && children_.size() < children_at_once) {
    Queued next = std::move(queued_.front());
    queued_.pop_front();
    start_child(next.action, *next.agent, std::move(next.call_id), std::move(next.task));
  }
}

void AgentSession::on_child(std::uint64_t action) {
  const auto found = children_.find(action);
  if (found == children_.end() || outcome_) return;
  const auto self = shared_from_this();
  const std::unique_ptr<Child> child = std::move(found->second);
  children_.erase(found);
  start_queued();
  const AgentOutcome& outcome = child->session().outcome();
  spent_.push_back(totals_of(*child));
  record_child_end(*child);
  if (outcome.kind == AgentOutcome::Kind::waiting && !child->timed_out()) {
    return keep_child(action, *child);
  }
  tool::ToolOutcome result;
  if (child->timed_out()) {
    result = {"The agent " + child->agent().name + " did not end within " +
                  std::to_string(child->agent().timeout.count()) + " ms.",
              true, "tool_timeout"};
  } else if (outcome.kind == AgentOutcome::Kind::finished) {
    result.content = final_text(child->session().state());
    // Of one that a limit ended, an empty answer would report nothing.
    if (result.content.empty() && outcome.reason != "completed") {
      result = {
          "The agent " + child->agent().name + " ended without an answer: " + outcome.reason + ".",
          true, "tool_failed"};
    }
  } else {
    const Error error = outcome.error.value_or(make_error(Errc::cancelled));
    result = {error.message, true, std::string(error.code_name())};
  }
  end_child(action, *child, result);
}

// What an agent of the run spent, for add_spent: what it had spent when it asked is added already.
Tree AgentSession::totals_of(const Child& child) const {
  Tree spent = without_waits(child.session().totals());
  const Tree& retained = waiting_children_[child.call_id()];
  if (retained["counted"].is_true()) spent.set("before", without_waits(retained["state"]));
  return spent;
}

// What the run spent so far, with all that is at work for it.
Tree AgentSession::totals() const {
  Tree sum = Tree::object();
  const Tree& state = machine_ ? machine_->state() : state_;
  for (const std::string_view member : {"usage", "cost", "report"}) {
    if (state[member].is_object()) sum.set(member, state[member]);
  }
  for (const Tree& spent : spent_) add_spent(sum, spent);
  for (const auto& [action, child] : children_) add_spent(sum, totals_of(*child));
  return sum;
}

// A limit of the run, or of one that it is a part of, that is reached by what they and all their
// agents spent so far.
std::optional<agent::ReachedLimit> AgentSession::reached_limit() const {
  const Tree& state = machine_ ? machine_->state() : state_;
  if (state["limits"]["maxTokens"].is_number() || state["costLimit"].is_object()) {
    Tree held = totals();
    for (const std::string_view member : {"limits", "costLimit"}) held.set(member, state[member]);
    if (auto reached = agent::reached_limit(held)) return reached;
  }
  return settings_.above ? settings_.above() : std::nullopt;
}

void AgentSession::report_child_end(const Child& child, const tool::ToolOutcome& outcome) {
  if (outcome.is_error) {
    emit(event::SubagentFailed{child.run_id(), outcome.content, outcome.code});
  } else {
    emit(event::SubagentEnd{child.run_id()});
  }
}

// It waits for a person, and so does the run that called it.
void AgentSession::keep_child(std::uint64_t action, const Child& child) {
  const AgentOutcome& outcome = child.session().outcome();
  Tree ended = Tree::object();
  ended.set("type", "suspended");
  ended.set("interruptIds", Tree::array());
  Tree retained = Tree::object();
  retained.set("agent", child.agent().name);
  retained.set("state", child.session().state());
  retained.set("counted", Tree::flag(true));
  Tree interrupts = Tree::array();
  for (const Tree& interrupt : outcome.interrupts.items()) {
    Tree made = interrupt;
    if (made["subagentRunId"].is_null()) made.set("subagentRunId", child.run_id());
    ended.at("interruptIds").push(made["id"]);
    interrupts.push(std::move(made));
  }
  retained.set("interrupts", std::move(interrupts));
  const std::string ended_json = ended.to_json(json::Surrogates::replace);
  if (!child.was_waiting()) emit(event::SubagentEnd{child.run_id(), {}, ended_json});
  if (!waiting_children_.is_object()) waiting_children_ = Tree::object();
  waiting_children_.set(child.call_id(), std::move(retained));
  if (!machine_) {
    state_.set("subAgentRuns", waiting_children_);
    return settle_resumed();
  }
  Tree deferred = Tree::object();
  deferred.set("deferred", Tree::flag(true));
  machine_->complete(action, std::move(deferred), services_.now_ms());
  pump();
}

void AgentSession::take_spent() {
  for (const Tree& spent : std::exchange(spent_, {})) add_spent(state_, spent);
}

}  // namespace millrace::run
