#include "recovery/store_side.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "journal/recovery.hpp"
#include "run/durable/claimed_run.hpp"
#include "store/rules.hpp"

namespace millrace::recovery {
namespace {

using journal::CallMove;
using journal::RecoveryMove;
using store::RunId;

constexpr std::array agent_names{"first", "second"};

std::string process_name(int process) {
  return process < 0 ? std::string() : "p" + std::to_string(process);
}

std::string_view name_of(RecoveryMove move) {
  switch (move) {
    case RecoveryMove::begin_step: return "begin_step";
    case RecoveryMove::join_response: return "join_response";
    case RecoveryMove::ask_again: return "ask_again";
    case RecoveryMove::fail: return "fail";
    case RecoveryMove::wait: return "wait";
    case RecoveryMove::sleep: return "sleep";
    case RecoveryMove::enter_job: return "enter_job";
    case RecoveryMove::finish_stop: return "finish_stop";
    case RecoveryMove::deliver: return "deliver";
    case RecoveryMove::bury: return "bury";
  }
  return "?";
}

std::string_view name_of(CallMove move) {
  switch (move) {
    case CallMove::answer: return "answer";
    case CallMove::start: return "start";
    case CallMove::repeat: return "repeat";
    case CallMove::ask_unknown: return "ask_unknown";
    case CallMove::wait: return "wait";
    case CallMove::take_answer: return "take_answer";
    case CallMove::follow_child: return "follow_child";
    case CallMove::wake: return "wake";
    case CallMove::cancel: return "cancel";
    case CallMove::leave_unknown: return "leave_unknown";
  }
  return "?";
}

std::string text_of(const journal::RecoveryPlan& plan) {
  std::string text(name_of(plan.move));
  if (plan.move == RecoveryMove::join_response) {
    return text + " behind " + std::to_string(plan.upstream_seq);
  }
  if (plan.move == RecoveryMove::ask_again || plan.move == RecoveryMove::fail) {
    return text + ' ' + std::to_string(plan.attempt) + (plan.needs_reset ? " behind a reset" : "");
  }
  if (plan.wake_at_ms != 0) text += " at " + std::to_string(plan.wake_at_ms);
  for (const journal::CallRecovery& call : plan.calls) {
    text += ' ' + call.call + ':' + std::string(name_of(call.move));
  }
  return text;
}

}  // namespace

std::string StoreSide::apply(const Model& before, const Action& action) {
  switch (action.op) {
    case Op::accept: return accept(action);
    case Op::claim: return claim(action);
    case Op::crash:
    case Op::deploy: {
      const auto how = action.op == Op::crash ? store::Release::lost : store::Release::clean;
      const auto released = backend_->release(process_name(action.process), how);
      return released ? "released" : released.error().message;
    }
    case Op::pass_time: clock_ += action.number; return std::to_string(backend_->now());
    case Op::set_clock_back: clock_ -= action.number; return std::to_string(backend_->now());
    case Op::sweep: return sweep(before);
    case Op::decide: return decide(before, action);
    default: return append(before, action);
  }
}

std::string StoreSide::accept(const Action& action) {
  store::NewRun made;
  made.id = id_of(action.run, 0);
  made.kind = action.number == 1 ? "job" : "agent";
  made.name = agent_names.at(action.names);
  made.principal = "ada";
  made.owner = action.flag ? process_name(action.process) : std::string();
  store::AppendBatch batch;
  batch.run = made.id;
  batch.epoch = 1;
  batch.is_urgent = true;
  batch.accept = std::move(made);
  note(0, journal::Accepted{});
  batch.page = page_.take();
  return backend_->append({&batch, 1}).front().status == store::AppendStatus::committed
             ? "committed"
             : "failed";
}

std::string StoreSide::claim(const Action& action) {
  std::vector<std::string> names;
  for (unsigned name = 0; name < agent_names.size(); ++name) {
    if ((action.names >> name & 1U) != 0) names.emplace_back(agent_names.at(name));
  }
  auto claims = backend_->claim(names, process_name(action.process), 100);
  if (!claims) return claims.error().message;
  std::string text;
  for (store::Claim& claim : claims.value()) {
    const auto loaded = run::load_claimed(*backend_, claim, nullptr);
    if (!loaded) return loaded.error().message;
    const run::StoredRun& stored = *loaded.value();
    const journal::FoldedBranch& root = stored.fold.branches().at(0);
    const auto plan = journal::plan_recovery(root, {clock_, root.recoveries, claim.downtime_ms});
    text += "run " + std::to_string(claim.run.run.id.bytes()[0] - 1) + " " + claim.cause +
            " epoch=" + std::to_string(claim.run.epoch) +
            " down=" + std::to_string(claim.downtime_ms) + " [" + text_of(plan) + "]";
    for (const auto& [branch, child] : stored.children) {
      if (!child.recorded.is_over) text += " [" + text_of(child.plan) + "]";
    }
    text += "\n";
  }
  return text;
}

std::string StoreSide::sweep(const Model& before) {
  store::SweepPolicy policy;
  policy.compact_ms = policy.events_ms = policy.blobs_ms = std::nullopt;
  std::set<std::string> open;
  const auto rows = backend_->approvals({std::nullopt, std::nullopt, true});
  for (const store::ApprovalRow& row : rows.value()) open.insert(row.id);
  if (const auto swept = backend_->sweep(policy); !swept) return swept.error().message;
  const auto left = backend_->approvals({std::nullopt, std::nullopt, true});
  for (const store::ApprovalRow& row : left.value()) open.erase(row.id);
  std::string text = "expired";
  for (const Run& run : before.runs()) {
    for (const Question& question : run.questions) {
      if (open.contains(question.id)) text += " " + question.id;
    }
  }
  return text;
}

std::string StoreSide::decide(const Model& before, const Action& action) {
  constexpr std::array words{"decided", "answered", "expired", "mismatch", "not_found"};
  store::Decision decision;
  decision.approval = before.runs()[action.run].questions[action.question].id;
  decision.principal = action.is_other_user ? "eve" : "ada";
  decision.args_hash = action.flag ? "others" : "arguments";
  decision.decision = R"({"approved":true})";
  decision.by = decision.principal;
  const auto outcome = backend_->decide(decision);
  return outcome ? words.at(static_cast<std::size_t>(outcome.value().status))
                 : outcome.error().message;
}

std::string StoreSide::row(const Model& model, std::size_t at) {
  const RunId id = id_of(at, 0);
  const auto row = backend_->run(id);
  if (!row || !row.value()) return "missing";
  const std::string& owner = row.value()->run.owner;
  std::string text(journal::name_of(row.value()->state));
  text += " owner=" + (owner.empty() ? "-1" : owner.substr(1)) +
          " epoch=" + std::to_string(row.value()->epoch) +
          " recoveries=" + std::to_string(row.value()->recoveries) +
          (row.value()->stop ? " stop" : "");
  for (std::size_t branch = 0; branch < model.runs()[at].branches.size(); ++branch) {
    const auto ledger = backend_->calls(id_of(at, branch));
    if (!ledger) return ledger.error().message;
    std::set<std::string> calls;
    for (const store::CallRow& call : ledger.value()) {
      calls.insert(" " + call.call + "=" + std::string(journal::name_of(call.state)) + "/" +
                   std::to_string(call.tries));
    }
    text += " |";
    for (const std::string& call : calls) text += call;
  }
  text += " ?";
  for (const Question& question : model.runs()[at].questions) {
    const auto rows = backend_->approvals({std::nullopt, std::nullopt, false, question.id});
    if (!rows || rows.value().empty()) return "missing approval " + question.id;
    const store::ApprovalRow& found = rows.value().front();
    const char* const state = found.decided ? "decided" : found.has_expired ? "expired" : "open";
    text += " " + question.id + "=" + state;
  }
  return text;
}

std::optional<std::int64_t> StoreSide::next_due() {
  const auto due = backend_->next_due();
  return due ? due.value() : std::optional<std::int64_t>(-1);
}

std::string StoreSide::check() {
  const auto problems = backend_->check();
  if (!problems) return problems.error().message;
  return problems.value().empty() ? std::string() : problems.value().front().what;
}

}  // namespace millrace::recovery
