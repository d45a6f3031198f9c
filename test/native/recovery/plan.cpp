// The recovery table of docs/journal.md, once more.
#include <algorithm>
#include <string>

#include "recovery/model.hpp"

namespace millrace::recovery {
namespace {

constexpr std::int64_t most_useless = 5;
constexpr std::int64_t most_joins = 50;
constexpr std::int64_t most_requests = 3;
constexpr std::int64_t window_ms = 600'000;

bool is_settled(CallState state) {
  return state == CallState::ok || state == CallState::error || state == CallState::denied ||
         state == CallState::cancelled;
}

bool is_open(const Question& question) {
  return !question.is_decided && !question.has_expired;
}

std::string move_of_waiting(const Run& run, const Call& call, std::int64_t now) {
  bool has_any = false;
  for (const Question& question : run.questions) {
    if (question.call != call.id) continue;
    has_any = true;
    const bool is_late = question.expires != 0 && question.expires <= now;
    if (is_open(question)) return is_late ? "take_answer" : "wait";
  }
  return has_any ? "take_answer" : "wait";
}

std::string move_of(const Run& run, const Call& call, std::int64_t now) {
  if (is_settled(call.state)) return "answer";
  if (call.state == CallState::intent) return "start";
  if (call.state == CallState::waiting) return move_of_waiting(run, call, now);
  if (call.state == CallState::unknown) return "ask_unknown";
  if (call.kind == Kind::child) return "follow_child";
  if (call.kind == Kind::sleep) return call.until <= now ? "answer" : "wake";
  return call.effect == Effect::once ? "ask_unknown" : "repeat";
}

std::string move_at_stop(const Call& call) {
  if (is_settled(call.state) || call.state == CallState::unknown) return "answer";
  const bool may_have_run = call.state == CallState::started && call.kind != Kind::sleep;
  return may_have_run ? "leave_unknown" : "cancel";
}

// Nothing is at work: it waits for the user or for a time.
bool only_waits(const Run& run, const Branch& branch, std::int64_t now) {
  const bool is_model =
      branch.model == Branch::Model::requested || branch.model == Branch::Model::opened;
  bool waits =
      std::any_of(run.questions.begin(), run.questions.end(), [&](const Question& question) {
        return is_open(question) && (question.expires == 0 || question.expires > now);
      });
  for (const Call& call : branch.calls) {
    if (call.state != CallState::started) continue;
    if (call.kind != Kind::sleep) return false;
    waits = waits || call.until > now;
  }
  return waits && !is_model;
}

std::string plan_of_calls(const Run& run, const Branch& branch, std::int64_t now, bool is_job) {
  std::string calls;
  bool works = false;
  bool waits = false;
  std::optional<std::int64_t> wake;
  for (const Call& call : branch.calls) {
    const std::string move = move_of(run, call, now);
    calls += ' ' + call.id + ':' + move;
    if (move == "wake") {
      wake = std::min(wake.value_or(call.until), call.until);
    } else if (move == "wait") {
      waits = true;
    } else if (move != "answer") {
      works = true;
    }
  }
  std::string move = is_job ? "enter_job" : "begin_step";
  if (!works && waits) {
    move = "wait";
  } else if (!works && wake) {
    move = "sleep";
  }
  return move + (wake ? " at " + std::to_string(*wake) : "") + calls;
}

}  // namespace

std::string plan_of(const Run& run, std::size_t at, std::int64_t now, std::int64_t downtime) {
  const Branch& branch = run.branches[at];
  const bool is_root = at == 0;
  // Approvals are on the line of the run itself, as is a stop.
  Run none;
  const Run& line = is_root ? run : none;
  if (is_root && run.is_stopping) {
    std::string calls;
    for (const Call& call : branch.calls) calls += ' ' + call.id + ':' + move_at_stop(call);
    return "finish_stop" + calls;
  }
  const bool is_opened = branch.model == Branch::Model::opened;
  const bool may_join = !is_root || run.useless <= most_joins;
  if (is_opened && branch.is_background && downtime < window_ms && may_join) {
    return "join_response behind " + std::to_string(branch.upstream);
  }
  if (is_root && run.useless > most_useless && !only_waits(line, branch, now)) return "bury";
  if (is_opened || branch.model == Branch::Model::requested) {
    const std::int64_t next = branch.cuts + 1;
    const std::string reset = branch.is_shown ? " behind a reset" : "";
    return (next > most_requests ? "fail " : "ask_again ") + std::to_string(next) + reset;
  }
  // A job that has done nothing yet begins as any other run.
  return plan_of_calls(line, branch, now, is_root && run.is_job && !branch.calls.empty());
}

}  // namespace millrace::recovery
