// The answer to one request, given at once or as a stream: what a handler of a route sees of
// what carries it to the client.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/message.hpp"
#include "http/request_observer.hpp"

namespace millrace::http {

// Writes the body of an error for a request of this path, as JSON.
using ErrorBody = std::function<std::string(const Error& error, std::string_view path)>;

// How a response must be framed and worded for the request it answers.
struct Exchange {
  bool head_only = false;          // HEAD: the body is left out
  bool http_1_0 = false;           // no chunks: a stream ends with the connection
  bool keep_alive = true;          // the client keeps the connection
  std::string cors_origin;         // empty: no CORS headers
  Headers fields;                  // of the zone, in every response
  ErrorBody error_body = nullptr;  // of the route; null: the server's own
  std::string path;                // for error_body
  std::shared_ptr<ObservedRequest> observed = nullptr;  // null where requests are not observed
};

// Given to a handler with each request. The handler calls `send` once, or `start`, any number of
// `write` and `end`. Dropping it before that answers 500, or cuts the stream off.
// Thread: engine thread only, also the destructor.
// Lifetime: may outlive its client; then nothing is sent any more.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;

  // Sends a complete answer.
  // Errors: invalid_argument (see check_response; nothing is sent, another answer may be), internal
  // when an answer was begun, connection_lost when the peer is gone.
  virtual Result<void> send(int status, const Headers& headers, std::string_view body) = 0;
  // Sends an error as JSON, with the status of its row in errors.def.
  virtual Result<void> send_error(const Error& error, const Headers& headers) = 0;
  Result<void> send_error(const Error& error) { return send_error(error, Headers()); }

  // Sends the head of a stream. Errors: as send.
  virtual Result<void> start(int status, const Headers& headers) = 0;
  // The same for a stream of which the size is known: `write` takes so many bytes, and an `end`
  // before them cuts the answer off.
  virtual Result<void> start_sized(int status, const Headers& headers, std::uint64_t size) = 0;
  // Queues a part of the body. What is written in one turn of the loop leaves together.
  // Shape: false when more waits for the peer than its buffer may hold, or nobody does.
  virtual bool write(std::string_view bytes) = 0;
  // Ends the stream.
  virtual void end() = 0;

  // Called each time the buffer has room again after a write that answered false.
  virtual void on_drain(std::function<void()> callback) = 0;
  // Called once when the answer can no longer reach the peer before the handler ended it: the peer
  // went away, stalled or asked with HEAD, or the server stops. Called at once when that has
  // happened. Cancel: this is where a handler stops the work that feeds the stream.
  virtual void on_close(std::function<void()> callback) = 0;
  // Called once when the server is about to close the connection of an answer that it waited for:
  // what a handler ends at once still reaches the peer.
  virtual void on_expedite(std::function<void()> callback) = 0;

  [[nodiscard]] virtual bool is_open() const = 0;
};

}  // namespace millrace::http
