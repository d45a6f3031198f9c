#include "api/job_stream.hpp"

#include <chrono>
#include <utility>

#include "api/sse_response.hpp"
#include "os/event_loop.hpp"

namespace millrace::api {
namespace {

constexpr std::chrono::seconds tick_every{1};
constexpr int heartbeat_ticks = 10;  // without a new event, whatever lasts
// Made at once: a response takes a few hundred at most before its client has to read.
constexpr std::size_t slice_events = 256;
// A line of the first frame: some clients take a frame without data for an event.
constexpr std::string_view retry_hint = "retry: 2000\n";
constexpr std::string_view heartbeat = ": keep-alive\n\n";

}  // namespace

JobStream::JobStream(os::EventLoop& loop, JobsPtr jobs, JobPtr job, ResponsePtr response,
                     chat::Cursor after, bool has_deltas)
    : jobs_(std::move(jobs)),
      job_(std::move(job)),
      response_(std::move(response)),
      at_(after),
      has_deltas_(has_deltas),
      tick_(loop, [this] { tick(); }) {}

void JobStream::start() {
  const auto self = shared_from_this();
  if (!response_->start(200, stream_headers())) return;
  // The response holds what it calls, and this holds the job.
  response_->on_drain([self] {
    self->is_full_ = false;
    self->advance();
  });
  response_->on_close([self] {
    self->is_over_ = true;
    self->tick_.cancel();
    self->job_->unlisten(self.get());
  });
  job_->listen(this, [weak = weak_from_this()] {
    if (const auto stream = weak.lock()) stream->advance();
  });
  advance();
  wait();
}

void JobStream::wait() {
  if (!is_over_) tick_.start_at(os::Timer::Clock::now() + tick_every);
}

void JobStream::advance() {
  if (is_over_ || is_full_) return;
  const auto self = shared_from_this();
  while (true) {
    const auto events = next_events();
    if (events.empty()) break;
    for (const chat::JobEvent& event : events) {
      at_ = event.cursor();
      idle_ticks_ = 0;
      if (write(event)) continue;
      is_full_ = true;
      return;
    }
  }
  if (const Error* error = job_->cut()) write_error(*error);
  if (job_->is_over()) end();
}

// The job may go on: who comes again with the last id gets the rest.
void JobStream::write_error(const Error& error) {
  json::Tree payload = json::Tree::object();
  payload.set("job_id", job_->id());
  payload.set("error", error.message);
  payload.set("code", error.code_name());
  std::string frame = "event: error\ndata: ";
  payload.write(frame);
  response_->write(frame.append("\n\n"));
}

std::vector<chat::JobEvent> JobStream::next_events() const {
  const chat::JobLog& log = job_->log();
  if (auto gap = log.gap_after(at_.seq)) return {std::move(*gap)};
  return has_deltas_ ? log.events_after(at_, slice_events)
                     : log.events_after(at_.seq, slice_events);
}

bool JobStream::write(const chat::JobEvent& event) {
  std::string frame;
  if (!std::exchange(has_begun_, true)) frame = retry_hint;
  frame.append("id: ").append(chat::cursor_text(event.cursor()));
  frame.append("\nevent: ").append(event.event).append("\ndata: ");
  event.payload.write(frame);
  return response_->write(frame.append("\n\n"));
}

void JobStream::tick() {
  if (is_over_) return;
  wait();
  if (is_full_) return;
  // What the run waits for may be answered in another process, which sends no notice.
  if (job_->is_waiting()) jobs_->refresh(job_, [] {});
  for (const chat::JobEvent& event :
       job_->log().live(store::system_clock()(), at_.seq, has_deltas_)) {
    is_full_ = !write(event);
  }
  if (++idle_ticks_ < heartbeat_ticks) return;
  idle_ticks_ = 0;
  is_full_ = !response_->write(heartbeat);
}

void JobStream::end() {
  if (std::exchange(is_over_, true)) return;
  tick_.cancel();
  job_->unlisten(this);
  response_->end();
}

}  // namespace millrace::api
