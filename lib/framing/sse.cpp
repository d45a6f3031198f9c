#include "framing/sse.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/json.hpp"
#include "framing/buffer.hpp"
#include "framing/line_ends.hpp"

namespace millrace::framing {
namespace {

constexpr std::string_view bom = "\xEF\xBB\xBF";
constexpr std::string_view data_field = "data: ";  // as nearly everybody writes it
constexpr std::size_t unframed_limit_bytes = 64UL * 1024UL;

Error too_long(std::size_t limit) {
  return make_error(Errc::line_too_long,
                    "A line of the stream is longer than " + std::to_string(limit) + " bytes.");
}

// True for a field of server-sent events; the last line of a body may be cut in its name.
bool is_field(std::string_view line, bool is_whole) {
  constexpr std::array<std::string_view, 4> names{"data:", "event:", "id:", "retry:"};
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return line.starts_with(name) || (!is_whole && name.starts_with(line));
  });
}

}  // namespace

SseHead read_sse_head(std::string_view head) {
  if (head.starts_with(bom)) head.remove_prefix(bom.size());
  SseHead found = SseHead::silent;
  LineEnds ends(head);
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t end = ends.next(at);
    const bool is_whole = end != std::string_view::npos;
    const std::string_view line = head.substr(at, is_whole ? end - at : end);
    at = is_whole ? end + 1 : head.size();
    if (line.find_first_not_of(" \t") == std::string_view::npos || line.front() == ':') continue;
    if (!is_field(line, is_whole)) return SseHead::foreign;
    found = SseHead::begun;
  }
  return found;
}

// Removes the BOM from the start of the stream. False when more bytes are needed to know.
bool SseFraming::strip_bom(std::string_view& bytes) {
  while (bom_seen_ < bom.size() && !bytes.empty()) {
    if (bytes.front() != bom[bom_seen_]) {
      carry_.append(bom.substr(0, bom_seen_));
      at_start_ = false;
      return true;
    }
    ++bom_seen_;
    bytes.remove_prefix(1);
  }
  if (bom_seen_ == bom.size()) at_start_ = false;
  return !at_start_;
}

Result<void> SseFraming::feed(std::string_view bytes, FrameSink& sink) {
  if (at_start_ && !strip_bom(bytes)) return {};
  if (skip_line_feed_ && !bytes.empty()) {
    if (bytes.front() == '\n') bytes.remove_prefix(1);
    skip_line_feed_ = false;
  }
  if (bytes.size() == 1 && bytes.front() != '\n' && bytes.front() != '\r' &&
      carry_.size() < limits_.line_bytes) {
    append_bounded(carry_, bytes, limits_.line_bytes);
    return {};
  }
  LineEnds ends(bytes);
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t line_end = ends.next(at);
    if (line_end == std::string_view::npos) break;
    std::string_view line = bytes.substr(at, line_end - at);
    at = line_end + 1;
    if (bytes[line_end] == '\r') {
      if (at == bytes.size()) {
        skip_line_feed_ = true;
      } else if (bytes[at] == '\n') {
        ++at;
      }
    }
    if (carry_.size() + line.size() > limits_.line_bytes) return too_long(limits_.line_bytes);
    const bool blank_follows = at < bytes.size() && (bytes[at] == '\n' || bytes[at] == '\r');
    if (carry_.empty()) {
      MILLRACE_TRY(on_line(line, blank_follows, sink));
    } else {
      append_bounded(carry_, line, limits_.line_bytes);
      line_.swap(carry_);
      MILLRACE_TRY(on_line(line_, blank_follows, sink));
      reuse(line_);
    }
  }
  const std::string_view rest = bytes.substr(at);
  if (carry_.size() + rest.size() > limits_.line_bytes) return too_long(limits_.line_bytes);
  append_bounded(carry_, rest, limits_.line_bytes);
  return {};
}

Result<void> SseFraming::finish(FrameSink& sink) {
  if (at_start_) carry_.append(bom.substr(0, bom_seen_));
  line_.swap(carry_);
  if (dispatch_ == SseDispatch::blank_line) return {};
  if (!line_.empty()) MILLRACE_TRY(on_line(line_, false, sink));
  if (data_lines_ > 0) give_held(sink);
  return {};
}

Result<void> SseFraming::on_line(std::string_view line, bool blank_follows, FrameSink& sink) {
  if (line.empty()) {
    if (data_lines_ > 0) give_held(sink);
    event_.clear();
    in_unframed_ = false;
    return {};
  }
  if (line.starts_with(data_field)) {
    return on_data(line.substr(data_field.size()), blank_follows, sink);
  }
  if (dispatch_ == SseDispatch::complete_json && keep_unframed(line)) return {};
  const std::size_t colon = line.find(':');
  if (colon == 0) return {};
  if (colon == std::string_view::npos) return on_field(line, {}, blank_follows, sink);
  std::string_view value = line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  return on_field(line.substr(0, colon), value, blank_follows, sink);
}

// True for a line of an object of JSON that stands by itself.
bool SseFraming::keep_unframed(std::string_view line) {
  constexpr std::string_view error_field = "error: {";
  if (line.starts_with(error_field)) {
    unframed_ = R"({"error":)";
    unframed_.append(line.substr(error_field.size() - 1, unframed_limit_bytes)).push_back('}');
    return true;
  }
  if (!in_unframed_) {
    if (line.front() != '{') return false;
    unframed_.clear();
    in_unframed_ = true;
  }
  if (unframed_.size() + line.size() <= unframed_limit_bytes)
    unframed_.append(line).push_back('\n');
  return true;
}

Result<void> SseFraming::on_field(std::string_view name, std::string_view value, bool blank_follows,
                                  FrameSink& sink) {
  if (name == "data") return on_data(value, blank_follows, sink);
  if (name == "event") {
    event_ = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) id_ = value;
  } else if (name == "retry") {
    std::int64_t milliseconds = 0;
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), milliseconds);
    const bool digits = !value.empty() && value.front() != '-' && error == std::errc() &&
                        end == value.data() + value.size();
    if (digits) retry_ = milliseconds;
  }
  return {};
}

Result<void> SseFraming::on_data(std::string_view value, bool blank_follows, FrameSink& sink) {
  seen_data_ = true;
  in_unframed_ = false;
  const std::size_t line_feed = data_lines_ > 0 ? 1 : 0;
  if (data_.size() + line_feed + value.size() > limits_.event_bytes) {
    return make_error(Errc::event_too_large, "An event of the stream is larger than " +
                                                 std::to_string(limits_.event_bytes) + " bytes.");
  }
  if (data_lines_ == 0) {
    if (blank_follows || (dispatch_ == SseDispatch::complete_json && json::looks_complete(value))) {
      give(value, sink);
      return {};
    }
  }
  if (data_lines_ > 0) append_bounded(data_, "\n", limits_.event_bytes);
  append_bounded(data_, value, limits_.event_bytes);
  ++data_lines_;
  return {};
}

void SseFraming::give(std::string_view data, FrameSink& sink) {
  sink.on_frame(Frame{event_, data, id_, false});
}

void SseFraming::give_held(FrameSink& sink) {
  held_.swap(data_);
  const bool several = data_lines_ > 1;
  data_lines_ = 0;
  sink.on_frame(Frame{event_, held_, id_, several});
  reuse(held_);
}

}  // namespace millrace::framing
