#include "framing/ndjson.hpp"

#include "base/json.hpp"
#include "framing/buffer.hpp"
#include "framing/line_ends.hpp"

namespace millrace::framing {
namespace {

void give(std::string_view line, FrameSink& sink) {
  line = json::trim(line);
  if (!line.empty()) sink.on_frame(Frame{{}, line, {}, false});
}

}  // namespace

Result<void> NdjsonFraming::feed(std::string_view bytes, FrameSink& sink) {
  const auto fits = [&](std::size_t more) { return carry_.size() + more <= limits_.line_bytes; };
  const auto too_long = [&] {
    return make_error(Errc::line_too_long, "A line of the stream is longer than " +
                                               std::to_string(limits_.line_bytes) + " bytes.");
  };
  LineEnds ends(bytes);
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t end = ends.next(at);
    if (end == std::string_view::npos) break;
    // Of a CR and its LF the second ends a blank line.
    const std::string_view line = bytes.substr(at, end - at);
    at = end + 1;
    if (!fits(line.size())) return too_long();
    if (carry_.empty()) {
      give(line, sink);
    } else {
      append_bounded(carry_, line, limits_.line_bytes);
      line_.swap(carry_);
      give(line_, sink);
      reuse(line_);
    }
  }
  bytes.remove_prefix(at);
  if (!fits(bytes.size())) return too_long();
  append_bounded(carry_, bytes, limits_.line_bytes);
  return {};
}

Result<void> NdjsonFraming::finish(FrameSink& sink) {
  line_.swap(carry_);
  give(line_, sink);
  return {};
}

}  // namespace millrace::framing
