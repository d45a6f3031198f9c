#include "framing/ndjson.hpp"

#include "base/json.hpp"

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
      carry_.append(bytes.substr(0, end));
      const std::string whole = std::move(carry_);
      carry_.clear();
      give(whole, sink);
    }
    bytes.remove_prefix(end + 1);
  }
  if (!fits(bytes.size())) return too_long();
  carry_.append(bytes);
  return {};
}

Result<void> NdjsonFraming::finish(FrameSink& sink) {
  const std::string last = std::move(carry_);
  carry_.clear();
  give(last, sink);
  return {};
}

}  // namespace millrace::framing
