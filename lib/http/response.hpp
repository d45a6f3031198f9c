// The bytes of a response: status line, header fields, chunks and the JSON body of an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/message.hpp"
#include "http/response_stream.hpp"

namespace millrace::http {

// What the server adds to a response by itself.
struct ResponseFraming {
  std::optional<std::size_t> content_length;
  bool chunked = false;
  bool close = false;
  bool write_keep_alive = false;    // HTTP/1.0 clients must be told
  std::string cors_origin;          // empty: no CORS headers
  const Headers* fields = nullptr;  // of the zone; those of the response itself count more
};

// Refuses what would break or forge the framing of a response.
// Errors: invalid_argument for a status outside 200 to 599, a name that is no token, a value with a
// control character, and a field that only the server sets.
Result<void> check_response(int status, const Headers& headers);

// Status line, fields and the empty line. The arguments must have passed check_response.
std::string response_head(int status, const Headers& headers, const ResponseFraming& framing);

// True when a response of this status has a body.
bool has_body(int status);

// Appends one chunk; empty bytes give nothing, since an empty chunk ends a body.
void append_chunk(std::string& out, std::string_view bytes);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

// Shape: {"error":{"code":string,"message":string,"fix":string}}
std::string error_body(const Error& error);
// The same, with "requestId" where requests are observed, or what the route of the request writes
// instead.
std::string error_body(const Error& error, const Exchange& exchange);
// `headers` with the type of that body, and Retry-After when the error says how long to wait.
Headers error_headers(const Error& error, Headers headers);

}  // namespace millrace::http
