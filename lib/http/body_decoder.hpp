// Takes a request body out of the bytes behind a head: a counted body or strict chunks.
// Source: RFC 9112 section 7.1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/request_head.hpp"

namespace millrace::http {

// Units: bytes, but trailer_count. Extensions and trailers are counted over the whole body, so that
// many small chunks cannot carry more than one large one.
struct BodyLimits {
  std::uint64_t body_bytes = 8 * 1024 * 1024;
  std::size_t extension_bytes = 4 * 1024;
  std::size_t trailer_bytes = 4 * 1024;
  std::size_t trailer_count = 32;
};

// Errors: body_too_large names the limit.
Error oversized_body(std::uint64_t limit);
// A body is taken as it is. RFC 9110 section 15.5.16 has the status for another coding.
Result<void> check_coding(const Headers& headers);

// Chunk extensions and trailers are checked and dropped: nothing in a trailer is worth the risk
// that it is taken for a header.
class BodyDecoder {
 public:
  BodyDecoder(Framing framing, std::uint64_t content_length, const BodyLimits& limits);

  // Appends what of `bytes` belongs to the body and returns how many bytes it used. It stops behind
  // the body's last byte. Errors: invalid_chunk, invalid_header (a trailer), body_too_large,
  // request_headers_too_large.
  Result<std::size_t> feed(std::string_view bytes, std::string& body);
  [[nodiscard]] bool done() const { return state_ == State::done; }

 private:
  enum class State : std::uint8_t {
    size,
    extension,
    size_end,
    data,
    data_return,
    data_end,
    trailer,
    trailer_end,
    done,
  };

  Result<void> step(char c);
  Result<void> on_size(char c);
  Result<void> on_extension(char c);
  Result<void> on_trailer(char c);
  Result<void> end_size();
  Result<void> end_trailer_line();
  Result<void> expect(char c, char wanted, State next);

  BodyLimits limits_;
  State state_;
  bool counted_;
  std::uint64_t remaining_ = 0;  // of the counted body or of the chunk
  std::uint64_t total_ = 0;      // of all chunks so far
  std::size_t size_digits_ = 0;
  std::size_t extension_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
  std::size_t trailer_count_ = 0;
  std::string line_;  // the unfinished trailer line
};

}  // namespace millrace::http
