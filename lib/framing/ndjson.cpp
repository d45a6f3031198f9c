#include "framing/ndjson.hpp"

#include "base/json.hpp"
#include "framing/buffer.hpp"

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
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    if (!fits(end)) return too_long();
    if (carry_.empty()) {
      give(bytes.substr(0, end), sink);
    } else {
      append_bounded(carry_, bytes.substr(0, end), limits_.line_bytes);
      line_.swap(carry_);
      give(line_, sink);
      reuse(line_);
    }
    bytes.remove_prefix(end + 1);
  }
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
