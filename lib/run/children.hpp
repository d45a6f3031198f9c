// Another agent at work for an agent's run: a session of its own whose events and questions pass
// through the session that called it.
#pragma once

#include <memory>
#include <string>

#include "run/session.hpp"

namespace millrace::run {

// Adds {"usage"?, "cost"?, "before"?: the same as they were added already} of another run, or the
// {"turn"} of the model that failed.
void add_spent(json::Tree& state, const json::Tree& spent);

// Usage and cost of another agent. While it waits for a person so does the run that called it,
// whose own time of waiting this is.
json::Tree without_waits(const json::Tree& state);

// The text of the last answer.
std::string final_text(const json::Tree& state);

class AgentSession::Child final : public AgentOwner {
 public:
  Child(AgentSession& parent, std::uint64_t action, const SubAgent& agent, std::string call_id);

  // `recorded` is what an earlier process knew of it, or null.
  void start(const model::DriverServices& services, AgentTask task, const RecordedChild* recorded);
  void stop() { session_->stop(); }
  void stop_recording() { session_->stop_recording(); }
  void leave() { session_->leave(); }
  void complete(std::uint64_t id, std::string_view json) { session_->complete(id, json); }

  void on_event(const event::Event& event) override;
  void moved() override;
  void request_host(HostWork work, std::uint64_t id, std::string json) override;
  void withdraw(std::uint64_t id) override;
  void rest(const json::Tree& state, const json::Tree& context) override;

  [[nodiscard]] const AgentSession& session() const { return *session_; }
  [[nodiscard]] const std::string& call_id() const { return call_id_; }
  [[nodiscard]] const std::string& run_id() const { return run_id_; }
  [[nodiscard]] const SubAgent& agent() const { return agent_; }
  [[nodiscard]] bool timed_out() const { return timed_out_; }
  // Readers know already that it waits.
  [[nodiscard]] bool was_waiting() const { return was_waiting_; }

 private:
  AgentSession& parent_;
  std::uint64_t action_;
  const SubAgent& agent_;
  std::string call_id_;
  std::string run_id_;
  std::unique_ptr<model::TimeSource::Wait> timer_;
  bool timed_out_ = false;
  bool was_waiting_ = false;
  bool reported_end_ = false;
  std::shared_ptr<AgentSession> session_;
};

}  // namespace millrace::run
