#include "http/connection_response.hpp"

#include <algorithm>
#include <utility>

#include "http/connection.hpp"
#include "http/response.hpp"

namespace millrace::http {

namespace {

Error server_stops() {
  return make_error(Errc::engine_closed,
                    "The server stops before it has an answer. What the request began may go on at "
                    "its next start: look for it there before you send the request again.");
}

}  // namespace

ConnectionResponse::ConnectionResponse(std::shared_ptr<Connection> connection, Exchange exchange)
    : connection_(std::move(connection)), exchange_(std::move(exchange)) {}

ConnectionResponse::~ConnectionResponse() {
  if (connection_ == nullptr) return;
  if (started_) {
    connection_->close();
    return;
  }
  exchange_.keep_alive = false;
  (void)send_error(make_error(Errc::internal, "The handler of the route ended without an answer."),
                   Headers());
}

Result<void> ConnectionResponse::check_start(int status, const Headers& headers) const {
  if (closed_) return make_error(Errc::connection_lost, "The client closed the connection.");
  if (connection_ == nullptr || started_) {
    return make_error(Errc::internal, "The response was already begun.");
  }
  return check_response(status, headers);
}

RequestIdentity ConnectionResponse::identity() const {
  return exchange_.observed ? exchange_.observed->report.identity : RequestIdentity();
}

void ConnectionResponse::note(int status) {
  if (exchange_.observed) exchange_.observed->report.status = status;
}

void ConnectionResponse::note_part(std::size_t bytes) {
  if (exchange_.observed) exchange_.observed->report.bytes += bytes;
}

Result<void> ConnectionResponse::send(int status, const Headers& headers, std::string_view body) {
  MILLRACE_TRY(check_start(status, headers));
  started_ = true;
  exchange_.keep_alive = exchange_.keep_alive && connection_->may_go_on();
  ResponseFraming framing;
  if (has_body(status)) framing.content_length = body.size();
  framing.close = !exchange_.keep_alive;
  framing.write_keep_alive = exchange_.http_1_0 && exchange_.keep_alive;
  framing.cors_origin = exchange_.cors_origin;
  framing.fields = &exchange_.fields;
  connection_->queue(response_head(status, headers, framing));
  note(status);
  if (has_body(status) && !exchange_.head_only) {
    note_part(body.size());
    connection_->queue(body);
  }
  finish();
  return {};
}

Result<void> ConnectionResponse::send_error(const Error& error, const Headers& headers) {
  return send(row_of(error.code).http_status, error_headers(error, headers),
              error_body(error, exchange_));
}

Result<void> ConnectionResponse::start(int status, const Headers& headers) {
  return begin(status, headers, std::nullopt);
}

Result<void> ConnectionResponse::start_sized(int status, const Headers& headers,
                                             std::uint64_t size) {
  return begin(status, headers, has_body(status) ? std::optional(size) : std::nullopt);
}

Result<void> ConnectionResponse::begin(int status, const Headers& headers,
                                       std::optional<std::uint64_t> size) {
  MILLRACE_TRY(check_start(status, headers));
  started_ = true;
  left_ = size;
  chunked_ = has_body(status) && !size && !exchange_.http_1_0;
  const bool needs_no_end = chunked_ || size || exchange_.head_only || !has_body(status);
  exchange_.keep_alive = exchange_.keep_alive && connection_->may_go_on() && needs_no_end;
  ResponseFraming framing;
  framing.chunked = chunked_;
  if (size) framing.content_length = static_cast<std::size_t>(*size);
  framing.close = !exchange_.keep_alive;
  framing.write_keep_alive = exchange_.http_1_0 && exchange_.keep_alive;
  framing.cors_origin = exchange_.cors_origin;
  framing.fields = &exchange_.fields;
  connection_->queue(response_head(status, headers, framing));
  note(status);
  if (has_body(status) && !exchange_.head_only) {
    if (!size && exchange_.observed) exchange_.observed->begin_stream();
    return {};
  }
  // Nothing more will be sent, which a handler that streams until its peer goes away must hear; not
  // from inside this call, though, and also when it registers its callback after it.
  const auto connection = std::exchange(connection_, nullptr);
  if (exchange_.observed) exchange_.observed->report.is_complete = true;
  exchange_.observed.reset();
  connection->end_response(exchange_.keep_alive);
  connection->post([self = shared_from_this()] { self->closed(); });
  return {};
}

bool ConnectionResponse::write(std::string_view bytes) {
  if (connection_ == nullptr || !started_) return false;
  if (left_) {
    bytes =
        bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(*left_, bytes.size())));
    *left_ -= bytes.size();
  }
  note_part(bytes.size());
  connection_->queue_part(bytes, chunked_);
  return connection_->has_room();
}

void ConnectionResponse::end() {
  if (connection_ == nullptr || !started_) return;
  if (left_.value_or(0) > 0) return connection_->close();
  if (chunked_) connection_->queue(last_chunk);
  finish();
}

void ConnectionResponse::on_drain(std::function<void()> callback) {
  if (connection_ != nullptr) on_drain_ = std::move(callback);
}

void ConnectionResponse::on_expedite(std::function<void()> callback) {
  if (connection_ != nullptr) on_expedite_ = std::move(callback);
}

void ConnectionResponse::on_close(std::function<void()> callback) {
  if (closed_) {
    callback();
  } else if (!ended_) {
    on_close_ = std::move(callback);
  }
}

// The callbacks may hold the last references to this object, so they go last.
void ConnectionResponse::finish() {
  ended_ = true;
  if (exchange_.observed) exchange_.observed->report.is_complete = true;
  exchange_.observed.reset();
  const auto connection = std::exchange(connection_, nullptr);
  const auto drain = std::move(on_drain_);
  const auto flush = std::move(on_expedite_);
  const auto close = std::move(on_close_);
  on_drain_ = nullptr;
  on_expedite_ = nullptr;
  on_close_ = nullptr;
  connection->end_response(exchange_.keep_alive);
}

void ConnectionResponse::drained() {
  if (!on_drain_) return;
  // A callback may end the stream, which drops the callbacks: it must not be destroyed while it
  // runs.
  auto callback = std::move(on_drain_);
  on_drain_ = nullptr;
  callback();
  if (connection_ != nullptr && !on_drain_) on_drain_ = std::move(callback);
}

void ConnectionResponse::expedite() {
  const auto callback = std::exchange(on_expedite_, nullptr);
  if (callback) return callback();
  // A handler that has nothing to say of its own: without a status the client could not know
  // whether its request was read.
  if (!started_) (void)send_error(server_stops(), Headers());
}

void ConnectionResponse::closed() {
  closed_ = true;
  connection_ = nullptr;
  exchange_.observed.reset();
  const auto drain = std::move(on_drain_);
  const auto flush = std::move(on_expedite_);
  const auto callback = std::move(on_close_);
  on_drain_ = nullptr;
  on_expedite_ = nullptr;
  on_close_ = nullptr;
  try {
    if (callback) callback();
  } catch (...) {
    // The connection is going away; the failure concerns no request any more.
  }
}

}  // namespace millrace::http
