// What a random step is about, by where the runs stand.
#include <algorithm>
#include <array>

#include "recovery/model.hpp"

namespace millrace::recovery {
namespace {

bool is_over(const Run& run) {
  return run.state >= State::completed;
}
bool is_settled(const Call& call) {
  return call.state >= CallState::ok && call.state != CallState::unknown;
}
bool has_open(const Run& run, const Call& call) {
  return std::any_of(run.questions.begin(), run.questions.end(), [&](const Question& question) {
    return question.call == call.id && !question.is_decided && !question.has_expired;
  });
}
bool has_question(const Run& run, const Call& call) {
  return std::any_of(run.questions.begin(), run.questions.end(),
                     [&](const Question& question) { return question.call == call.id; });
}

// By the state of a call and its effect; what no process would do is not tried.
bool may_start(const Run& run, const Call& call) {
  if (call.kind != Kind::tool) return false;
  if (call.state == CallState::waiting) return has_question(run, call) && !has_open(run, call);
  if (call.state == CallState::started) return call.effect != Effect::once;
  return call.state == CallState::intent || call.state == CallState::unknown;
}
bool may_ask(const Run& run, const Call& call) {
  if (call.kind != Kind::tool || has_open(run, call)) return false;
  return call.state == CallState::intent || call.state == CallState::unknown ||
         call.state == CallState::waiting;
}

}  // namespace

bool Model::resolve_store(const Step& step, Action& action) const {
  constexpr std::array<std::int64_t, 6> times{1, 40, 1'000, 7'000, 300'000, 600'000};
  action.process = static_cast<int>(step.pick % processes);
  switch (step.op) {
    case Op::accept:
      action.run = runs_.size();
      action.flag = step.more % 3 != 0;  // at work at once
      action.names = step.pick / processes % names;
      action.number = step.more % 4 == 0 ? 1 : 0;  // a job
      return runs_.size() < most_runs;
    case Op::claim:
      action.names = step.more % 8 == 0 ? 1U << step.more / 8 % names : (1U << names) - 1;
      return !runs_.empty();
    case Op::crash:
    case Op::deploy:
    case Op::sweep: return !runs_.empty();
    case Op::pass_time: {
      // Often to the very millisecond at which something is due.
      const std::int64_t due = next_due().value_or(0);
      const bool is_exact = step.more % 3 == 0 && due > now_;
      action.number = is_exact ? due - now_ : times.at(step.pick % times.size());
      return true;
    }
    case Op::set_clock_back: action.number = 1 + step.pick % 3'600; return step.more % 4 == 0;
    case Op::decide: break;
    default: return false;
  }
  if (runs_.empty()) return false;
  action.run = step.run % runs_.size();
  const auto& questions = runs_[action.run].questions;
  if (questions.empty()) return false;
  action.question = step.pick % questions.size();
  action.is_other_user = step.more % 16 == 1;
  action.flag = step.more % 16 == 2;  // about other arguments than those that were shown
  return true;
}

bool Model::resolve_model(const Step& step, const Run& run, Action& action) const {
  const Branch& branch = run.branches[action.branch];
  const bool is_cut_or_open =
      branch.model == Branch::Model::requested || branch.model == Branch::Model::opened;
  switch (step.op) {
    case Op::request:
      action.flag = !is_cut_or_open;
      action.number = is_cut_or_open ? branch.cuts + 1 : 1;
      if (action.number > 3 || (run.is_job && action.branch == 0)) return false;
      return is_cut_or_open || std::all_of(branch.calls.begin(), branch.calls.end(), is_settled);
    case Op::open:
      action.flag = step.pick % 2 == 0;
      return branch.model == Branch::Model::requested;
    case Op::progress:
      action.number = branch.upstream + 1 + step.pick % 5;
      return branch.model == Branch::Model::opened && branch.is_background;
    case Op::show: return is_cut_or_open;
    case Op::complete:
      action.flag = step.more % 4 != 0;  // with its checkpoint
      action.number = branch.saved + 1;
      for (unsigned call = 0; call < step.pick % 4; ++call) {
        action.calls.push_back(static_cast<Effect>((step.more >> (2 * call)) % 4));
      }
      return is_cut_or_open;
    case Op::save: action.number = branch.saved + 1; return !is_cut_or_open;
    default: return false;
  }
}

bool Model::resolve_call(const Step& step, const Run& run, Action& action) const {
  const auto& calls = run.branches[action.branch].calls;
  if (calls.empty()) return false;
  constexpr std::array ends{CallState::ok,     CallState::ok,        CallState::error,
                            CallState::denied, CallState::cancelled, CallState::unknown};
  action.call = step.pick % calls.size();
  const Call& call = calls[action.call];
  action.number = call.tries + 1;
  action.to = ends.at(step.more / 8 % ends.size());
  switch (step.op) {
    case Op::start: return may_start(run, call);
    case Op::finish:
      // A second result is tried, too, and is to be rejected.
      return call.kind == Kind::tool && call.state != action.to &&
             (!is_settled(call) || step.more % 4 == 0);
    case Op::ask:
      action.number = step.more % 2 == 0 ? 0 : now_ + 1 + step.more % 5'000;
      return action.branch == 0 && may_ask(run, call);
    case Op::call_agent:
      return action.branch == 0 && call.kind == Kind::tool && call.state == CallState::intent &&
             run.branches.size() < 3;
    default: return false;
  }
}

bool Model::resolve_rest(const Step& step, const Run& run, Action& action) const {
  const auto& calls = run.branches[action.branch].calls;
  switch (step.op) {
    case Op::rest: return !run.questions.empty();
    case Op::job_step: {
      action.branch = 0;
      action.call = calls.size();
      action.to = CallState::started;
      const bool begins = calls.empty() || step.more % 2 == 0;
      if (begins) return run.is_job && action.call < 12;
      action.call = step.pick % calls.size();
      action.to = step.more % 4 == 1 ? CallState::error : CallState::ok;
      const Call& call = calls[action.call];
      return run.is_job && call.kind == Kind::step && call.state == CallState::started;
    }
    case Op::sleep:
      action.branch = 0;
      action.call = calls.size();
      action.number = clock_ + 1 + step.more % 20'000;
      return run.is_job && action.call < 12;
    case Op::doze: {
      for (const Call& call : calls) {
        if (call.kind != Kind::sleep || call.until <= clock_) continue;
        action.number = action.number == 0 ? call.until : std::min(action.number, call.until);
      }
      return run.is_job && action.number != 0;
    }
    case Op::end_agent: return action.branch != 0;
    case Op::park:
    case Op::stop: return step.more % 4 == 0;
    case Op::end:
      action.end = static_cast<State>(static_cast<unsigned>(State::completed) + step.pick % 4);
      return step.more % 4 == 0;
    default: return false;
  }
}

std::optional<Action> Model::resolve(const Step& step) const {
  Action action;
  action.op = step.op;
  if (step.op <= Op::decide) {
    return resolve_store(step, action) ? std::optional(action) : std::nullopt;
  }
  if (runs_.empty()) return std::nullopt;
  action.run = step.run % runs_.size();
  const Run& run = runs_[action.run];
  // Who has lost a run, or never had it, changes nothing; that is tried now and then.
  const bool is_at_work = run.owner >= 0 && !is_over(run);
  if (!is_at_work && step.more % 16 != 3) return std::nullopt;
  action.epoch = run.epoch - (step.more % 32 == 7 ? 1 : 0);
  action.branch = step.more / 32 % run.branches.size();
  if (run.branches[action.branch].is_over || run.is_job) action.branch = 0;
  const bool can = step.op <= Op::save         ? resolve_model(step, run, action)
                   : step.op <= Op::ask        ? resolve_call(step, run, action)
                   : step.op == Op::call_agent ? resolve_call(step, run, action)
                                               : resolve_rest(step, run, action);
  return can ? std::optional(action) : std::nullopt;
}

}  // namespace millrace::recovery
