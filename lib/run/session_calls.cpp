// What an agent's run does for its step machine: steps as readers see them, calls of tools, their
// results.
#include <utility>

#include "agent/host_turn.hpp"
#include "agent/result_ids.hpp"
#include "agent/state.hpp"
#include "agent/state_messages.hpp"
#include "base/json.hpp"
#include "base/shown.hpp"
#include "model/call/chain.hpp"
#include "run/children.hpp"
#include "run/client_messages.hpp"
#include "run/session.hpp"
#include "run/vendor_result.hpp"

namespace millrace::run {
namespace {

using json::Tree;

// A result for the machine. Text stays as it is.
Tree result_of(const tool::ToolOutcome& outcome) {
  if (outcome.details.empty()) return Tree::text(outcome.content);
  Tree made = Tree::object();
  tool::set_details(made, outcome.details);
  made.set("content", outcome.content);
  return made;
}

Tree failure_of(const tool::ToolOutcome& outcome) {
  Tree error = Tree::object();
  error.set("type", outcome.code.empty() ? std::string("tool_failed") : outcome.code);
  error.set("message", outcome.content);
  if (outcome.retry) error.set("retry", Tree::flag(true));
  if (!outcome.details.empty()) tool::set_details(error.at("details"), outcome.details);
  return error;
}

// What the function of the host answered.
tool::ToolOutcome made_of_answer(const Tree& answer) {
  tool::ToolOutcome outcome;
  outcome.content = answer["content"].string();
  outcome.is_error = answer["isError"].truthy();
  outcome.retry = answer["retry"].truthy();
  outcome.code = answer["code"].string();
  outcome.details = tool::read_details(answer["extra"]);
  return outcome;
}

// The same of a tool that a vendor defines: its content is a value.
tool::ToolOutcome made_of_value(const tool::Tool& tool, const Tree& answer) {
  const auto value = Tree::parse(answer["content"].string());
  if (!value) return {"The tool's answer is not JSON.", true, "tool_failed"};
  return vendor_outcome(tool.spec(), value.value());
}

std::string step_name(std::int64_t number) {
  return "step-" + std::to_string(number);
}

}  // namespace

void AgentSession::emit(const event::Body& body) {
  if (owner_ != nullptr) owner_->on_event({body});
}

void AgentSession::open_step() {
  close_step();
  ++step_;
  if (std::exchange(is_in_step_, false)) return (void)(step_open_ = true);
  report_step();
}

void AgentSession::report_step() {
  step_open_ = true;
  emit(event::StepStart{step_name(step_)});
}

void AgentSession::close_step() {
  if (std::exchange(step_open_, false)) emit(event::StepEnd{step_name(step_)});
}

// Does `begin` once the call is recorded, or ends it with what it came to before.
void AgentSession::begin_call(std::uint64_t action, CallIntent intent,
                              std::function<void(AgentSession&)> begin) {
  if (settings_.recorder == nullptr) return begin(*this);
  unrecorded_.insert(action);
  const std::weak_ptr<AgentSession> weak = weak_from_this();
  settings_.recorder->before_call(
      intent, [weak, action, begin = std::move(begin)](const tool::ToolOutcome* known) {
        const auto self = weak.lock();
        if (!self || self->unrecorded_.erase(action) == 0) return;
        if (known != nullptr) return self->end_tool(action, *known);
        begin(*self);
        self->pump();
      });
}

void AgentSession::start_tool(std::uint64_t action, const Tree& payload) {
  const std::int64_t wait_ms = payload["waitMs"].integer_or(0);
  if (wait_ms <= 0) return call_tool(action, payload);
  auto& wait = waits_[action];
  wait = services_.wait([this, action, payload] {
    const auto self = shared_from_this();
    waits_.erase(action);
    call_tool(action, payload);
    if (owner_ != nullptr) owner_->moved();
  });
  wait->start(std::chrono::milliseconds(wait_ms));
}

void AgentSession::call_tool(std::uint64_t action, const Tree& payload) {
  const Tree& call = payload["toolCall"];
  const std::string name(payload["name"].string());
  const auto found = plan_->tools.entries().find(name);
  // A name in parts would be decided about under one tool and run as another.
  if (found == plan_->tools.entries().end() || call["identifier"].string() != name ||
      call["apiName"].string() != name) {
    return reject(action, make_error(Errc::tool_not_found,
                                     "There is no tool called " + shown_text(name) + "."));
  }
  const std::string_view arguments = call["arguments"].string();
  if (!plan_->unchecked.contains(name)) {
    const auto checked = plan_->tools.check(name, arguments);
    if (!checked) return reject(action, checked.error());
  }
  for (const SubAgent& agent : plan_->sub_agents) {
    if (agent.name == name) return begin_agent(action, agent, call);
  }
  run_tool(action, found->second.tool->spec(), call);
}

// What the agent does for the call is recorded by itself; after a crash it goes on from there.
void AgentSession::begin_agent(std::uint64_t action, const SubAgent& agent, const Tree& call) {
  CallIntent intent;
  intent.id = call["id"].string();
  intent.name = agent.name;
  intent.arguments = call["arguments"].string();
  intent.is_agent = true;
  if (settings_.recorder != nullptr) {
    const RecordedChild* recorded = settings_.recorder->child_of(intent.id);
    // Its call is answered by the ledger, and what it spent is in no checkpoint of this run.
    if (recorded != nullptr && recorded->is_over) spent_.push_back(without_waits(recorded->state));
  }
  begin_call(action, std::move(intent),
             [action, &agent, call](AgentSession& self) { self.call_agent(action, agent, call); });
}

void AgentSession::run_tool(std::uint64_t action, const tool::Spec& spec, const Tree& call) {
  tool::ToolCall wanted;
  wanted.id = call["id"].string();
  wanted.name = spec.name;
  wanted.arguments = call["arguments"].string();
  if (wanted.arguments.empty()) wanted.arguments = "{}";
  wanted.idempotency_key = settings_.thread_id + ":" + operation_id_ + ":" + wanted.id;
  if (settings_.recorder == nullptr) return start_job(action, spec, std::move(wanted));
  // A fork has an id of its own, and repeats what the run that it is made from had begun.
  if (std::string key = settings_.recorder->key_of(wanted.id); !key.empty()) {
    wanted.idempotency_key = std::move(key);
  }
  CallIntent intent{wanted.id, wanted.name, wanted.arguments, wanted.idempotency_key, spec.effect};
  begin_call(action, std::move(intent),
             [action, &spec, wanted](AgentSession& self) { self.start_job(action, spec, wanted); });
}

void AgentSession::start_job(std::uint64_t action, const tool::Spec& spec, tool::ToolCall wanted) {
  const std::string id = wanted.id;
  const std::weak_ptr<AgentSession> weak = weak_from_this();
  const bool hosted = plan_->host_tools.contains(spec.name);
  ToolJob::Events events;
  events.finished = [weak, action](const tool::ToolOutcome& outcome) {
    if (const auto self = weak.lock()) self->end_tool(action, outcome);
  };
  events.progress = [weak, id](std::string_view json) {
    if (const auto self = weak.lock()) self->report_progress(id, json);
  };
  if (hosted) {
    events.cancelled = [weak, action] {
      const auto self = weak.lock();
      if (self && self->owner_ != nullptr) self->owner_->withdraw(action);
    };
  }
  const auto job = std::make_shared<ToolJob>(services_.loop, spec, std::move(events));
  jobs_.insert_or_assign(action, job);
  if (!hosted) return job->start(*plan_->tools.find(spec.name), std::move(wanted));
  std::string json = "{";
  json::append_member(json, "name", wanted.name);
  json::append_member(json, "toolCallId", wanted.id);
  json::append_member(json, "arguments", wanted.arguments);
  json::append_member(json, "idempotencyKey", wanted.idempotency_key);
  json.push_back('}');
  if (owner_ != nullptr) owner_->request_host(HostWork::tool, action, std::move(json));
}

void AgentSession::complete(std::uint64_t id, std::string_view json) {
  if (host_turn_ && turn_action_ == id) return on_host_turn(json);
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) {
    const auto requested = requested_.find(id);
    if (requested == requested_.end()) return;
    const auto child = children_.find(requested->second.first);
    if (child != children_.end()) child->second->complete(requested->second.second, json);
    return;
  }
  const auto self = shared_from_this();
  const auto found = job->second;
  auto parsed = Tree::parse(json);
  if (!parsed) {
    return found->finished({"The tool's answer is not JSON.", true, "tool_failed"});
  }
  const Tree& answer = parsed.value();
  if (answer.find("progress") != nullptr) {
    return found->progress(answer["progress"].to_json(json::Surrogates::replace));
  }
  const tool::Tool* called = plan_->tools.find(found->name());
  const bool is_value = answer["json"].is_true() && called != nullptr;
  found->finished(is_value ? made_of_value(*called, answer) : made_of_answer(answer));
}

// The machine decides what becomes of it: a result, or another try.
void AgentSession::end_tool(std::uint64_t action, const tool::ToolOutcome& outcome) {
  jobs_.erase(action);
  if (!machine_) return;
  const auto self = shared_from_this();
  if (outcome.is_error) {
    machine_->fail(action, failure_of(outcome), services_.now_ms());
  } else {
    machine_->complete(action, result_of(outcome), services_.now_ms());
  }
  pump();
}

void AgentSession::reject(std::uint64_t action, const Error& error) {
  end_tool(action, {error.message, true, std::string(error.code_name())});
}

// The one place that reports a result to readers, however it came about; false where they were
// told before.
bool AgentSession::report_result(const std::string& call_id, const tool::ToolOutcome& outcome) {
  std::erase(open_calls_, call_id);
  if (settings_.recorder != nullptr && !settings_.recorder->call_ended(call_id, outcome))
    return false;
  event::ToolResult result;
  const std::string message_id = agent::result_message_id(call_id);
  result.message_id = message_id;
  result.id = call_id;
  result.role = "tool";
  result.content = outcome.content;
  const std::string parts = outcome.details.parts.is_null()
                                ? std::string()
                                : outcome.details.parts.to_json(json::Surrogates::replace);
  result.parts_json = parts;
  result.failed = outcome.is_error;
  if (outcome.is_error) result.error = outcome.content;
  emit(result);
  tool::Details beside = outcome.details;
  beside.parts = Tree();
  if (!beside.empty()) report_details(call_id, beside);
  return true;
}

// Readers who send the conversation back need what its provider gets of the result.
void AgentSession::report_acknowledged(const agent::CallEnd& end) {
  if (end.acknowledged.is_null()) return;
  const std::string state = end.acknowledged["state"].to_json();
  const std::string message_id = agent::result_message_id(end.id);
  emit(event::ProviderState{end.acknowledged["provider"].string(),
                            end.acknowledged["kind"].string(), message_id, state});
}

void AgentSession::report_details(const std::string& call_id, const tool::Details& given) {
  const auto json_of = [](const Tree& value) {
    return value.is_null() ? std::string() : value.to_json(json::Surrogates::replace);
  };
  const std::string state = json_of(given.state);
  const std::string citations = json_of(given.citations);
  const std::string attachments = json_of(given.attachments);
  const std::string others = tool::members_json({.others = given.others});
  emit(event::ToolDetails{call_id, state, citations, attachments, others});
}

void AgentSession::report_progress(const std::string& call_id, std::string_view json) {
  emit(event::ToolProgress{call_id, json});
  if (owner_ != nullptr) owner_->moved();
}

}  // namespace millrace::run
