// What every framing gives: frames, one at a time, and its limits.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.hpp"

namespace millrace::framing {

// One record of a stream.
// Lifetime: during the call only.
struct Frame {
  std::string_view event;  // the SSE event name, or ""
  std::string_view data;
  std::string_view id;         // the last SSE id, or ""
  bool several_lines = false;  // data was joined from several `data:` lines
};

class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void on_frame(const Frame& frame) = 0;
};

struct FramingLimits {
  std::size_t line_bytes = 8UL * 1024UL * 1024UL;
  std::size_t event_bytes = 8UL * 1024UL * 1024UL;
};

// Bytes in, frames out. Frames that a chunk completes are given before feed returns. The work is
// linear in the bytes, however they are cut.
// Errors: line_too_long, event_too_large; after an error the framing must not be fed.
// Thread: any, one at a time.
class Framing {
 public:
  virtual ~Framing() = default;
  virtual Result<void> feed(std::string_view bytes, FrameSink& sink) = 0;
  // Gives what stands unterminated at the end of the stream.
  virtual Result<void> finish(FrameSink& sink) = 0;
  // What stood outside of all frames and looks like an object of JSON, the last one, or "".
  // Lifetime: until the next call.
  [[nodiscard]] virtual std::string_view unframed() const { return {}; }
};

}  // namespace millrace::framing
