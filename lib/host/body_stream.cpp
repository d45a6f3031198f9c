#include "host/body_stream.hpp"

#include <cstdint>
#include <utility>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "base/utf8.hpp"

namespace millrace::host {
namespace {

constexpr std::size_t early_limit_bytes = std::size_t{64} << 10U;
// Of bodies that are handed on as bytes. Well above what a reader that keeps up is given at once,
// so that its provider never stops; what becomes objects takes many times its size, and gets no
// more than others.
constexpr std::size_t ahead_limit_bytes = std::size_t{512} << 10U;

// The bytes of a header as text: a code point each, as the Fetch standard reads them.
std::string from_latin1(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    utf8::append_code_point(text, static_cast<unsigned char>(byte));
  }
  return text;
}

std::string head_json(const net::ResponseHead& head) {
  std::string out = "{";
  json::append_member(out, "status", std::int64_t{head.status});
  json::append_member(out, "statusText", from_latin1(head.reason));
  std::string headers = "[";
  for (const net::Header& header : head.headers) {
    if (headers.size() > 1) headers.push_back(',');
    headers.push_back('[');
    json::append_string(headers, header.name);
    headers.push_back(',');
    json::append_string(headers, from_latin1(header.value));
    headers.push_back(']');
  }
  headers.push_back(']');
  json::append_raw_member(out, "headers", headers);
  json::append_member(out, "url", head.url);
  json::append_raw_member(out, "redirected", head.redirected ? "true" : "false");
  out.push_back('}');
  return out;
}

}  // namespace

void BodyStream::start(net::Request request, std::shared_ptr<BodyStream> self) {
  transfer_ = owner_.client.start(std::move(request), std::move(self));
}

void BodyStream::on_head(net::ResponseHead head) {
  has_head_ = true;
  owner_.queue.flush(id_);
  owner_.queue.push_head(id_, head_json(head));
}

void BodyStream::on_data(std::string_view decoded) {
  if (pipe_) {
    pipe_->feed(decoded);
    deliver();
    if (has_begun_ && !std::exchange(is_deprioritized_, true))
      owner_.client.deprioritize(transfer_);
    if (pipe_->is_over()) {
      wait_for_end();
    } else {
      // Another message may follow one that has ended.
      grace_timer_.reset();
    }
    return;
  }
  early_.append(decoded);
  if (early_.size() < early_limit_bytes || early_paused_) return;
  early_paused_ = true;
  owner_.client.pause(transfer_);
}

void BodyStream::on_done(std::optional<Error> error) {
  ended_ = true;
  error_ = std::move(error);
  // Without a head the error is the answer to the request; else it waits for a reader.
  if (pipe_ || !has_head_) finish();
}

void BodyStream::read_as(const PipeSpec& spec) {
  if (pipe_ || closed_) return;
  pipe_ = make_pipe(spec);
  if (shape_of(spec.kind) == OutputShape::bytes) owner_.queue.allow(id_, ahead_limit_bytes);
  if (!early_.empty()) pipe_->feed(early_);
  std::string().swap(early_);
  const bool room = deliver();
  if (ended_) {
    finish();
    return;
  }
  if (room && early_paused_) owner_.client.resume(transfer_);
  if (pipe_->is_over()) wait_for_end();
}

// Some servers never close the connection of an answer that has ended.
void BodyStream::wait_for_end() {
  if (closed_ || ended_ || grace_timer_) return;
  grace_timer_ = std::make_unique<os::Timer>(owner_.loop, [this] {
    if (!ended_) on_done(std::nullopt);
  });
  grace_timer_->start_at(os::Timer::Clock::now() + adapter::end_grace_period);
}

void BodyStream::resume() {
  owner_.client.resume(transfer_);
}

void BodyStream::cancel() {
  closed_ = true;
  owner_.client.cancel(transfer_);
}

bool BodyStream::deliver() {
  if (closed_) return false;
  std::string& output = pipe_->output();
  if (!output.empty() && !std::exchange(has_begun_, true)) owner_.queue.flush(id_);
  owner_.on_output(output.size());
  const bool room = owner_.queue.push(id_, output);
  constexpr std::size_t retained_bytes = std::size_t{64} << 10U;
  output.clear();
  if (output.capacity() > retained_bytes) output.shrink_to_fit();
  if (pipe_->done() && !ended_) {
    close({});
    return false;
  }
  if (!room) owner_.client.pause(transfer_);
  return room;
}

void BodyStream::finish() {
  if (closed_) return;
  std::string end;
  if (!pipe_) {
    end = error_ ? error_json(*error_) : std::string();
  } else if (!error_) {
    pipe_->finish();
  } else if (!pipe_->fail(*error_)) {
    end = error_json(*error_);
  }
  if (pipe_) deliver();
  close(std::move(end));
}

void BodyStream::close(std::string end) {
  if (std::exchange(closed_, true)) return;
  owner_.client.cancel(transfer_);
  owner_.queue.end(id_, std::move(end));
  owner_.forget(id_);
}

}  // namespace millrace::host
