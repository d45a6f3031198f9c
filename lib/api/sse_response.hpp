// What every answer of the server that is an event stream has: its headers and its rhythm.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/ascii.hpp"
#include "encoder/ag_ui.hpp"
#include "encoder/ag_ui_proto.hpp"
#include "http/response_stream.hpp"

namespace millrace::api {

// The silence after which a comment, or an event, keeps proxies from giving up.
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

// Whether the `Accept` of a request names a media type, in whatever case.
inline bool accepts(const http::Request& request, std::string_view type) {
  return lowered(request.headers.find("Accept").value_or("")).find(type) != std::string::npos;
}

// Of the same stream as frames of protobuf, or as server-sent events.
inline http::Headers ag_ui_headers(bool is_binary) {
  if (!is_binary) return stream_headers();
  return {{"Content-Type", std::string(encoder::ag_ui_proto_type)},
          {"Cache-Control", "no-cache, no-transform"},
          {"X-Accel-Buffering", "no"}};
}

// What such a stream gets while nothing happens.
inline std::string ag_ui_keep_alive(bool is_binary) {
  return is_binary ? encoder::ag_ui_proto_keep_alive()
                   : std::string(encoder::AgUiEncoder::keep_alive);
}

// Whether the client of a request accepts frames of protobuf.
inline bool wants_binary(const http::Request& request, std::string_view client_version) {
  const auto accept = request.headers.find("accept");
  return accept && encoder::wants_ag_ui_proto(*accept, client_version);
}

}  // namespace millrace::api
