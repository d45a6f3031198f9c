// SSE bytes in, the texts of its records out, for a host that parses the JSON itself and must see
// every value as its own parser makes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "framing/framing.hpp"
#include "framing/sse.hpp"

namespace millrace::adapter {

// Appends each payload, trimmed, with malformed UTF-8 replaced, and `terminator` behind it. Empty
// payloads and [DONE] are left out. A payload that was joined from several lines holds LF between
// them. A body without a single record that is a plain JSON error is given as one payload.
// Errors: line_too_long, event_too_large.
// Thread: any, one at a time.
// Lifetime: `out` outlives the splitter.
class RawPayloads final : private framing::FrameSink {
 public:
  // No SSE payload can hold it.
  static constexpr char terminator = '\r';

  RawPayloads(std::string& out, framing::FramingLimits limits)
      : out_(out), framing_(framing::SseDispatch::complete_json, limits) {}

  Result<void> feed(std::string_view bytes);
  Result<void> finish();

 private:
  void on_frame(const framing::Frame& frame) override;
  void give(std::string_view payload);
  void remember(std::string_view bytes);

  std::string& out_;
  framing::SseFraming framing_;
  std::string head_;  // the beginning of a body in which no record was found yet
  std::size_t total_bytes_ = 0;
  std::size_t frames_ = 0;
};

}  // namespace millrace::adapter
