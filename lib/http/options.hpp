// What a server can be told.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "http/body_decoder.hpp"
#include "http/request_head.hpp"

namespace millrace::http {

// How long a client may take. Tests set them small.
struct ServerTimes {
  std::chrono::milliseconds head{10'000};        // from a request's first byte to its empty line
  std::chrono::milliseconds keep_alive{30'000};  // between two requests of a connection
  // Within each such span a body must bring body_bytes_per_second on average, or its end.
  std::chrono::milliseconds body_span{10'000};
  std::uint64_t body_bytes_per_second = 1024;
  std::chrono::milliseconds write_stall{60'000};  // without a byte taken by the client
  std::chrono::milliseconds linger{2'000};        // for the client to read a refusal
};

// Units: bytes, but max_connections.
struct ServerOptions {
  std::string host = "127.0.0.1";  // a name or an address to listen on
  std::uint16_t port = 8788;       // 0 takes a free port
  // Beside localhost, 127.0.0.1, [::1] and `host`. "name" allows any port, "name:port" only that
  // one,
  // "*" every host.
  std::vector<std::string> allowed_hosts;
  // Beside the server's own: "https://app.example", "null", or "*" for every origin.
  std::vector<std::string> allowed_origins;
  HeadLimits head;
  BodyLimits body;
  ServerTimes times;
  // Of all requests whose bodies are still coming; one beyond it is answered with too_much_work.
  std::uint64_t buffered_body_bytes = std::uint64_t{256} << 20U;
  std::size_t max_connections = 10'000;
  // Above the first a stream's write answers false; above the second the connection is dropped.
  std::size_t write_buffer_bytes = 16 * 1024;
  std::size_t write_buffer_limit_bytes = 16 * 1024 * 1024;
};

}  // namespace millrace::http
