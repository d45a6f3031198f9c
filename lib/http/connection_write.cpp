// The half of a connection that sends, keeps the deadlines and ends.
#include <utility>

#include "http/connection.hpp"
#include "http/response.hpp"
#include "os/event_loop.hpp"

namespace millrace::http {

void Connection::release(std::string& buffer) {
  // An empty string that is assigned leaves the memory where it is.
  std::string().swap(buffer);
}

void Connection::queue(std::string_view bytes) {
  if (phase_ == Phase::closed) return;
  out_.append(bytes);
  schedule_flush();
}

// A handler that never heeds has_room loses its connection, but not from inside its own call.
void Connection::queue_part(std::string_view bytes, bool as_chunk) {
  if (phase_ == Phase::closed) return;
  if (queued_bytes() > context_->options.write_buffer_limit_bytes) {
    return post([self = shared_from_this()] { self->close(); });
  }
  if (as_chunk) {
    append_chunk(out_, bytes);
  } else {
    out_.append(bytes);
  }
  schedule_flush();
}

bool Connection::has_room() {
  if (phase_ == Phase::closed) return false;
  wants_drain_ = queued_bytes() > context_->options.write_buffer_bytes;
  return !wants_drain_;
}

bool Connection::may_go_on() const {
  return context_ != nullptr && !context_->is_stopping;
}

void Connection::post(std::function<void()> work) {
  if (context_ != nullptr) context_->loop.post(std::move(work));
}

void Connection::schedule_flush() {
  if (is_flush_scheduled_ || is_write_waiting_) return;
  is_flush_scheduled_ = true;
  post([self = shared_from_this()] {
    self->is_flush_scheduled_ = false;
    self->guarded([&] { self->flush(); });
  });
}

void Connection::on_writable() {
  is_write_waiting_ = false;
  guarded([this] { flush(); });
}

void Connection::flush() {
  const Clock::time_point stall = Clock::now() + context_->options.times.write_stall;
  if (write_deadline_ == never) write_deadline_ = stall;
  while (queued_bytes() > 0) {
    const Transfer put = socket_.write(std::string_view(out_).substr(sent_));
    if (put.failed) return close();
    if (put.bytes == 0) break;
    sent_ += put.bytes;
    write_deadline_ = stall;
  }
  if (queued_bytes() == 0) {
    on_flushed();
    if (phase_ == Phase::closed) return;
  } else {
    // In no more room than it takes: a client that does not read is waited for.
    out_ = std::string(out_, std::exchange(sent_, 0));
    is_write_waiting_ = true;
    socket_.wait_writable(shared_from_this());
  }
  // Half empty rather than empty, so that the peer need not wait for the next bytes.
  if (wants_drain_ && queued_bytes() <= context_->options.write_buffer_bytes / 2) {
    wants_drain_ = false;
    if (const auto stream = response_.lock()) stream->drained();
  }
  settle();
}

void Connection::on_flushed() {
  release(out_);
  sent_ = 0;
  write_deadline_ = never;
  if (phase_ == Phase::closing) {
    if (has_ended_) return close();
    socket_.shut_down_sending();
    phase_ = Phase::lingering;
    set_deadline(context_->options.times.linger);
  } else if (phase_ == Phase::waiting) {
    set_deadline(context_->options.times.keep_alive);
    resume();
  }
}

void Connection::end_response(bool keep_alive) {
  if (phase_ == Phase::closed) return;
  response_.reset();
  wants_drain_ = false;
  if (!keep_alive || !may_go_on()) return begin_closing();
  begin_waiting();
  // The next request does not begin inside the call that ended this one.
  if (!is_processing_) {
    post([self = shared_from_this()] {
      self->guarded([&] {
        self->resume();
        self->settle();
      });
    });
  }
}

void Connection::begin_waiting() {
  phase_ = Phase::waiting;
  set_deadline(context_->options.times.keep_alive);
}

void Connection::begin_closing() {
  phase_ = Phase::closing;
  deadline_ = never;
  if (!is_processing_) release(in_);
  schedule_flush();
}

// Waits for what the phase needs next. A peer that ended before its answer was complete is taken as
// gone: that is how a browser leaves a stream.
void Connection::settle() {
  if (phase_ == Phase::closed) return;
  const bool sends = queued_bytes() > 0 || phase_ == Phase::closing;
  if (has_ended_ && (phase_ == Phase::responding || !sends)) return close();
  if (has_ended_ || is_read_waiting_ || read_room() == 0) return;
  is_read_waiting_ = true;
  socket_.wait_readable(shared_from_this());
}

// ---- Time and end

void Connection::set_deadline(std::chrono::milliseconds from_now) {
  deadline_ = Clock::now() + from_now;
}

bool Connection::is_late(Clock::time_point now) const {
  return now >= deadline_ || now >= write_deadline_;
}

void Connection::on_late(Clock::time_point now) {
  guarded([&] { act_on_deadline(now); });
}

void Connection::act_on_deadline(Clock::time_point now) {
  if (now >= write_deadline_) return close();
  const ServerTimes& times = context_->options.times;
  switch (phase_) {
    case Phase::head:
      return reject(make_error(
          Errc::request_timeout,
          "The request head did not arrive within " + std::to_string(times.head.count()) + " ms."));
    case Phase::body: {
      // The disk is slow, not the client.
      if (incoming_->is_held) return set_deadline(times.body_span);
      const auto milliseconds = static_cast<std::uint64_t>(times.body_span.count());
      const std::uint64_t wanted = times.body_bytes_per_second * milliseconds / 1000;
      if (std::exchange(incoming_->span_bytes, 0) >= wanted) return set_deadline(times.body_span);
      return reject(
          make_error(Errc::request_timeout, "The request body arrives more slowly than " +
                                                std::to_string(times.body_bytes_per_second) +
                                                " bytes a second."));
    }
    case Phase::waiting:
      if (queued_bytes() > 0) return set_deadline(times.keep_alive);
      return close();
    default: return close();
  }
}

void Connection::finish_up() {
  if (phase_ == Phase::body || phase_ >= Phase::responding) return;
  if (queued_bytes() > 0) {
    begin_closing();
  } else {
    close();
  }
}

void Connection::expedite() {
  guarded([this] {
    if (const auto stream = response_.lock()) stream->expedite();
  });
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  const auto stream = response_.lock();
  ServerContext* const context = context_;
  orphan();
  if (stream) stream->closed();
  if (context != nullptr) context->remove(self);
}

void Connection::orphan() {
  phase_ = Phase::closed;
  deadline_ = never;
  write_deadline_ = never;
  context_ = nullptr;
  response_.reset();
  socket_.close();
  incoming_.reset();
  if (!is_processing_) in_ = std::string();
  out_ = std::string();
  sent_ = 0;
}

}  // namespace millrace::http
