// What every answer of the server that is an event stream has: its headers and its rhythm.
#pragma once

#include <chrono>

#include "http/response_stream.hpp"

namespace millrace::api {

// The silence after which a comment keeps proxies from giving up.
constexpr std::chrono::seconds keep_alive_interval{15};

// Of a stream that nobody may store, change or hold back.
inline const http::Headers& stream_headers() {
  // Never destroyed: at the end of a process the engine's thread may still read it.
  static const http::Headers& headers = *new http::Headers{
      {"Content-Type", "text/event-stream"},
      {"Cache-Control", "no-cache, no-transform"},
      {"X-Accel-Buffering", "no"},
  };
  return headers;
}

}  // namespace millrace::api
