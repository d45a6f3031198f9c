// What the user answers to the runs of agents.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/shown.hpp"
#include "os/event_loop.hpp"
#include "os/timer.hpp"
#include "run/durable/answered_before.hpp"
#include "run/durable/consent.hpp"
#include "run/durable/run_records.hpp"
#include "run/durable/run_registry.hpp"
#include "run/durable/unknown_outcomes.hpp"
#include "run/suspended_runs.hpp"
#include "store/checkpoint_chain.hpp"
#include "store/rules.hpp"
#include "store/store_work.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

Error not_waiting() {
  return make_error(Errc::approval_answered, "The run does not wait for an answer.");
}

Error still_at_work() {
  return make_error(Errc::run_conflict,
                    "The run is at work on what was answered before; answer it again once it "
                    "waits.");
}

// One that is parked does not come to wait by itself.
bool is_at_work(const store::RunRow& row) {
  return row.state == RunState::running || row.state == RunState::queued;
}

constexpr int most_looks = 600;
constexpr std::chrono::milliseconds between_looks{50};

// The hashes of the tools of now, by the approvals that are about them.
using ToolsNow = std::map<std::string, std::string>;

// Those that are as the user saw them, which the store compares. Consent to others is marked in the
// answers of the input: it has the user asked anew.
ToolsNow tools_seen(AgentInput& input, const std::vector<store::ApprovalRow>& open,
                    const AgentPlan& plan, const Tree& state) {
  auto resume = resume_entries(input.resume_json);
  if (resume && mark_superseded(resume.value(), open, state, plan)) {
    input.resume_json = resume.value().to_json();
  }
  ToolsNow tools;
  for (const store::ApprovalRow& row : open) {
    if (row.kind != journal::ApprovalKind::approval) continue;
    std::string now = tools_requested(state, plan, row.call);
    if (now == row.tools_hash) tools[row.id] = std::move(now);
  }
  return tools;
}

// The decisions of a resume list, each about an approval of the run.
std::vector<store::Decision> decisions_of(const Tree& resume, const store::RunId& run,
                                          const std::string& principal, const ToolsNow& tools) {
  std::vector<store::Decision> decisions;
  std::set<std::string> known;
  for (const Tree& entry : resume.items()) {
    store::Decision decision;
    decision.approval = entry["interruptId"].string();
    decision.principal = principal;
    decision.decision = entry.to_json();
    decision.by = principal;
    decision.run = run;
    const auto now = tools.find(decision.approval);
    if (now != tools.end() && !declines(entry)) decision.tools_hash = now->second;
    if (known.insert(decision.decision).second) decisions.push_back(std::move(decision));
  }
  return decisions;
}

// Answers to no open interrupt are unmatched beside others: the run warns of them. True where some
// were left out, and nothing was decided for them.
bool leave_out_unknown(std::vector<store::Decision>& decisions,
                       const std::vector<store::DecisionOutcome>& outcomes) {
  std::vector<store::Decision> known;
  for (std::size_t at = 0; at < decisions.size(); ++at) {
    const bool is_known = outcomes[at].status != store::DecisionStatus::not_found;
    if (is_known) known.push_back(decisions[at]);
  }
  if (known.empty() || known.size() == decisions.size()) return false;
  decisions = std::move(known);
  return true;
}

Error undecided(store::StorageBackend& backend, const store::Decision& decision,
                store::DecisionStatus status) {
  if (status == store::DecisionStatus::mismatch) return other_tools();
  if (status != store::DecisionStatus::not_found) {
    const auto rows = backend.approvals({std::nullopt, std::nullopt, false, decision.approval});
    return rows && !rows.value().empty() ? answered_before(rows.value().front()) : not_waiting();
  }
  return make_error(Errc::approval_mismatch,
                    "No interrupt " + shown_text(decision.approval) + " is pending in this run.");
}

// Decides what the entries answer, all or none, and takes the run over.
Result<std::shared_ptr<StoredRun>> take_answered(store::StorageBackend& backend,
                                                 const store::RunId& run,
                                                 const std::string& principal,
                                                 const std::string& resume_json,
                                                 const ToolsNow& tools, const std::string& owner,
                                                 const OnStranded& on_stranded) {
  const auto resume = resume_entries(resume_json);
  if (!resume) return resume.error();
  auto decisions = decisions_of(resume.value(), run, principal, tools);
  // The state that the answers were checked against is that of a run that waits.
  const auto row = backend.run(run);
  if (!row) return row.error();
  if (row.value() && is_at_work(*row.value())) return still_at_work();
  auto outcomes = backend.decide(decisions);
  if (!outcomes) return outcomes.error();
  if (leave_out_unknown(decisions, outcomes.value())) {
    outcomes = backend.decide(decisions);
    if (!outcomes) return outcomes.error();
  }
  for (std::size_t at = 0; at < decisions.size(); ++at) {
    const store::DecisionStatus status = outcomes.value()[at].status;
    if (status != store::DecisionStatus::decided) return undecided(backend, decisions[at], status);
  }
  auto claim = backend.claim_run(run, owner);
  if (!claim) return claim.error();
  if (!claim.value()) return not_waiting();
  return load_claimed(backend, std::move(*claim.value()), on_stranded);
}

// The state of a run that waits. Where it does not ask anything, another checkpoint may be missing,
// which the journal has the number of.
Result<StoredState> load_asking(store::StorageBackend& backend, const store::RunId& run) {
  auto state = load_state(backend, run);
  if (!state) return state;
  const std::string_view status = state.value().checkpoint["state"]["status"].string();
  if (status.starts_with("waiting_for_")) return state;
  journal::RunFold fold;
  MILLRACE_TRY(each_record(backend, run, [&](const journal::Record& record) {
    fold.add(record);
    return true;
  }));
  const auto root = fold.branches().find(0);
  const std::int64_t last = root == fold.branches().end() ? -1 : root->second.checkpoint;
  if (state.value().next_number <= last) return store::missing_checkpoint(run, last);
  return state;
}

// A segment of the thread that readers know by the id of this one: the answer could not become
// another one, and nothing may be decided by it.
std::optional<Error> id_in_use(store::StorageBackend& backend, const store::RunId& run,
                               const std::string& principal, const std::string& ag_ui_run) {
  const auto row = backend.run(run);
  const auto segments = backend.segments(principal, ag_ui_run);
  if (!row || !segments || !row.value()) return std::nullopt;
  const auto& rows = segments.value();
  const bool is_used = std::any_of(rows.begin(), rows.end(), [&](const store::SegmentRow& one) {
    return one.thread == row.value()->run.thread;
  });
  if (!is_used) return std::nullopt;
  return make_error(Errc::run_conflict, "The thread has a run '" + shown_text(ag_ui_run) +
                                            "' already; send the answer with another `runId`.");
}

}  // namespace

// Checked against the state that waits before anything is decided: what is wrong with an answer
// leaves the run as it was.
void RunRegistry::answer(const store::RunId& run, std::string principal, AgentInput input,
                         Done<StartedRun> done) {
  look(std::make_shared<Answering>(
      Answering{run, std::move(principal), std::move(input), std::move(done)}));
}

void RunRegistry::look(const std::shared_ptr<Answering>& answering) {
  const os::LoopHandle loop = services_.loop.handle();
  writer_->run([weak = weak_from_this(), loop, answering](store::StorageBackend& backend) {
    const auto row =
        std::make_shared<Result<std::optional<store::RunRow>>>(backend.run(answering->run));
    const auto state = std::make_shared<Result<StoredState>>(load_asking(backend, answering->run));
    store::ApprovalQuery open;
    open.run = answering->run;
    answering->over.reset();
    if (auto approvals = backend.approvals(open)) {
      answering->open = approvals.value();
      answering->outcomes = std::move(approvals).value();
      std::erase_if(answering->outcomes,
                    [](const store::ApprovalRow& row) { return !is_about_outcome(row); });
    }
    if (const auto resume = resume_entries(answering->input.resume_json); resume && *row) {
      const std::string& thread = row->value() ? row->value()->run.thread : std::string();
      auto over = find_answered(backend, resume.value(), answering->principal, thread);
      if (over) answering->over = std::move(over).value();
    }
    loop.post([weak, answering, row, state] {
      if (const auto self = weak.lock()) self->check_answer(answering, *row, *state);
    });
  });
}

// Each answer to a run takes effect at once: it may be at work on the one before.
void RunRegistry::look_again(const std::shared_ptr<Answering>& answering, const Error& error) {
  if (answering->looks >= most_looks) return answering->done(error);
  ++answering->looks;
  looking_.insert(answering);
  answering->next_look = std::make_unique<os::Timer>(
      services_.loop, [weak = weak_from_this(), held = std::weak_ptr(answering)] {
        const auto self = weak.lock();
        const auto answering = held.lock();
        if (!self || !answering) return;
        self->looking_.erase(answering);
        self->look(answering);
      });
  answering->next_look->start_at(os::Timer::Clock::now() + between_looks);
}

// Whether one of the answers is to a question that is open.
bool RunRegistry::answers_open(const Answering& answering) {
  const auto resume = resume_entries(answering.input.resume_json);
  if (!resume) return false;
  const auto& entries = resume.value().items();
  return std::any_of(entries.begin(), entries.end(), [&](const Tree& entry) {
    const std::string_view id = entry["interruptId"].string();
    return std::any_of(answering.open.begin(), answering.open.end(),
                       [&](const store::ApprovalRow& row) { return row.id == id; });
  });
}

void RunRegistry::check_answer(const std::shared_ptr<Answering>& answering,
                               const Result<std::optional<store::RunRow>>& row,
                               const Result<StoredState>& state) {
  if (!row) return answering->done(row.error());
  if (!row.value() || row.value()->run.principal != answering->principal) {
    return answering->done(store::no_run(answering->run));
  }
  const auto agent = agents_.find(row.value()->run.name);
  if (agent == agents_.end()) return answer_elsewhere(answering, row.value()->run.name);
  const auto over = [&](const Error& error) { return answering->over.value_or(error); };
  if (is_at_work(*row.value()) && !answering->over && answers_open(*answering)) {
    return look_again(answering, still_at_work());
  }
  if (!state) return answering->done(unanswerable(state.error()));
  if (row.value()->state != RunState::waiting) return answering->done(over(not_waiting()));
  const AgentPlan& plan = *agent->second.plan;
  answering->tools =
      tools_seen(answering->input, answering->open, plan, state.value().checkpoint["state"]);
  auto fits = check_entries(*answering, plan, state.value());
  if (!fits) {
    const bool is_unknown = fits.error().code == Errc::approval_mismatch;
    return answering->done(is_unknown ? over(fits.error()) : fits.error());
  }
  decide(answering);
}

Result<void> RunRegistry::check_entries(const Answering& answering, const AgentPlan& plan,
                                        const StoredState& state) const {
  if (!answering.outcomes.empty()) {
    return check_outcome_answers(answering.outcomes, answering.input.resume_json);
  }
  auto task = saved_task(state.checkpoint["state"], state.checkpoint["context"], answering.input,
                         plan, services_.now_ms(), services_.call.ids);
  return task ? Result<void>() : Result<void>(std::move(task).error());
}

void RunRegistry::decide(const std::shared_ptr<Answering>& answering) {
  const os::LoopHandle loop = services_.loop.handle();
  writer_->run([weak = weak_from_this(), loop, answering = std::shared_ptr(answering),
                owner = owner_,
                on_stranded = on_stranded()](store::StorageBackend& backend) mutable {
    auto used = id_in_use(backend, answering->run, answering->principal, answering->input.run_id);
    if (used) {
      return loop.post(
          [answering = std::move(answering), error = std::move(*used)] { answering->done(error); });
    }
    const auto stored = std::make_shared<Result<std::shared_ptr<StoredRun>>>(
        take_answered(backend, answering->run, answering->principal, answering->input.resume_json,
                      answering->tools, owner, on_stranded));
    loop.post([weak, answering = std::move(answering), stored] {
      const auto self = weak.lock();
      if (!self) return;
      if (!*stored && stored->error().code == Errc::run_conflict) {
        return self->look_again(answering, stored->error());
      }
      if (!*stored) {
        // What was decided before the failure lets the run go on all the same.
        self->recover();
        return answering->done(unanswerable(stored->error()));
      }
      self->go_on(stored->value(), &answering->input, answering->done);
    });
  });
}

}  // namespace millrace::run
