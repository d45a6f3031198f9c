// The strict reader of a request's head: raw bytes in, a checked RequestHead or a typed refusal
// out.
//
// A server and the proxy before it must agree where a request ends. Whatever two parsers could read
// differently is therefore refused here, and the server closes the connection after a refusal.
// Source: RFC 9110 and RFC 9112.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/message.hpp"

namespace millrace::http {

// Units: bytes, but field_count.
struct HeadLimits {
  std::size_t head_bytes = 16 * 1024;
  std::size_t target_bytes = 8 * 1024;
  std::size_t field_count = 100;
};

// How the length of a request body is known.
enum class Framing : std::uint8_t { none, sized, chunked };

struct RequestHead {
  std::string method;
  std::string target;
  std::string path;   // "*" for the asterisk form
  std::string query;  // without the '?'
  Headers headers;
  int minor_version = 1;
  Framing framing = Framing::none;
  std::uint64_t content_length = 0;
  bool keep_alive = true;
  bool expects_continue = false;
};

// Finds the end of a head that arrives in pieces and refuses at the first byte no head may have.
class HeadScanner {
 public:
  explicit HeadScanner(const HeadLimits& limits) : limits_(limits) {}

  // Looks on behind what the earlier calls saw; `bytes` begins with the head each time.
  // Shape: the length of the head with its empty line, 0 while it is incomplete.
  // Errors: invalid_request_line, invalid_header, target_too_long, request_headers_too_large.
  Result<std::size_t> scan(std::string_view bytes);

 private:
  [[nodiscard]] Result<void> check_byte(char c) const;

  HeadLimits limits_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;        // number of complete lines that are not empty
  std::size_t line_bytes_ = 0;  // of the unfinished line
  bool after_return_ = false;
  bool skipped_empty_line_ = false;
};

// Reads a complete head, from the request line to the empty line.
// Errors: invalid_request_line, invalid_header, invalid_host, invalid_body_length, target_too_long,
// expectation_failed, request_headers_too_large, http_version_not_supported.
Result<RequestHead> parse_request_head(std::string_view head, const HeadLimits& limits);

}  // namespace millrace::http
