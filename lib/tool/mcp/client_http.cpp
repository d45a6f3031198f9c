// A Client's HTTP transfers, and what its link tells it.
#include <utility>

#include "tool/mcp/client_parts.hpp"

namespace millrace::mcp {

using Clock = std::chrono::steady_clock;

void Client::fetch(ExchangeId id, HttpRequest http_request) {
  net::Request request;
  request.method = std::move(http_request.method);
  request.url = std::move(http_request.url);
  for (HttpField& field : http_request.headers) {
    net::Header& header = request.headers.emplace_back();
    header.name = std::move(field.name);
    header.value = std::move(field.value);
  }
  request.has_body = !http_request.body.empty();
  request.body = std::move(http_request.body);
  request.timeouts.connect = options_.connect_timeout;
  request.limits.decoded_bytes = 0;
  request.redirects = net::Redirects::report;
  request.route = options_.route;
  auto exchange = std::make_shared<Exchange>(shared_from_this(), id);
  exchange->transfer = http_.start(std::move(request), exchange);
  if (is_paused_) http_.pause(exchange->transfer);
  transfers_.emplace(id, std::move(exchange));
}

void Client::abandon(ExchangeId id) {
  const auto at = transfers_.find(id);
  if (at == transfers_.end()) return;
  const auto exchange = std::move(at->second);
  transfers_.erase(at);
  exchange->detach();
  http_.cancel(exchange->transfer);
}

void Client::received(std::string_view json, RequestId beside) {
  session_.received(json, Clock::now(), beside);
}

bool Client::waits_for(RequestId id) const {
  return session_.waits_for(id);
}

void Client::request_failed(RequestId id, Error error) {
  session_.request_failed(id, std::move(error), Clock::now());
}

void Client::session_lost(RequestId id, std::string_view words) {
  session_.session_lost(id, words, Clock::now());
}

void Client::answers_lost(RequestId rejected) {
  session_.answers_lost(rejected);
}

void Client::unauthorized(int status, std::string_view challenge) {
  session_.hold(Clock::now());
  if (host_ != nullptr) host_->unauthorized(status, challenge);
}

void Client::broken(Error why) {
  const Error error = session_.first_failure(std::move(why));
  if (was_open_) {
    session_.disconnected(error);
  } else {
    session_.close(error);
  }
}

}  // namespace millrace::mcp
