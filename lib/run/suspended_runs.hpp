// Runs that wait for a person, in memory: what a client may answer, and nothing else of them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/interrupts.hpp"
#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "run/input.hpp"
#include "run/plan.hpp"
#include "run/session.hpp"

namespace millrace::run {

struct SuspendedLimits {
  std::size_t runs = 10'000;
  std::size_t bytes = std::size_t{256} << 20U;
  std::int64_t lifetime_ms = 3'600'000;
};

// One run for each thread; the oldest go when there are too many.
// Thread: engine thread.
class SuspendedRuns {
 public:
  explicit SuspendedRuns(SuspendedLimits limits = {}) : limits_(limits) {}

  void keep(const std::string& thread, const json::Tree& state, const AgentPlan& plan,
            std::int64_t now_ms);
  [[nodiscard]] bool holds(std::string_view thread) const { return threads_.contains(thread); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // What a client's input starts: a new run, or one that is kept and goes on with its answers. A
  // run whose answers are rejected stays suspended; one that the conversation passed over is not.
  // Answers to unknown interrupts are passed over where other ones count, or where nothing waits
  // and the user wrote the last message. Consent to a tool that has changed since has the user
  // asked anew (agent/superseded.hpp).
  // Errors: those of take_answers and Tree::parse; invalid_argument where a person's arguments break
  // the schema of their tool; approval_answered for a question of the past.
  Result<AgentTask> task_for(const AgentInput& input, const AgentPlan& plan, std::int64_t now_ms,
                             IdSource& ids);

 private:
  // What an interrupt is about, and the hash of its tool as the user saw it.
  struct Question {
    std::string call;
    std::string tools;
  };
  using Questions = std::map<std::string, Question, std::less<>>;  // by the ids of interrupts
  struct Run {
    std::string thread;
    std::string state;  // JSON
    Questions questions;
    std::int64_t since = 0;
  };
  using Runs = std::list<Run>;  // oldest first
  static void add_questions(Questions& questions, const json::Tree& within, const json::Tree& state,
                            const AgentPlan& plan);
  static void mark_changed(json::Tree& resume, const Questions& questions, const json::Tree& state,
                           const AgentPlan& plan);
  void drop(Runs::iterator run);
  void expire(std::int64_t now_ms);
  [[nodiscard]] Error nothing_waits(const json::Tree& resume) const;
  // A new run beside answers to interrupts that this thread never had, of which readers are warned.
  [[nodiscard]] Result<AgentTask> pass_over(const AgentInput& input,
                                            const json::Tree& resume) const;
  Result<AgentTask> go_on(Runs::iterator run, const AgentInput& input, json::Tree resume,
                          const AgentPlan& plan, std::int64_t now_ms, IdSource& ids);
  void note_answered(const json::Tree& resume, const std::vector<std::string>& unmatched);

  SuspendedLimits limits_;
  Runs runs_;
  std::map<std::string, Runs::iterator, std::less<>> threads_;
  std::size_t bytes_ = 0;
  // Questions that were answered, the latest of them.
  std::deque<std::string> answered_;
  std::set<std::string, std::less<>> answered_ids_;
};

// The tools of the calls that a state waits for, or of one of them, as a hash of what is known of
// them.
std::string tools_requested(const json::Tree& state, const AgentPlan& plan,
                            std::string_view call = {});
// Why an answer does not count where that hash has changed: approval_mismatch.
Error other_tools();
// True for an entry of a resume list that denies a call, or leaves it. It needs no tool.
bool declines(const json::Tree& entry);

// The answers of a request, AG-UI's resume entries; none for "", as beside results of the client's
// own tools.
// Errors: those of Tree::parse.
Result<json::Tree> resume_entries(std::string_view resume_json);
// The messages of an input, as agent/state_messages.hpp has them.
// Errors: those of Tree::parse.
Result<json::Tree> messages_in(const AgentInput& input);

// The task of a run that is over before it begins: it holds what was given, and answers nothing.
Result<AgentTask> stopped_task(json::Tree state, json::Tree context, const AgentInput& input,
                               std::int64_t now_ms);

// A run that goes on from a state of the host's, with the answers of the input.
// Errors: those of take_answers and load_state, and of a person's arguments as above.
Result<AgentTask> saved_task(json::Tree state, json::Tree context, const AgentInput& input,
                             const AgentPlan& plan, std::int64_t now_ms, IdSource& ids,
                             agent::Expiry expiry = agent::Expiry::counts);

}  // namespace millrace::run
