// The calls, agents and stages of an engine agent's run, from its facts and the events of its
// models.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "chat/arguments_stream.hpp"
#include "chat/job_actions.hpp"
#include "event/event.hpp"
#include "journal/record.hpp"

namespace millrace::chat {

// Ids of nested calls are paths: the id of the agent's call, "/", the id of the call.
class JobRun {
 public:
  explicit JobRun(JobActions& actions) : actions_(actions) {}

  // What of them concerns calls and stages; the rest is passed over.
  void take(std::uint32_t branch, const journal::Fact& fact);
  void take(std::uint32_t branch, const event::Event& event);
  // The run's own agent works with models.
  [[nodiscard]] bool has_model() const { return has_model_; }
  // What the user is to decide first; null is nothing.
  [[nodiscard]] json::Tree waiting_input() const;
  // What is shown of an action that a function reports: in its own members, or as the interrupt
  // that it waits for.
  json::Tree reported_action(const json::Tree& given);

 private:
  struct Call {
    std::string name;
    std::string arguments;
    journal::CallKind kind = journal::CallKind::tool;
    bool is_hosted = false;
    bool has_fact = false;
    bool is_started = false;
    bool is_ended = false;
    ArgumentsStream shown;  // its arguments as deltas
    json::Tree members;     // of these
  };
  struct Branch {
    std::string agent_call;  // the agent's id in the log; "" is the run's own agent
    std::string agent;
    std::string parent;
    std::int64_t depth = 0;
    json::Tree path = json::Tree::array();
    bool has_context = false;
    bool has_prepared = false;
    bool has_waited = false;
    std::vector<std::string> requested;  // names of the calls of this turn
    std::map<std::string, Call, std::less<>> calls;
    std::map<std::string, json::Tree, std::less<>> reasoning;  // the members of its deltas
  };
  struct Action {
    std::string id;
    json::Tree payload;
  };
  class OnFact;
  class OnEvent;

  Branch& branch(std::uint32_t number) { return branches_[number]; }
  [[nodiscard]] json::Tree identity(const Branch& branch, std::string_view id,
                                    const Call& call) const;
  void stage(const Branch& branch, std::string_view name, std::string_view detail);
  void prepare(Branch& branch);
  void wait_for_tools(Branch& branch);
  void start(Branch& branch, std::string_view id, Call& call);
  void end(Branch& branch, std::string_view id, Call& call, const json::Tree& outcome);
  void void_hosted(Branch& branch);
  void request_action(const journal::ApprovalRequested& fact);
  [[nodiscard]] json::Tree call_at(std::string_view id) const;
  void note_vendor_call(std::string_view json);
  void note_rejection(std::string_view action_id);

  JobActions& actions_;
  std::map<std::uint32_t, Branch> branches_;
  std::vector<Action> open_actions_;
  std::map<std::string, json::Tree, std::less<>> reported_actions_;  // by their ids
  std::map<std::string, json::Tree, std::less<>> vendor_calls_;      // that wait for approval
  std::set<std::string, std::less<>> rejected_;  // calls that the user rejected, until they end
  std::uint64_t next_reasoning_ = 0;
  bool has_model_ = false;
};

}  // namespace millrace::chat
