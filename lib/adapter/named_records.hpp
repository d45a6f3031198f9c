// SSE bytes in, the names, ids and texts of its records out, for a host that reads a stream whose
// record names say what each record is, such as the LobeHub chat stream.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "framing/framing.hpp"
#include "framing/sse.hpp"

namespace millrace::adapter {

// Appends `name LF id LF payload` and `terminator` for each record, with malformed UTF-8 replaced.
// Records with an empty payload and [DONE] are left out. A body without a single record that is not
// blank gives one record named "text" with the whole body as a JSON string.
// Errors: line_too_long, event_too_large.
// Thread: any, one at a time.
// Lifetime: `out` outlives the splitter.
class NamedRecords final : private framing::FrameSink {
 public:
  // Neither a name nor an id nor a payload can hold it.
  static constexpr char terminator = '\r';

  NamedRecords(std::string& out, framing::FramingLimits limits)
      : out_(out), limits_(limits), framing_(framing::SseDispatch::blank_line_or_end, limits) {}

  Result<void> feed(std::string_view bytes);
  Result<void> finish();

 private:
  void on_frame(const framing::Frame& frame) override;
  void append(std::string_view text);
  void give_body();

  std::string& out_;
  framing::FramingLimits limits_;
  framing::SseFraming framing_;
  std::string body_;  // of a stream in which no record was found yet
  bool found_ = false;
};

}  // namespace millrace::adapter
