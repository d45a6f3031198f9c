#include "chat/job_run.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace millrace::chat {
namespace {

using journal::CallKind;
using journal::CallState;
using json::Tree;

// Of the arguments of a call that has no fact of its own.
constexpr std::size_t arguments_limit = std::size_t{256} << 10U;

bool is_call(CallKind kind) {
  return kind == CallKind::tool || kind == CallKind::child;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

// The outcome of a call as lifecycle payloads have it.
Tree outcome_of(const journal::ToolResult& fact) {
  Tree outcome = Tree::object();
  outcome.set("ok", Tree::flag(fact.status == CallState::ok));
  if (fact.status == CallState::cancelled) outcome.set("status", "cancelled");
  outcome.set("result",
              fact.content.empty() && fact.status != CallState::ok ? fact.code : fact.content);
  return outcome;
}

Tree outcome_of(const event::ToolResult& event) {
  Tree outcome = Tree::object();
  outcome.set("ok", Tree::flag(!event.failed));
  const bool has_error = event.failed && event.content.empty();
  outcome.set("result", has_error ? event.error : event.content);
  return outcome;
}

// Whether a decision is that the call must not run.
bool rejects(std::string_view decision_json) {
  const auto entry = Tree::parse(decision_json);
  if (!entry) return false;
  return entry.value()["payload"]["approved"] == Tree::flag(false) ||
         entry.value()["status"].string() == "cancelled";
}

std::string_view detail_of(const event::Retry& retry) {
  return retry.message.empty() ? retry.code : retry.message;
}

}  // namespace

// --- what a record does

class JobRun::OnFact {
 public:
  OnFact(JobRun& run, std::uint32_t number) : run_(run), number_(number) {}

  void operator()(const journal::ModelRequested& fact) const;
  void operator()(const journal::ToolIntent& fact) const;
  void operator()(const journal::ToolStarted& fact) const;
  void operator()(const journal::ToolResult& fact) const;
  void operator()(const journal::ChildStarted& fact) const;
  void operator()(const journal::Terminal& fact) const;
  void operator()(const journal::ApprovalRequested& fact) const { run_.request_action(fact); }
  void operator()(const journal::ApprovalDecided& fact) const {
    if (rejects(fact.decision_json)) run_.note_rejection(fact.id);
    close_action(fact.id);
  }
  void operator()(const journal::ApprovalExpired& fact) const { close_action(fact.id); }
  template <class Other>
  void operator()(const Other& /*fact*/) const {}

 private:
  [[nodiscard]] Branch& branch() const { return run_.branch(number_); }
  void close_action(std::string_view id) const {
    std::erase_if(run_.open_actions_, [id](const Action& action) { return action.id == id; });
    if (!run_.has_model_ || !run_.open_actions_.empty()) return;
    // The calls that waited begin, beside those that have.
    Branch& root = run_.branch(0);
    if (!root.has_prepared) return run_.prepare(root);
    root.has_waited = false;
    run_.wait_for_tools(root);
  }

  JobRun& run_;
  std::uint32_t number_;
};

void JobRun::OnFact::operator()(const journal::ModelRequested& fact) const {
  Branch& branch = this->branch();
  if (number_ == 0) run_.has_model_ = true;
  std::erase_if(branch.calls, [](const auto& entry) { return entry.second.is_ended; });
  branch.requested.clear();
  branch.has_prepared = branch.has_waited = false;
  if (!std::exchange(branch.has_context, true)) run_.stage(branch, "context_ready", {});
  const std::int64_t iteration = std::max<std::int64_t>(1, fact.step);
  std::string detail = "iteration=" + std::to_string(iteration);
  if (!fact.model.empty()) detail.append(" model=").append(fact.model);
  run_.stage(branch, "waiting_model", detail);
}

void JobRun::OnFact::operator()(const journal::ToolIntent& fact) const {
  if (!is_call(fact.kind)) return;
  Branch& branch = this->branch();
  Call& call = branch.calls[std::string(fact.call)];
  call.name = fact.name;
  call.arguments = fact.args_json;
  call.kind = fact.kind;
  call.has_fact = true;
  run_.prepare(branch);
}

void JobRun::OnFact::operator()(const journal::ToolStarted& fact) const {
  Branch& branch = this->branch();
  const auto found = branch.calls.find(fact.call);
  if (found == branch.calls.end() || found->second.is_ended) return;
  run_.wait_for_tools(branch);
  // An agent's name comes with its own start.
  if (found->second.kind == CallKind::tool) run_.start(branch, fact.call, found->second);
}

void JobRun::OnFact::operator()(const journal::ToolResult& fact) const {
  Branch& branch = this->branch();
  const auto found = branch.calls.find(fact.call);
  if (found == branch.calls.end() || found->second.is_ended) return;
  run_.end(branch, fact.call, found->second, outcome_of(fact));
}

void JobRun::OnFact::operator()(const journal::ChildStarted& fact) const {
  if (fact.branch <= 0) return;
  const auto number = static_cast<std::uint32_t>(fact.branch);
  if (number == number_) return;
  Branch& caller = branch();
  Call& call = caller.calls[std::string(fact.call)];
  const bool is_first = !call.is_started && !call.is_ended;
  call.kind = CallKind::child;
  call.has_fact = true;
  Branch child;
  child.agent_call = run_.identity(caller, fact.call, call)["webchat_call_id"].string();
  child.agent = fact.agent.empty() ? std::string_view(call.name) : fact.agent;
  child.parent = caller.agent_call;
  child.depth = caller.depth + 1;
  child.path = caller.path;
  child.path.push(Tree::text(child.agent));
  if (is_first) {
    if (call.name.empty()) call.name = child.agent;
    call.is_started = true;
    Tree given = run_.identity(caller, fact.call, call);
    given.set("name", child.agent);
    given.set("arguments", call.arguments);
    run_.actions_.start_call(given, true);
  }
  Branch& made = run_.branch(number);
  if (made.agent_call.empty()) made = std::move(child);
}

void JobRun::OnFact::operator()(const journal::Terminal& fact) const {
  if (number_ == 0 || fact.status != journal::RunState::completed) return;
  const Branch& branch = this->branch();
  if (!branch.agent_call.empty()) run_.stage(branch, "done", {});
}

class JobRun::OnEvent {
 public:
  OnEvent(JobRun& run, std::uint32_t number) : run_(run), number_(number) {}

  void operator()(const event::ToolStart& event) const;
  void operator()(const event::ToolArgs& event) const;
  void operator()(const event::ToolEnd& event) const;
  void operator()(const event::ToolResult& event) const;
  void operator()(const event::ProviderState& event) const;
  void operator()(const event::ReasoningStart& event) const;
  void operator()(const event::ReasoningDelta& event) const;
  void operator()(const event::ReasoningEnd& event) const {
    if (const auto found = branch().reasoning.find(event.id); found != branch().reasoning.end()) {
      branch().reasoning.erase(found);
    }
  }
  void operator()(const event::Retry& event) const {
    run_.stage(branch(), "retrying_model", detail_of(event));
  }
  void operator()(const event::Reset& /*event*/) const { run_.void_hosted(branch()); }
  template <class Other>
  void operator()(const Other& /*event*/) const {}

 private:
  [[nodiscard]] Branch& branch() const { return run_.branch(number_); }

  JobRun& run_;
  std::uint32_t number_;
};

void JobRun::OnEvent::operator()(const event::ToolStart& event) const {
  Branch& branch = this->branch();
  Call& call = branch.calls[std::string(event.id)];
  if (call.has_fact || call.is_started) return;
  call.name = event.name;
  call.is_hosted = call.is_hosted || event.hosted;
  if (!call.is_hosted) branch.requested.emplace_back(event.name);
}

void JobRun::OnEvent::operator()(const event::ToolArgs& event) const {
  Branch& branch = this->branch();
  const auto found = branch.calls.find(event.id);
  if (found == branch.calls.end() || found->second.has_fact) return;
  Call& call = found->second;
  if (call.arguments.size() < arguments_limit) call.arguments.append(event.delta);
  const std::string shown = call.shown.feed(event.delta);
  if (shown.empty()) return;
  if (call.members.is_null()) {
    call.members.set("call_id", run_.identity(branch, event.id, call)["webchat_call_id"]);
    call.members.set("tool_call_id", event.id);
    call.members.set("name", call.name);
  }
  run_.actions_.delta("tool_arguments_delta", call.members, shown);
}

// What the provider runs itself has begun once its arguments are whole; other calls have facts.
void JobRun::OnEvent::operator()(const event::ToolEnd& event) const {
  Branch& branch = this->branch();
  const auto found = branch.calls.find(event.id);
  if (found != branch.calls.end() && found->second.is_hosted) {
    run_.start(branch, event.id, found->second);
  }
}

void JobRun::OnEvent::operator()(const event::ToolResult& event) const {
  Branch& branch = this->branch();
  const auto found = branch.calls.find(event.id);
  if (found == branch.calls.end() || found->second.has_fact || found->second.is_ended) return;
  run_.start(branch, event.id, found->second);
  run_.end(branch, event.id, found->second, outcome_of(event));
}

void JobRun::OnEvent::operator()(const event::ProviderState& event) const {
  if (event.provider == event::issuer_provider && event.kind == event::hosted_kind) {
    branch().calls[std::string(event.entity_id)].is_hosted = true;
  }
  if (event.kind == "mcp_approval_request") run_.note_vendor_call(event.json);
}

void JobRun::OnEvent::operator()(const event::ReasoningStart& event) const {
  Branch& branch = this->branch();
  Tree members = Tree::object();
  if (!branch.agent_call.empty()) members.set("call_id", branch.agent_call);
  members.set("index", Tree::integer(static_cast<std::int64_t>(run_.next_reasoning_++)));
  branch.reasoning[std::string(event.id)] = std::move(members);
}

void JobRun::OnEvent::operator()(const event::ReasoningDelta& event) const {
  Branch& branch = this->branch();
  const auto found = branch.reasoning.find(event.id);
  if (found == branch.reasoning.end()) return;
  run_.actions_.delta("reasoning_delta", found->second, event.delta);
}

void JobRun::take(std::uint32_t branch, const journal::Fact& fact) {
  std::visit(OnFact(*this, branch), fact);
}

void JobRun::take(std::uint32_t branch, const event::Event& event) {
  std::visit(OnEvent(*this, branch), event.body);
}

// --- parts of it

Tree JobRun::identity(const Branch& branch, std::string_view id, const Call& call) const {
  Tree given = Tree::object();
  std::string path = branch.agent_call;
  if (!path.empty()) path.push_back('/');
  given.set("tool_call_id", id);
  given.set("webchat_call_id", path.append(id));
  given.set("parent_webchat_call_id", branch.agent_call);
  given.set("name", call.name);
  given.set("api_name", call.name);
  given.set("depth", Tree::integer(branch.depth));
  given.set("agent_path", branch.path);
  return given;
}

void JobRun::stage(const Branch& branch, std::string_view name, std::string_view detail) {
  if (branch.agent_call.empty()) return actions_.stage(name, detail);
  Tree given = Tree::object();
  given.set("webchat_call_id", branch.agent_call);
  given.set("parent_webchat_call_id", branch.parent);
  given.set("agent_name", branch.agent);
  given.set("stage", name);
  given.set("detail", detail);
  actions_.agent_stage(given);
}

void JobRun::prepare(Branch& branch) {
  if (std::exchange(branch.has_prepared, true)) return;
  const std::size_t count = std::max<std::size_t>(1, branch.requested.size());
  stage(branch, "preparing_tools", std::to_string(count));
}

void JobRun::wait_for_tools(Branch& branch) {
  if (std::exchange(branch.has_waited, true)) return;
  std::vector<std::string> names = branch.requested;
  if (names.empty()) {
    for (const auto& [id, call] : branch.calls) {
      if (call.has_fact && !call.is_ended) names.push_back(call.name);
    }
  }
  stage(branch, "waiting_tools", joined(names));
}

void JobRun::start(Branch& branch, std::string_view id, Call& call) {
  if (std::exchange(call.is_started, true)) return;
  Tree given = identity(branch, id, call);
  given.set("arguments", call.arguments);
  actions_.start_call(given, call.kind == CallKind::child);
}

void JobRun::end(Branch& branch, std::string_view id, Call& call, const Tree& outcome) {
  // Also of one that was denied or could not begin, readers see both.
  start(branch, id, call);
  call.is_ended = true;
  Tree given = identity(branch, id, call);
  for (const auto& [key, value] : outcome.members()) given.set(key, value);
  if (rejected_.erase(std::string(id)) > 0) given.set("rejected", Tree::flag(true));
  // The start has the agent's name, which may differ from the tool's.
  if (call.kind == CallKind::child) given.erase("name");
  call.arguments.clear();
  call.shown = {};
  call.members = {};
  actions_.end_call(given, call.kind == CallKind::child);
}

// The provider's calls come again with the answer that was taken back.
void JobRun::void_hosted(Branch& branch) {
  Tree outcome = Tree::object();
  outcome.set("ok", Tree::flag(false));
  outcome.set("result", "interrupted");
  for (auto& [id, call] : branch.calls) {
    if (call.is_hosted && call.is_started && !call.is_ended) end(branch, id, call, outcome);
  }
  std::erase_if(branch.calls, [](const auto& entry) { return !entry.second.has_fact; });
  branch.requested.clear();
  branch.reasoning.clear();
}

}  // namespace millrace::chat
