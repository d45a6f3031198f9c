#include "framing/json_values.hpp"

#include "framing/buffer.hpp"

namespace millrace::framing {
namespace {

// White space, a byte order mark, and the brackets and commas of a list.
constexpr std::string_view between = " \t\r\n,[]\xEF\xBB\xBF";

bool is_between(char c) {
  return between.find(c) != std::string_view::npos;
}

}  // namespace

bool JsonValuesFraming::is_broken_at(char c) const {
  if (strings_.inside()) return c == '\n';
  return c == '{' && last_ != ':' && last_ != ',' && last_ != '[';
}

// True when the value that began before ends at this character.
bool JsonValuesFraming::ends_value(char c) {
  const bool was_inside = strings_.inside();
  const bool in_string = strings_.take(c);
  if (was_inside) return false;
  if (c != ' ' && c != '\t' && c != '\r' && c != '\n') last_ = c;
  if (in_string) return false;
  if (c == '{' || c == '[') {
    ++depth_;
  } else if (c == '}' || c == ']') {
    return --depth_ == 0;
  }
  return false;
}

void JsonValuesFraming::give(std::string_view piece, FrameSink& sink) {
  if (carry_.empty()) {
    sink.on_frame(Frame{{}, piece, {}, false});
    return;
  }
  append_bounded(carry_, piece, limits_.event_bytes);
  value_.swap(carry_);
  sink.on_frame(Frame{{}, value_, {}, false});
  reuse(value_);
}

Result<void> JsonValuesFraming::feed(std::string_view bytes, FrameSink& sink) {
  const auto fits = [&](std::size_t more) { return carry_.size() + more <= limits_.event_bytes; };
  const auto too_large = [&] {
    return make_error(Errc::event_too_large, "A JSON value of the body is larger than " +
                                                 std::to_string(limits_.event_bytes) + " bytes.");
  };
  std::size_t from = 0;  // where the value of now begins, when it is inside
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char c = bytes[at];
    if (depth_ > 0) {
      const bool is_broken = is_broken_at(c);
      if (!is_broken && !ends_value(c)) continue;
      const std::size_t size = at + (is_broken ? 0 : 1) - from;
      if (!fits(size)) return too_large();
      give(bytes.substr(from, size), sink);
      if (!is_broken) continue;
      depth_ = 0;
      strings_ = {};
    }
    if (in_word_ && (c == '{' || is_between(c))) {
      if (!fits(at - from)) return too_large();
      in_word_ = false;
      give(bytes.substr(from, at - from), sink);
    }
    if (c == '{') {
      from = at;
      depth_ = 1;
      last_ = c;
    } else if (!in_word_ && !is_between(c)) {
      from = at;
      in_word_ = true;
    }
  }
  if (!inside()) return {};
  if (!fits(bytes.size() - from)) return too_large();
  append_bounded(carry_, bytes.substr(from), limits_.event_bytes);
  return {};
}

Result<void> JsonValuesFraming::finish(FrameSink& sink) {
  if (depth_ > 0) return make_error(Errc::stream_truncated);
  if (in_word_) give({}, sink);
  in_word_ = false;
  return {};
}

}  // namespace millrace::framing
