// AWS event stream encoding: binary messages with headers and two checksums, as Bedrock streams
// them.
// Source: AWS, "Amazon event stream specification" (Smithy 2.0).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "framing/framing.hpp"

namespace millrace::framing {

// The CRC-32 of IEEE 802.3, as zlib has it.
// Lifetime: none; a pure function. `before` is the sum of the bytes that stood before.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

// A frame is a message: its event type and its payload. An exception or an error is a frame whose
// event is `failure_mark` and the name of what failed, its payload an object with `message`.
// Errors: event_too_large; stream_corrupt when a checksum or a length is wrong; stream_truncated
// when the body ends inside a message.
class AwsEventStreamFraming final : public Framing {
 public:
  static constexpr std::string_view failure_mark = "failure ";

  explicit AwsEventStreamFraming(FramingLimits limits = {}) : limits_(limits) {}

  Result<void> feed(std::string_view bytes, FrameSink& sink) override;
  Result<void> finish(FrameSink& sink) override;

 private:
  // The headers that say what a message is.
  struct Head {
    std::string_view message_type;
    std::string_view event_type;
    std::string_view exception_type;
    std::string_view error_code;
    std::string_view error_message;
  };
  [[nodiscard]] Result<std::size_t> message_size(std::string_view prelude) const;
  static Result<void> on_message(std::string_view message, FrameSink& sink);
  static bool read_headers(std::string_view bytes, Head& head);
  static void give_failure(const Head& head, std::string_view payload, FrameSink& sink);

  FramingLimits limits_;
  std::string carry_;    // the beginning of a message that is not complete
  std::string message_;  // the message being handled; its memory is used again
};

}  // namespace millrace::framing
