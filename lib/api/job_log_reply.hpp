// The log of a job as JSON, written in pieces as its client takes them.
#pragma once

#include <memory>
#include <string>

#include "api/api_answers.hpp"
#include "api/jobs.hpp"
#include "chat/job_event.hpp"

namespace millrace::api {

// What the log has behind a place when the answer begins. A short one is sent whole.
// Shape: {job, after, last_seq, events: [{seq, id?, event, payload}]}.
// Thread: engine thread.
class JobLogReply final : public std::enable_shared_from_this<JobLogReply> {
 public:
  JobLogReply(JobPtr job, ResponsePtr response, chat::Cursor after, bool has_deltas);

  void start(const json::Tree& snapshot);

 private:
  void advance();
  // False where the client has left.
  bool begin();
  [[nodiscard]] std::vector<chat::JobEvent> next_events() const;
  void add(const chat::JobEvent& event);
  void finish();

  JobPtr job_;
  ResponsePtr response_;
  chat::Cursor at_;
  bool has_deltas_;
  chat::Cursor until_;                // the last one that is sent
  std::vector<chat::JobEvent> live_;  // stages that last
  std::string text_;                  // not written yet
  bool has_events_ = false;
  bool has_begun_ = false;
  bool is_over_ = false;
};

}  // namespace millrace::api
