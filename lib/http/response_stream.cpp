#include "http/response_stream.hpp"

#include <utility>

#include "http/connection.hpp"
#include "http/response.hpp"

namespace millrace::http {

ResponseStream::ResponseStream(std::shared_ptr<Connection> connection, Exchange exchange)
    : connection_(std::move(connection)), exchange_(std::move(exchange)) {}

ResponseStream::~ResponseStream() {
  if (connection_ == nullptr) return;
  if (started_) {
    connection_->close();
    return;
  }
  exchange_.keep_alive = false;
  (void)send_error(make_error(Errc::internal, "The handler of the route ended without an answer."));
}

Result<void> ResponseStream::check_start(int status, const Headers& headers) const {
  if (closed_) return make_error(Errc::connection_lost, "The client closed the connection.");
  if (connection_ == nullptr || started_) {
    return make_error(Errc::internal, "The response was already begun.");
  }
  return check_response(status, headers);
}

Result<void> ResponseStream::send(int status, const Headers& headers, std::string_view body) {
  MILLRACE_TRY(check_start(status, headers));
  started_ = true;
  exchange_.keep_alive = exchange_.keep_alive && connection_->may_go_on();
  ResponseFraming framing;
  if (has_body(status)) framing.content_length = body.size();
  framing.close = !exchange_.keep_alive;
  framing.write_keep_alive = exchange_.http_1_0 && exchange_.keep_alive;
  framing.cors_origin = exchange_.cors_origin;
  connection_->queue(response_head(status, headers, framing));
  if (has_body(status) && !exchange_.head_only) connection_->queue(body);
  finish();
  return {};
}

Result<void> ResponseStream::send_error(const Error& error, const Headers& headers) {
  return send(row_of(error.code).http_status, error_headers(error, headers),
              error_body(error, exchange_));
}

Result<void> ResponseStream::start(int status, const Headers& headers) {
  MILLRACE_TRY(check_start(status, headers));
  started_ = true;
  const bool chunked = has_body(status) && !exchange_.http_1_0;
  const bool needs_no_end = chunked || exchange_.head_only || !has_body(status);
  exchange_.keep_alive = exchange_.keep_alive && connection_->may_go_on() && needs_no_end;
  ResponseFraming framing;
  framing.chunked = chunked;
  framing.close = !exchange_.keep_alive;
  framing.write_keep_alive = exchange_.http_1_0 && exchange_.keep_alive;
  framing.cors_origin = exchange_.cors_origin;
  connection_->queue(response_head(status, headers, framing));
  if (has_body(status) && !exchange_.head_only) return {};
  // Nothing more will be sent, which a handler that streams until its peer goes away must hear; not
  // from inside this call, though, and also when it registers its callback after it.
  const auto connection = std::exchange(connection_, nullptr);
  connection->end_response(exchange_.keep_alive);
  connection->post([self = shared_from_this()] { self->closed(); });
  return {};
}

bool ResponseStream::write(std::string_view bytes) {
  if (connection_ == nullptr || !started_) return false;
  connection_->queue_part(bytes, !exchange_.http_1_0);
  return connection_->has_room();
}

void ResponseStream::end() {
  if (connection_ == nullptr || !started_) return;
  if (!exchange_.http_1_0) connection_->queue(last_chunk);
  finish();
}

void ResponseStream::on_drain(std::function<void()> callback) {
  if (connection_ != nullptr) on_drain_ = std::move(callback);
}

void ResponseStream::on_expedite(std::function<void()> callback) {
  if (connection_ != nullptr) on_expedite_ = std::move(callback);
}

void ResponseStream::on_close(std::function<void()> callback) {
  if (closed_) {
    callback();
  } else if (!ended_) {
    on_close_ = std::move(callback);
  }
}

// The callbacks may hold the last references to this object, so they go last.
void ResponseStream::finish() {
  ended_ = true;
  const auto connection = std::exchange(connection_, nullptr);
  const auto drain = std::move(on_drain_);
  const auto flush = std::move(on_expedite_);
  const auto close = std::move(on_close_);
  on_drain_ = nullptr;
  on_expedite_ = nullptr;
  on_close_ = nullptr;
  connection->end_response(exchange_.keep_alive);
}

void ResponseStream::drained() {
  if (!on_drain_) return;
  // A callback may end the stream, which drops the callbacks: it must not be destroyed while it
  // runs.
  auto callback = std::move(on_drain_);
  on_drain_ = nullptr;
  callback();
  if (connection_ != nullptr && !on_drain_) on_drain_ = std::move(callback);
}

void ResponseStream::expedite() {
  const auto callback = std::exchange(on_expedite_, nullptr);
  if (callback) callback();
}

void ResponseStream::closed() {
  closed_ = true;
  connection_ = nullptr;
  const auto drain = std::move(on_drain_);
  const auto flush = std::move(on_expedite_);
  const auto callback = std::move(on_close_);
  on_drain_ = nullptr;
  on_expedite_ = nullptr;
  on_close_ = nullptr;
  try {
    if (callback) callback();
  } catch (...) {
    // The connection is going away; nobody is left whom the failure concerns.
  }
}

}  // namespace millrace::http
