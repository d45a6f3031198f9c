#include "run/durable/function_session.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "agent/state_messages.hpp"
#include "agent/turn_reports.hpp"
#include "base/json.hpp"
#include "run/durable/function_task.hpp"
#include "run/durable/job_children.hpp"

namespace millrace::run {
namespace {

using json::Tree;

// A run has one request.
constexpr std::uint64_t request_id = 1;
// As JSON texts of ours have the begin of one.
constexpr std::string_view lone_surrogate = "\\ud";
// How long a question to the user may be answered that has no limit of its own, and the longest.
constexpr std::int64_t most_answer_ms = std::int64_t{10} * 364 * 24 * 3600 * 1000;

// As AG-UI has a question to the user.
Tree interrupt_of(const Tree& action, std::string_view id, std::int64_t expires_ms) {
  Tree interrupt = Tree::object();
  interrupt.set("id", id);
  interrupt.set("reason", "input_required");
  if (action["prompt"].is_string()) interrupt.set("message", action["prompt"]);
  if (!action["schema"].is_null()) interrupt.set("responseSchema", action["schema"]);
  interrupt.set("expiresAt", Tree::integer(expires_ms));
  Tree& metadata = interrupt.set("metadata", Tree::object());
  metadata.set("action", action["name"]);
  if (action["kind"].is_string()) metadata.set("kind", action["kind"]);
  return interrupt;
}

constexpr std::array call_states{journal::CallState::started, journal::CallState::ok,
                                 journal::CallState::error, journal::CallState::unknown};
constexpr std::array effects{journal::Effect::once, journal::Effect::keyed,
                             journal::Effect::idempotent, journal::Effect::read};

constexpr std::array<std::pair<std::string_view, journal::CallKind>, 3> recorded_kinds{{
    {"step", journal::CallKind::step},
    {"sleep", journal::CallKind::sleep},
    {"child", journal::CallKind::child},
}};

// The one of this name; the first where there is none.
template <class Enum, std::size_t size>
Enum named(const std::array<Enum, size>& all, const Tree& name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](Enum one) { return journal::name_of(one) == name.string(); });
  return found == all.end() ? all.front() : *found;
}

std::string notice(std::string_view name, std::string_view json) {
  std::string text = "{";
  json::append_raw_member(text, name, json);
  return text + "}";
}

}  // namespace

std::string function_input(const AgentInput& input) {
  std::string json = "{";
  if (!input.job_json.empty()) {
    json::append_raw_member(json, "input", input.job_json);
    return json + "}";
  }
  json::append_raw_member(json, "messages", input.messages_json);
  if (!input.state_json.empty()) json::append_raw_member(json, "state", input.state_json);
  if (!input.props_json.empty()) json::append_raw_member(json, "forwardedProps", input.props_json);
  return json + "}";
}

Result<FunctionTask> function_task(const store::RunId& run, std::string_view thread_id,
                                   std::string_view input_json) {
  auto input = Tree::parse(input_json);
  if (!input) return std::move(input).error();
  FunctionTask task;
  task.is_job = input.value().find("input") != nullptr;
  const Tree& given = input.value()["messages"];
  auto messages = agent::state_messages_of(given.is_array() ? given.to_json() : "[]");
  if (!messages) return std::move(messages).error();
  task.run_id = run.text();
  task.messages = std::move(messages).value();
  input.value().erase("queued");  // as a run that waited for its turn keeps it
  input.value().set("threadId", thread_id);
  task.turn_json = input.value().to_json(json::Surrogates::replace);
  return task;
}

Result<FunctionTask> function_task(const store::RunId& run, const AgentInput& input) {
  std::string text = function_input(input);
  // What is written whole of a text without lone surrogates is that text.
  if (!input.state_messages.is_array() || text.find(lone_surrogate) != std::string::npos) {
    return function_task(run, input.thread_id, text);
  }
  FunctionTask task;
  task.run_id = run.text();
  task.messages = input.state_messages;
  text.pop_back();
  json::append_member(text, "threadId", input.thread_id);
  task.turn_json = std::move(text) + "}";
  return task;
}

FunctionSession::FunctionSession(const model::DriverServices& services, FunctionTask task,
                                 AgentOwner& owner)
    : services_(services),
      turn_json_(std::move(task.turn_json)),
      owner_(&owner),
      state_(Tree::object()),
      is_job_(task.is_job),
      answer_ms_(task.answer_ms),
      run_id_(std::move(task.run_id)),
      approvals_(std::move(task.approvals)) {
  state_.set("messages", std::move(task.messages));
  state_.set("stepCount", Tree::integer(0));
  state_.set("modelTurns", Tree::integer(0));
  add_child_spent(state_, task.spent);
  agent::add_report(state_, task.spent["report"]);
}

FunctionSession::~FunctionSession() = default;

void FunctionSession::start() {
  owner_->request_host(HostWork::function, request_id,
                       notice("turn", std::exchange(turn_json_, {})));
}

void FunctionSession::resume() {
  is_paused_ = false;
  acknowledge();
}

void FunctionSession::stop() {
  if (ended() || owner_ == nullptr || std::exchange(is_stopping_, true)) return;
  owner_->notify(request_id, R"({"stop":true})");
  grace_ = services_.wait([this] {
    if (owner_ != nullptr) owner_->withdraw(request_id);
    end({AgentOutcome::Kind::cancelled, "user_aborted", {}, {}});
  });
  grace_->start(is_job_ ? job_stop_grace : function_stop_grace);
}

void FunctionSession::leave() {
  AgentOwner* owner = std::exchange(owner_, nullptr);
  grace_.reset();
  open_.clear();
  if (owner != nullptr && !ended()) owner->withdraw(request_id);
}

void FunctionSession::complete(std::uint64_t id, std::string_view json) {
  if (id != request_id || ended() || owner_ == nullptr) return;
  const auto parsed = Tree::parse(json);
  if (!parsed) {
    return end({AgentOutcome::Kind::failed, "error", parsed.error(), {}});
  }
  const Tree& answer = parsed.value();
  if (const Tree* progress = answer.find("progress")) {
    take_progress(*progress, answer["op"].integer_or(0));
    if (owner_ == nullptr || ended()) return;
    to_acknowledge_ = std::max(to_acknowledge_, answer["ack"].integer_or(0));
    acknowledge();
    return owner_->moved();
  }
  if (const Tree* result = answer.find("result")) return take_result(*result);
  take_error(answer["error"]);
}

// A store that is slower than the function has it wait.
void FunctionSession::acknowledge() {
  if (is_paused_ || to_acknowledge_ == acknowledged_ || owner_ == nullptr) return;
  acknowledged_ = to_acknowledge_;
  owner_->notify(request_id, notice("ack", std::to_string(acknowledged_)));
}

// --- what it shows

void FunctionSession::take_progress(const Tree& progress, std::int64_t op) {
  const std::string_view event = progress["event"].string();
  if (event == "text") show_text(progress["text"].string());
  if (event == "custom") show_custom(progress);
  if (event == "action") ask(progress);
  for (const auto& [name, kind] : recorded_kinds) {
    if (event == name) record(progress, kind, op);
  }
  if (event == "warning") show_warning(progress);
  if (event == "idle") suspend(progress);
}

// A whole message; blanks are none.
void FunctionSession::show_text(std::string_view text) {
  if (json::trim(text).empty()) return;
  const std::string id = services_.call.ids.next_id();
  owner_->on_event({event::TextStart{id, "assistant"}});
  owner_->on_event({event::TextDelta{id, text}});
  owner_->on_event({event::TextEnd{id}});
  Tree message = Tree::object();
  message.set("id", id);
  message.set("role", "assistant");
  message.set("content", text);
  state_.at("messages").push(std::move(message));
}

void FunctionSession::show_custom(const Tree& progress) {
  const Tree* value = progress.find("value");
  const std::string json = value == nullptr ? std::string() : value->to_json();
  owner_->on_event({event::Stage{progress["name"].string(), json}});
}

void FunctionSession::show_warning(const Tree& progress) {
  owner_->on_event({event::Warning{progress["code"].string(), progress["message"].string()}});
}

// --- what a job does

void FunctionSession::record(const Tree& progress, journal::CallKind kind, std::int64_t op) {
  StepRecord step;
  step.name = progress["name"].string();
  step.occurrence = progress["n"].integer_or(1);
  step.kind = kind;
  const bool is_sleep = kind == journal::CallKind::sleep;
  step.state = is_sleep ? journal::CallState::started : named(call_states, progress["state"]);
  step.effect = named(effects, progress["effect"]);
  if (const Tree* result = progress.find("result")) step.result_json = result->to_json();
  step.until_ms = progress["until"].integer_or(0);
  step.run = progress["run"].string();
  if (kind == journal::CallKind::child) add_child_spent(state_, progress["result"]);
  owner_->record_step(step, [weak = weak_from_this(), op] {
    const auto self = weak.lock();
    if (!self || self->owner_ == nullptr || self->ended()) return;
    self->owner_->notify(request_id, notice("done", std::to_string(op)));
  });
}

void FunctionSession::take_event(std::string_view name, const Tree& payload) {
  if (owner_ == nullptr || ended()) return;
  ++reported_;
  Tree event = Tree::object();
  event.set("name", name);
  event.set("payload", payload);
  owner_->notify(request_id, notice("event", event.to_json()));
}

// A question to the user and a time are waited for in memory.
void FunctionSession::suspend(const Tree& progress) {
  const Tree* until = progress.find("until");
  const bool asks = !open_.empty();
  if (!is_job_ || is_stopping_ || (until != nullptr && asks)) return;
  // It does not know yet what happened.
  if (progress["seen"].integer_or(0) != reported_) return;
  std::optional<std::int64_t> due;
  if (!asks) due = until == nullptr ? never_ms : until->integer_or(0);
  if (!owner_->suspend(due)) return;
  AgentOwner* owner = std::exchange(owner_, nullptr);
  owner->notify(request_id, R"({"suspended":true})");
  owner->withdraw(request_id);
  open_.clear();
}

// --- what it asks the user

void FunctionSession::ask(const Tree& action) {
  std::string name(action["name"].string());
  const std::int64_t times = ++times_[name];
  if (times > 1) name += '#' + std::to_string(times);
  const std::int64_t number = ++last_action_;
  const auto known = approvals_.find(name);
  if (known != approvals_.end() && known->second.decided) {
    return settle(number, "answer", known->second.decision);
  }
  if (known != approvals_.end() && known->second.has_expired) {
    return settle(number, "expired", "true");
  }
  const std::int64_t limit =
      std::clamp<std::int64_t>(action["timeoutMs"].integer_or(answer_ms_), 0, most_answer_ms);
  std::int64_t expires = services_.now_ms() + limit;
  if (known == approvals_.end()) {
    const std::string id = run_id_ + "." + name;
    const Tree interrupt = interrupt_of(action, id, expires);
    owner_->request_answer(name, interrupt, expires);
    owner_->on_event({event::Stage{"requires_action", interrupt.to_json()}});
  } else {
    expires = known->second.expires;
  }
  Action& open = open_[name];
  open.number = number;
  open.limit = services_.wait([this, name] { expire(name); });
  const std::int64_t rest = std::max<std::int64_t>(expires - services_.now_ms(), 0);
  open.limit->start(std::chrono::milliseconds(rest));
}

void FunctionSession::expire(const std::string& name) {
  const auto found = open_.find(name);
  const std::int64_t number = found->second.number;
  // Its timer has called this.
  const Action over = std::move(found->second);
  open_.erase(found);
  settle(number, "expired", "true");
}

void FunctionSession::answered(std::string_view name, const Tree& entry) {
  const auto found = open_.find(name);
  if (found == open_.end()) {
    // The function that was entered again has not come to its question yet.
    const auto known = approvals_.find(name);
    if (known == approvals_.end()) return;
    known->second.decided = services_.now_ms();
    known->second.decision = entry.to_json();
    return;
  }
  const std::int64_t number = found->second.number;
  open_.erase(found);
  settle(number, "answer", entry.to_json());
}

void FunctionSession::settle(std::int64_t action, std::string_view member, std::string_view json) {
  if (owner_ == nullptr || ended()) return;
  ++reported_;
  std::string text = notice("action", std::to_string(action));
  text.pop_back();
  json::append_raw_member(text, member, json);
  owner_->notify(request_id, text + "}");
}

// --- how it ends

void FunctionSession::take_result(const Tree& result) {
  AgentOutcome outcome{AgentOutcome::Kind::finished, "completed", {}, {}};
  if (is_stopping_) outcome = {AgentOutcome::Kind::cancelled, "user_aborted", {}, {}};
  if (is_job_) {
    outcome.value_json = result.to_json();
  } else if (result.is_string()) {
    show_text(result.string());
  } else if (!result.is_null()) {
    outcome.value_json = result.to_json();
  }
  end(std::move(outcome));
}

void FunctionSession::take_error(const Tree& error) {
  if (is_stopping_) return end({AgentOutcome::Kind::cancelled, "user_aborted", {}, {}});
  const Errc code = error["code"].is_string() ? code_of(error["code"].string()) : Errc::tool_failed;
  Error failure = make_error(code, std::string(error["message"].string()));
  end({AgentOutcome::Kind::failed, "error", std::move(failure), {}});
}

void FunctionSession::end(AgentOutcome outcome) {
  if (ended() || owner_ == nullptr) return;
  if (grace_) grace_->cancel();
  open_.clear();
  outcome_ = std::move(outcome);
  owner_->rest(state_, Tree());
  owner_->moved();
}

}  // namespace millrace::run
