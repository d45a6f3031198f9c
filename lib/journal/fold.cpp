#include "journal/fold.hpp"

#include <algorithm>
#include <variant>

#include "journal/ledger.hpp"

namespace millrace::journal {
namespace {

// Job steps and sleeps have names and occurrences where calls of tools have ids.
std::string step_call(std::string_view name, std::int64_t occurrence) {
  return std::string(name) + '#' + std::to_string(occurrence);
}

template <class... Kinds>
bool is_any(const Fact& fact) {
  return (std::holds_alternative<Kinds>(fact) || ...);
}

// Whether the ledger and the record itself have what the fact changes in the state of a run.
bool is_of_calls(const Fact& fact) {
  return is_any<ToolIntent, ToolStarted, ToolResult, StepStarted, Claimed, Gap, MessageSent,
                Checkpoint>(fact);
}
// Whether it is of a model call, which is made again where the next checkpoint is not there.
bool is_of_model(const Fact& fact) {
  return is_any<ModelRequested, ModelOpened, ModelProgress, ModelCompleted>(fact);
}

void note_kind(FoldedBranch& branch, const Fact& fact) {
  if (is_of_calls(fact)) return;
  branch.has_only_calls = false;
  if (!is_of_model(fact)) branch.rebuilt_from = branch.checkpoint;
}

}  // namespace

FoldedCall* FoldedBranch::find_call(std::string_view call) {
  const auto found = std::find_if(calls.begin(), calls.end(),
                                  [&](const FoldedCall& entry) { return entry.call == call; });
  return found == calls.end() ? nullptr : &*found;
}

const FoldedApproval* FoldedBranch::open_approval_of(std::string_view call) const {
  const auto found =
      std::find_if(approvals.begin(), approvals.end(), [&](const FoldedApproval& entry) {
        return entry.call == call && !entry.is_decided && !entry.has_expired;
      });
  return found == approvals.end() ? nullptr : &*found;
}

// What each kind of fact changes in its branch.
struct RunFold::FactFold {
  RunFold& run;
  FoldedBranch& branch;
  std::uint64_t seq;

  FoldedCall& call(std::string_view name) const {
    if (FoldedCall* found = branch.find_call(name)) return *found;
    FoldedCall& made = branch.calls.emplace_back();
    made.call = name;
    return made;
  }
  // A journal of a newer release may know more moves: what is not allowed changes nothing.
  static void move(FoldedCall& call, CallState state) {
    if (may_become(call.state, state)) call.state = state;
  }
  // Once for each request, however often its run is let go of before the next one.
  static void let_go(FoldedModel& model) {
    if (model.attempt == 0 || model.is_let_go) return;
    --model.attempt;
    model.is_let_go = true;
  }
  FoldedApproval* approval(std::string_view id) const {
    const auto found = std::find_if(branch.approvals.begin(), branch.approvals.end(),
                                    [&](const FoldedApproval& entry) { return entry.id == id; });
    return found == branch.approvals.end() ? nullptr : &*found;
  }

  void operator()(const Accepted& /*fact*/) const { branch.state = RunState::queued; }
  void operator()(const Segment& /*fact*/) const {}
  void operator()(const Claimed& fact) const {
    run.epoch_ = fact.epoch;
    ++run.claims_;
    // A process that lets go of a run in good order has done it no harm.
    if (fact.cause == "recovered") ++branch.recoveries;
    if (fact.cause == "released") {
      for (auto& [number, other] : run.branches_) let_go(other.model);
    }
    if (!is_over(branch.state)) branch.state = RunState::running;
  }
  void operator()(const StepStarted& fact) const {
    branch.state = RunState::running;
    if (fact.step != branch.step) branch.model = {};
    branch.step = fact.step;
  }
  void operator()(const ModelRequested& fact) const {
    branch.state = RunState::running;
    branch.step = fact.step;
    branch.model = {};
    branch.model.phase = FoldedModel::Phase::requested;
    branch.model.attempt = fact.attempt;
  }
  void operator()(const ModelOpened& fact) const {
    branch.model.phase = FoldedModel::Phase::opened;
    branch.model.response_id = fact.response_id;
    branch.model.background = fact.background;
    branch.model.upstream_seq = 0;
    branch.model.records.clear();
  }
  void operator()(const ModelProgress& fact) const {
    branch.model.upstream_seq = fact.upstream_seq;
    branch.model.records += fact.records;
    // What comes along is not given up, and nothing of it is generated twice.
    branch.recoveries = 0;
    run.branches_[0].recoveries = 0;
  }
  void operator()(const ModelCompleted& /*fact*/) const {
    branch.model.phase = FoldedModel::Phase::completed;
  }
  void operator()(const ToolIntent& fact) const {
    FoldedCall& entry = call(fact.call);
    entry.name = fact.name;
    entry.effect = fact.effect;
    entry.kind = fact.kind;
  }
  void operator()(const ToolStarted& fact) const {
    FoldedCall& entry = call(fact.call);
    move(entry, CallState::started);
    entry.tries = fact.attempt;
  }
  void operator()(const ToolResult& fact) const { move(call(fact.call), fact.status); }
  void operator()(const ApprovalRequested& fact) const {
    // A run that waits again for the rest of its answers requests what is open once more.
    if (approval(fact.id) == nullptr) {
      FoldedApproval& entry = branch.approvals.emplace_back();
      entry.id = fact.id;
      entry.call = fact.call;
      entry.expires_ms = fact.expires_ms;
    }
    move(call(fact.call), CallState::waiting);
    branch.state = RunState::waiting;
  }
  void operator()(const ApprovalExpired& fact) const {
    if (FoldedApproval* entry = approval(fact.id)) entry->has_expired = true;
  }
  void operator()(const ApprovalDecided& fact) const {
    if (FoldedApproval* entry = approval(fact.id)) entry->is_decided = true;
  }
  void operator()(const ChildStarted& fact) const {
    FoldedCall& entry = call(fact.call);
    entry.kind = CallKind::child;
    entry.child = fact.run;
    move(entry, CallState::started);
  }
  // What its call came to is the result that is recorded with it.
  void operator()(const ChildEnded& fact) const {
    FoldedCall& entry = call(fact.call);
    entry.kind = CallKind::child;
    entry.child = fact.run;
  }
  void operator()(const JobStep& fact) const {
    branch.is_job = true;
    FoldedCall& entry = call(step_call(fact.name, fact.occurrence));
    entry.name = fact.name;
    entry.kind = CallKind::step;
    move(entry, fact.state);
    // A job that comes along is not given up.
    if (is_over(fact.state)) branch.recoveries = 0;
  }
  void operator()(const Slept& fact) const {
    branch.is_job = true;
    FoldedCall& entry = call(step_call(fact.name, fact.occurrence));
    entry.name = fact.name;
    entry.kind = CallKind::sleep;
    entry.until_ms = fact.until_ms;
    move(entry, CallState::started);
    branch.state = RunState::sleeping;
  }
  void operator()(const Checkpoint& fact) const {
    branch.step = fact.step;
    const bool is_rebuilt = branch.has_only_calls && fact.number == branch.checkpoint + 1;
    if (!is_rebuilt) branch.rebuilt_from = fact.number;
    branch.has_only_calls = true;
    branch.checkpoint = fact.number;
    branch.checkpoint_seq = seq;
    // An agent that comes along does so for all that wait for it.
    if (fact.step != branch.checkpoint_step) {
      branch.recoveries = 0;
      run.branches_[0].recoveries = 0;
    }
    branch.checkpoint_step = fact.step;
    branch.model = {};
  }
  void operator()(const Compressed& /*fact*/) const {}
  void operator()(const LimitReached& /*fact*/) const {}
  void operator()(const Parked& fact) const {
    branch.state = RunState::parked;
    branch.parked = fact.reason;
  }
  void operator()(const Gap& /*fact*/) const {}
  void operator()(const StopRequested& /*fact*/) const { branch.stop_requested = true; }
  void operator()(const MessageSent& /*fact*/) const {}
  void operator()(const Terminal& fact) const { branch.state = fact.status; }
  void operator()(const UnknownFact& /*fact*/) const {}
};

void RunFold::add(const Record& record) {
  last_ = record.seq;
  FoldedBranch& branch = branches_[record.branch];
  branch.number = record.branch;
  if (const auto* fact = std::get_if<Fact>(&record.body)) {
    note_kind(branch, *fact);
    std::visit(FactFold{*this, branch, record.seq}, *fact);
    return;
  }
  if (branch.model.phase == FoldedModel::Phase::requested ||
      branch.model.phase == FoldedModel::Phase::opened) {
    branch.model.was_shown = true;
  }
}

}  // namespace millrace::journal
