#include "recovery/model.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace millrace::recovery {
namespace {

constexpr std::array state_names{"queued",    "running", "waiting",   "sleeping", "parked",
                                 "completed", "failed",  "cancelled", "dead"};
constexpr std::array call_names{"intent", "waiting", "started",   "ok",
                                "error",  "denied",  "cancelled", "unknown"};
constexpr std::array op_names{
    "accept",     "claim",     "crash", "deploy",   "pass_time", "set_clock_back", "sweep",
    "decide",     "request",   "open",  "progress", "show",      "complete",       "save",
    "start",      "finish",    "ask",   "rest",     "job_step",  "sleep",          "doze",
    "call_agent", "end_agent", "park",  "stop",     "end"};
static_assert(op_names.size() == op_count);

bool is_over(const Run& run) {
  return run.state >= State::completed;
}

// What a call may become. It is denied only before it starts, and unknown only once it did.
bool may_become(CallState from, CallState to) {
  const bool has_begun = from == CallState::started || from == CallState::unknown;
  switch (from) {
    case CallState::intent:
    case CallState::waiting:
    case CallState::started:
    case CallState::unknown: break;
    default: return false;
  }
  if (to == CallState::denied) return !has_begun;
  if (to == CallState::unknown) return from == CallState::started;
  return true;
}

}  // namespace

std::string Action::text() const {
  std::string text = op_names.at(static_cast<std::size_t>(op));
  text += " run=" + std::to_string(run) + " branch=" + std::to_string(branch) +
          " call=" + std::to_string(call) + " question=" + std::to_string(question) +
          " process=" + std::to_string(process) + " names=" + std::to_string(names) +
          " epoch=" + std::to_string(epoch) + " number=" + std::to_string(number);
  text += std::string(" to=") + call_names.at(static_cast<std::size_t>(to)) +
          " end=" + state_names.at(static_cast<std::size_t>(end));
  if (flag) text += " flag";
  if (is_other_user) text += " other_user";
  return text;
}

std::string Model::row(std::size_t at) const {
  const Run& run = runs_[at];
  std::string text = state_names.at(static_cast<std::size_t>(run.state));
  text += " owner=" + std::to_string(run.owner) + " epoch=" + std::to_string(run.epoch) +
          " recoveries=" + std::to_string(run.recoveries) + (run.is_stopping ? " stop" : "");
  for (const Branch& branch : run.branches) {
    std::set<std::string> calls;
    for (const Call& call : branch.calls) {
      calls.insert(" " + call.id + "=" + call_names.at(static_cast<std::size_t>(call.state)) + "/" +
                   std::to_string(call.tries));
    }
    text += " |";
    for (const std::string& call : calls) text += call;
  }
  text += " ?";
  for (const Question& question : run.questions) {
    const char* const state = question.is_decided    ? "decided"
                              : question.has_expired ? "expired"
                                                     : "open";
    text += " " + question.id + "=" + state;
  }
  return text;
}

std::optional<std::int64_t> Model::next_due() const {
  std::optional<std::int64_t> first;
  const auto take = [&](std::int64_t time) { first = std::min(first.value_or(time), time); };
  for (const Run& run : runs_) {
    // The end of a sleep is a time of the clock, which may have been set back.
    if (run.state == State::sleeping) take(run.due + now_ - clock_);
    if (run.state == State::queued) take(run.due);
    for (const Question& question : run.questions) {
      const bool is_open = !question.is_decided && !question.has_expired;
      if (is_open && question.ends != 0) take(question.ends);
    }
  }
  return first;
}

std::string Model::stuck() const {
  for (std::size_t at = 0; at < runs_.size(); ++at) {
    const Run& run = runs_[at];
    if (run.state != State::waiting) continue;
    const bool can_wake = std::any_of(
        run.questions.begin(), run.questions.end(),
        [](const Question& question) { return !question.is_decided && !question.has_expired; });
    if (!can_wake) return "run " + std::to_string(at) + " waits for nothing";
  }
  return {};
}

void Model::wake_answered(Run& run) const {
  if (run.state != State::waiting) return;
  run.state = State::queued;
  run.due = now_;
}

std::string Model::apply(const Action& action) {
  switch (action.op) {
    case Op::accept: {
      Run run;
      run.is_job = action.number == 1;
      run.name = action.names;
      run.state = action.flag ? State::running : State::queued;
      run.owner = action.flag ? action.process : -1;
      run.epoch = action.flag ? 1 : 0;
      run.due = run.last_at = now_;
      run.branches.emplace_back();
      runs_.push_back(std::move(run));
      return "committed";
    }
    case Op::claim: return claim(action);
    case Op::crash:
    case Op::deploy:
      for (Run& run : runs_) {
        if (run.owner != action.process) continue;
        run.owner = -1;
        run.due = std::min(run.due, now_);
        if (action.op == Op::deploy) run.was_released = true;
      }
      return "released";
    case Op::pass_time:
      clock_ += action.number;
      now_ = std::max(now_, clock_);
      return std::to_string(now_);
    case Op::set_clock_back: clock_ -= action.number; return std::to_string(now_);
    case Op::sweep: return sweep();
    case Op::decide: return decide(action);
    default: return append(action);
  }
}

std::string Model::claim(const Action& action) {
  std::vector<std::pair<std::int64_t, std::size_t>> due;
  for (std::size_t at = 0; at < runs_.size(); ++at) {
    const Run& run = runs_[at];
    const bool is_known = (action.names >> run.name & 1U) != 0;
    if (run.owner >= 0 || is_over(run) || run.state == State::waiting || !is_known) continue;
    const std::int64_t time = run.state == State::sleeping ? clock_ : now_;
    if (run.state == State::running || run.due <= time) due.emplace_back(run.due, at);
  }
  std::sort(due.begin(), due.end());
  std::string text;
  for (const auto& [time, at] : due) text += take(at, action.process) + "\n";
  return text;
}

std::string Model::take(std::size_t at, int process) {
  Run& run = runs_[at];
  std::string cause = state_names.at(static_cast<std::size_t>(run.state));
  if (run.state == State::running) cause = run.was_released ? "released" : "recovered";
  if (cause == "recovered") {
    ++run.recoveries;
    ++run.useless;
  }
  if (cause == "released") {
    // What a process that ended in good order had requested does not count.
    for (Branch& branch : run.branches) {
      if (branch.cuts > 0 && !std::exchange(branch.is_let_go, true)) --branch.cuts;
    }
  }
  run.was_released = false;
  const std::int64_t downtime = std::max<std::int64_t>(now_ - run.last_at, 0);
  run.state = State::running;
  run.owner = process;
  run.due = std::min(run.due, now_);
  run.last_at = std::max(run.last_at, now_);
  ++run.epoch;
  std::string text = "run " + std::to_string(at) + " " + cause +
                     " epoch=" + std::to_string(run.epoch) + " down=" + std::to_string(downtime);
  for (std::size_t branch = 0; branch < run.branches.size(); ++branch) {
    if (run.branches[branch].is_over) continue;
    text += " [" + plan_of(run, branch, branch == 0 ? clock_ : now_, downtime) + "]";
  }
  return text;
}

std::string Model::sweep() {
  std::string text = "expired";
  for (Run& run : runs_) {
    for (Question& question : run.questions) {
      const bool is_open = !question.is_decided && !question.has_expired;
      if (!is_open || question.ends == 0 || question.ends > now_) continue;
      question.has_expired = true;
      run.last_at = std::max(run.last_at, now_);
      wake_answered(run);
      text += " " + question.id;
    }
  }
  return text;
}

std::string Model::decide(const Action& action) {
  Run& run = runs_[action.run];
  Question& question = run.questions[action.question];
  if (action.is_other_user) return "not_found";
  if (question.has_expired) return "expired";
  if (question.is_decided) return "answered";
  if (question.ends != 0 && question.ends <= now_) return "expired";
  if (action.flag) return "mismatch";
  question.is_decided = true;
  run.last_at = std::max(run.last_at, now_);
  const bool is_last =
      std::none_of(run.questions.begin(), run.questions.end(),
                   [](const Question& other) { return !other.is_decided && !other.has_expired; });
  if (is_last) wake_answered(run);
  return "decided";
}

std::string Model::append(const Action& action) {
  Run& run = runs_[action.run];
  if (run.owner < 0 || is_over(run) || action.epoch != run.epoch) return "fenced";
  Branch& branch = run.branches[action.branch];
  if (action.op == Op::finish && !may_become(branch.calls[action.call].state, action.to)) {
    return "failed";
  }
  // To rest and to doze are states alone, without a record.
  const bool is_recorded = action.op != Op::rest && action.op != Op::doze;
  if (is_recorded) run.last_at = std::max(run.last_at, now_);
  if (action.op <= Op::save) {
    change_model(action, run, branch);
  } else if (action.op <= Op::ask || action.op == Op::job_step || action.op == Op::sleep) {
    change_calls(action, run, branch);
  } else {
    change_run(action, run, branch);
  }
  return "committed";
}

void Model::change_model(const Action& action, Run& run, Branch& branch) {
  const auto save = [&] {
    branch.saved = action.number;
    // An agent that comes along does so for the run.
    if (branch.step != branch.saved_step) run.useless = 0;
    branch.saved_step = branch.step;
    branch.model = Branch::Model::none;
    branch.cuts = 0;
  };
  switch (action.op) {
    case Op::request:
      if (action.flag) ++branch.step;
      branch.model = Branch::Model::requested;
      branch.cuts = action.number;
      branch.is_let_go = branch.is_background = branch.is_shown = false;
      branch.upstream = 0;
      break;
    case Op::open:
      branch.model = Branch::Model::opened;
      branch.is_background = action.flag;
      break;
    case Op::progress:
      branch.upstream = action.number;
      // An answer that comes along does so for the run.
      run.useless = 0;
      break;
    case Op::show: branch.is_shown = true; break;
    case Op::complete:
      branch.model = Branch::Model::completed;
      for (const Effect effect : action.calls) {
        Call call;
        call.id = "c" + std::to_string(branch.calls.size());
        call.effect = effect;
        branch.calls.push_back(std::move(call));
      }
      if (action.flag) save();
      break;
    default: save(); break;
  }
}

void Model::change_calls(const Action& action, Run& run, Branch& branch) {
  if (action.op == Op::sleep || (action.op == Op::job_step && action.to == CallState::started)) {
    Call made;
    made.kind = action.op == Op::sleep ? Kind::sleep : Kind::step;
    made.id = (action.op == Op::sleep ? "z#" : "s#") + std::to_string(action.call);
    made.state = CallState::started;
    made.until = action.op == Op::sleep ? action.number : 0;
    branch.calls.push_back(std::move(made));
    return;
  }
  Call& call = branch.calls[action.call];
  switch (action.op) {
    case Op::start:
      call.state = CallState::started;
      call.tries = action.number;
      break;
    case Op::ask: {
      call.state = CallState::waiting;
      Question question;
      question.id = "q" + std::to_string(action.run) + "-" + std::to_string(run.questions.size());
      question.call = call.id;
      question.expires = action.number;
      if (action.number != 0) question.ends = action.number + now_ - clock_;
      run.questions.push_back(std::move(question));
      break;
    }
    case Op::job_step:
      // A job that comes along is not given up.
      run.useless = 0;
      call.state = action.to;
      break;
    default: call.state = action.to; break;
  }
}

void Model::change_run(const Action& action, Run& run, Branch& branch) {
  switch (action.op) {
    case Op::rest: {
      run.owner = -1;
      run.state = State::waiting;
      const bool is_answered = std::none_of(
          run.questions.begin(), run.questions.end(),
          [](const Question& question) { return !question.is_decided && !question.has_expired; });
      if (is_answered) wake_answered(run);
      break;
    }
    case Op::doze:
      run.owner = -1;
      run.state = State::sleeping;
      run.due = action.number;
      break;
    case Op::call_agent: {
      Call& call = branch.calls[action.call];
      call.kind = Kind::child;
      call.state = CallState::started;
      call.child = run.branches.size();
      run.branches.emplace_back();  // `call` and `branch` are not used behind it
      break;
    }
    case Op::end_agent:
      branch.is_over = true;
      for (Call& call : run.branches[0].calls) {
        if (call.kind == Kind::child && call.child == action.branch) call.state = CallState::ok;
      }
      break;
    case Op::park:
      run.owner = -1;
      run.state = State::parked;
      break;
    case Op::stop: run.is_stopping = true; break;
    default:
      run.owner = -1;
      run.state = action.end;
      for (Question& question : run.questions) {
        if (!question.is_decided) question.has_expired = true;
      }
      break;
  }
}

}  // namespace millrace::recovery
