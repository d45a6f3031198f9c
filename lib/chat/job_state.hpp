// What a job's log knows after the records that it took.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_tree.hpp"
#include "chat/job_actions.hpp"
#include "chat/job_calls.hpp"
#include "chat/job_event.hpp"
#include "chat/job_events.hpp"
#include "chat/job_log.hpp"
#include "chat/job_run.hpp"
#include "chat/job_texts.hpp"
#include "journal/record.hpp"

namespace millrace::chat {

enum class JobStatus : std::uint8_t { queued, running, done, error, cancelled };
std::string_view name_of(JobStatus status);

// A message of the user as the snapshot of a job has it.
// Shape: {message_id, content, attachments?}.
json::Tree shown_message(const json::Tree& message);

class JobLog::State final : public JobActions {
 public:
  explicit State(JobOptions given)
      : options(std::move(given)),
        events({options.event_limit, options.byte_limit}),
        texts(*this),
        run(*this) {}

  void take(const journal::Record& record);
  void end_unread(const Unread& unread);
  // Milliseconds since the job was made; they end with the job.
  [[nodiscard]] std::int64_t elapsed(std::int64_t now_ms) const;
  [[nodiscard]] bool is_over() const { return status > JobStatus::running; }
  // An object with the members that all payloads have.
  [[nodiscard]] const json::Tree& payload() const { return common_; }
  [[nodiscard]] json::Tree stage_payload(std::int64_t now_ms) const;
  [[nodiscard]] std::string reply() const;
  [[nodiscard]] json::Tree message_list() const;

  void stage(std::string_view name, std::string_view detail) override;
  void agent_stage(const json::Tree& given) override;
  void start_call(const json::Tree& given, bool is_agent) override;
  void end_call(const json::Tree& given, bool is_agent) override;
  void message(std::string_view text, const json::Tree& attachments, std::uint64_t index) override;
  void take_back_message(std::uint64_t index) override;
  void requires_action(const json::Tree& given) override;
  void delta(std::string_view event, const json::Tree& members, std::string_view text) override;

  JobOptions options;
  JobEvents events;
  CallTable calls;
  JobTexts texts;
  JobRun run;
  std::vector<Output> outputs;
  JobStatus status = JobStatus::queued;
  std::int64_t created_ms = 0;
  std::int64_t updated_ms = 0;
  std::int64_t finished_ms = 0;
  std::string error;
  json::Tree usage;  // as agents count it; null before it is known
  json::Tree cost;
  // Shape: {message_id, content, attachments?}; null once its turn has come, or without one.
  json::Tree queued_message;
  // Messages to the run at work that it has not taken yet, as conversations have them.
  json::Tree::Items sent;
  struct Stage {
    std::string name = "queued";
    std::string detail;
    std::int64_t started_ms = 0;
    std::uint64_t seq = 0;  // 0 before the first event
  } current;

 private:
  void begin(const journal::Accepted* accepted);
  void work();
  void take_fact(std::uint32_t branch, const journal::Fact& fact);
  void take_event(std::uint32_t branch, const event::Event& event);
  void keep_sent(const journal::MessageSent& fact);
  void take_sent(json::Tree message);
  void take_host_event(const event::Stage& event);
  void take_spent(std::string_view usage_json, std::string_view cost_json);
  void finish(const journal::Terminal& fact);
  void add(std::string_view event, json::Tree members);
  void add(const CallEvent& event) { add(event.event, event.payload); }

  json::Tree common_ = json::Tree::object();  // whose texts all payloads share
  std::int64_t at_ms_ = 0;                    // of the record that is taken
  bool has_begun_ = false;
  bool waits_ = false;          // for its turn
  bool is_structured_ = false;  // as Accepted has it
  CallSource source_ = CallSource::engine;
};

}  // namespace millrace::chat
