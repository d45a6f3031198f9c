// The log of a job as an event stream: what is there behind a place, then what comes, until the job
// is over.
#pragma once

#include <memory>
#include <string>

#include "api/api_answers.hpp"
#include "api/jobs.hpp"
#include "chat/job_event.hpp"
#include "os/timer.hpp"

namespace millrace::api {

// Stages that last are repeated each second with the time that has passed, under the place of the
// last event or delta that the reader got, so that who comes again with it gets the rest. A reader
// that lags behind reads later; the response ends one that takes nothing.
// Thread: engine thread.
class JobStream final : public std::enable_shared_from_this<JobStream> {
 public:
  JobStream(os::EventLoop& loop, JobsPtr jobs, JobPtr job, ResponsePtr response, chat::Cursor after,
            bool has_deltas);

  void start();

 private:
  void advance();
  [[nodiscard]] std::vector<chat::JobEvent> next_events() const;
  bool write(const chat::JobEvent& event);
  void tick();
  void write_error(const Error& error);
  void end();
  void wait();

  JobsPtr jobs_;
  JobPtr job_;
  ResponsePtr response_;
  chat::Cursor at_;
  bool has_deltas_;
  bool has_begun_ = false;
  bool is_full_ = false;
  bool is_over_ = false;
  int idle_ticks_ = 0;
  os::Timer tick_;
};

}  // namespace millrace::api
