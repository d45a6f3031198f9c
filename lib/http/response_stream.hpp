// The answer to one request, given at once or as a stream.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/message.hpp"

namespace millrace::http {

class Connection;

// Writes the body of an error for a request of this path, as JSON.
using ErrorBody = std::string (*)(const Error& error, std::string_view path);

// How a response must be framed and worded for the request it answers.
struct Exchange {
  bool head_only = false;          // HEAD: the body is left out
  bool http_1_0 = false;           // no chunks: a stream ends with the connection
  bool keep_alive = true;          // the client wants to go on
  std::string cors_origin;         // empty: no CORS headers
  ErrorBody error_body = nullptr;  // of the route; null: the server's own
  std::string path;                // for error_body
};

// Given to a handler with each request. The handler calls `send` once, or `start`, any number of
// `write` and `end`. Dropping it before that answers 500, or cuts the stream off.
// Thread: engine thread only, also the destructor.
// Lifetime: may outlive connection and server; then nothing is sent any more.
class ResponseStream : public std::enable_shared_from_this<ResponseStream> {
 public:
  ResponseStream(std::shared_ptr<Connection> connection, Exchange exchange);
  ~ResponseStream();
  ResponseStream(const ResponseStream&) = delete;
  ResponseStream& operator=(const ResponseStream&) = delete;

  // Sends a complete answer.
  // Errors: invalid_argument (see check_response; nothing is sent, another answer may be), internal
  // when an answer was begun, connection_lost when the peer is gone.
  Result<void> send(int status, const Headers& headers, std::string_view body);
  // Sends an error as JSON, with the status of its row in errors.def.
  Result<void> send_error(const Error& error, const Headers& headers = {});

  // Sends the head of a stream. Errors: as send.
  Result<void> start(int status, const Headers& headers);
  // Queues a part of the body. What is written in one turn of the loop leaves together.
  // Shape: false when more than ServerOptions::write_buffer_bytes wait for the peer, or nobody
  // does.
  bool write(std::string_view bytes);
  // Ends the stream.
  void end();

  // Called each time the buffer has room again after a write that answered false.
  void on_drain(std::function<void()> callback);
  // Called once when the answer can no longer reach the peer before the handler ended it: the peer
  // went away, stalled or asked with HEAD, or the server stops. Called at once when that has
  // happened. Cancel: this is where a handler stops the work that feeds the stream.
  void on_close(std::function<void()> callback);

  // Called once when the server is about to close the connection of an answer that it waited for:
  // what a handler ends at once still reaches the peer.
  void on_expedite(std::function<void()> callback);

  [[nodiscard]] bool is_open() const { return connection_ != nullptr; }

 private:
  friend class Connection;

  Result<void> check_start(int status, const Headers& headers) const;
  void finish();
  // Called by the connection.
  void drained();
  void expedite();
  void closed();

  std::shared_ptr<Connection> connection_;  // null once ended or closed
  Exchange exchange_;
  bool started_ = false;
  bool ended_ = false;   // by the handler
  bool closed_ = false;  // by the peer or the server
  std::function<void()> on_drain_;
  std::function<void()> on_expedite_;
  std::function<void()> on_close_;
};

}  // namespace millrace::http
