// Content codings, decoded a bounded piece at a time: libcurl's own decoder would inflate a whole
// read at once, which a paused consumer cannot stop.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.hpp"

namespace millrace::net {

// Decodes gzip (also several members in a row) and deflate (zlib-wrapped or raw).
class BodyDecoder {
 public:
  virtual ~BodyDecoder() = default;

  // Takes bytes off the front of `input` and gives what they become; with nothing left to give the
  // answer is empty and so is `input`.
  // Errors: decompression_failed.
  // Lifetime: the answer is a part of `buffer`.
  virtual Result<std::string_view> next(std::string_view& input, std::span<char> buffer) = 0;
  // After the last byte of the body.
  // Errors: stream_truncated when it ended in the middle.
  virtual Result<void> finish() = 0;

  // The decoder for a Content-Encoding header; none when the body is not coded.
  // Errors: unsupported_encoding.
  static Result<std::unique_ptr<BodyDecoder>> for_encoding(std::string_view content_encoding);
};

}  // namespace millrace::net
