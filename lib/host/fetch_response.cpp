#include "host/fetch_response.hpp"

#include <algorithm>
#include <utility>

#include "base/error_json.hpp"
#include "http/response.hpp"
#include "os/event_loop.hpp"

namespace millrace::host {
namespace {

std::string cut_off() {
  return error_json(make_error(Errc::internal, "The answer was cut off."));
}

}  // namespace

FetchStream::Response::~Response() {
  if (!stream_ || stream_->closed_) return;
  if (!has_begun_) {
    (void)Response::send_error(
        make_error(Errc::internal, "The handler of the route ended without an answer."), {});
  } else {
    stream_->close(cut_off());
  }
}

Result<void> FetchStream::Response::send(int status, const http::Headers& headers,
                                         std::string_view body) {
  MILLRACE_TRY(begin(status, headers, std::nullopt));
  if (!Response::is_open()) {
    forget();
    is_whole_ = true;
    return {};
  }
  if (http::has_body(status)) stream_->push(body);
  Response::end();
  return {};
}

Result<void> FetchStream::Response::send_error(const Error& error, const http::Headers& headers) {
  http::Exchange exchange;
  if (stream_) {
    exchange.error_body = stream_->error_body_;
    exchange.path = stream_->path_;
    exchange.observed = stream_->observed_;
  }
  const std::string body = http::error_body(error, exchange);
  return Response::send(row_of(error.code).http_status, http::error_headers(error, headers), body);
}

Result<void> FetchStream::Response::begin(int status, http::Headers headers,
                                          std::optional<std::uint64_t> size) {
  if (!Response::is_open()) {
    return make_error(Errc::connection_lost, "The client closed the connection.");
  }
  if (has_begun_) return make_error(Errc::internal, "The response was already begun.");
  MILLRACE_TRY(http::check_response(status, headers));
  has_begun_ = true;
  left_ = http::has_body(status) ? size : std::nullopt;
  if (left_) headers.add("Content-Length", std::to_string(*left_));
  stream_->open(status, headers);
  if (http::has_body(status) && !stream_->is_head_) {
    if (!size && stream_->observed_) stream_->observed_->begin_stream();
    return {};
  }
  // Nothing more is sent, which a handler that streams until its client goes away must be
  // notified of; not from inside this call, though.
  const auto stream = std::exchange(stream_, nullptr);
  stream->close({});
  stream->services_.loop.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->closed();
  });
  return {};
}

bool FetchStream::Response::write(std::string_view bytes) {
  if (!is_open() || !has_begun_) return false;
  if (left_) {
    bytes =
        bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(*left_, bytes.size())));
    *left_ -= bytes.size();
  }
  return stream_->push(bytes);
}

void FetchStream::Response::end() {
  if (!Response::is_open() || !has_begun_) return;
  const auto stream = std::exchange(stream_, nullptr);
  forget();
  stream->close(left_.value_or(0) > 0 ? cut_off() : std::string());
}

void FetchStream::Response::expedite() {
  const auto callback = std::exchange(on_expedite_, nullptr);
  if (callback && !has_begun_) callback();
}

void FetchStream::Response::drained() {
  // A callback may end the stream, which drops the callbacks.
  const auto callback = on_drain_;
  if (callback) callback();
}

void FetchStream::Response::closed() {
  stream_ = nullptr;
  if (is_whole_) return;
  was_closed_ = true;
  const auto callback = std::exchange(on_close_, nullptr);
  forget();
  if (callback) callback();
}

void FetchStream::Response::forget() {
  on_drain_ = nullptr;
  on_close_ = nullptr;
  on_expedite_ = nullptr;
}

}  // namespace millrace::host
