#include "adapter/tagged_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::adapter {
namespace {

constexpr std::string_view think_open = "<think>";
constexpr std::string_view think_close = "</think>";
struct CallTag {
  std::string_view open;
  std::string_view close;
};
constexpr std::array call_tags{CallTag{"<tool_call>", "</tool_call>"},
                               CallTag{"<minimax:tool_call>", "</minimax:tool_call>"}};
constexpr std::string_view blanks = " \t\r\n";
// A call that is longer is none.
constexpr std::size_t call_limit_bytes = std::size_t{1} << 20U;

// Bytes at the end of `text` that may be the beginning of `tag`.
std::size_t begun(std::string_view text, std::string_view tag) {
  for (std::size_t size = std::min(text.size(), tag.size() - 1); size > 0; --size) {
    if (tag.starts_with(text.substr(text.size() - size))) return size;
  }
  return 0;
}

}  // namespace

void TaggedText::feed(std::string_view delta, TaggedReader& reader) {
  if (delta.empty()) return;
  const bool has_tag = reads_calls_ && delta.find('<') != std::string_view::npos;
  if (state_ == State::text && waiting_.empty() && !has_tag) {
    reader.on_text(delta);
    return;
  }
  waiting_.append(delta);
  while (!waiting_.empty() && step(reader)) {
  }
}

void TaggedText::flush(TaggedReader& reader) {
  const std::string rest = std::exchange(waiting_, {});
  if (state_ == State::call) {
    reader.on_text(std::string(call_tags[call_tag_].open).append(rest));
    state_ = State::text;
  } else if (!rest.empty() && state_ == State::thought) {
    reader.on_thought(rest);
  } else if (!rest.empty() && state_ != State::thought_ended) {
    reader.on_text(rest);
  }
}

// False when more must come first.
bool TaggedText::step(TaggedReader& reader) {
  switch (state_) {
    case State::start: return read_start();
    case State::thought: return read_thought(reader);
    case State::thought_ended: {
      const std::size_t first = waiting_.find_first_not_of(blanks);
      waiting_.erase(0, std::min(first, waiting_.size()));
      if (!waiting_.empty()) state_ = State::text;
      return true;
    }
    case State::text: return read_text(reader);
    case State::call: return read_call(reader);
  }
  return false;
}

bool TaggedText::read_start() {
  const std::size_t first = waiting_.find_first_not_of(blanks);
  if (first == std::string::npos) return false;
  const std::string_view text = std::string_view(waiting_).substr(first);
  if (text.starts_with(think_open)) {
    waiting_.erase(0, first + think_open.size());
    state_ = State::thought;
  } else if (think_open.starts_with(text)) {
    return false;
  } else {
    state_ = State::text;
  }
  return true;
}

bool TaggedText::read_thought(TaggedReader& reader) {
  const std::size_t end = waiting_.find(think_close);
  if (end != std::string::npos) {
    if (end > 0) reader.on_thought(std::string_view(waiting_).substr(0, end));
    waiting_.erase(0, end + think_close.size());
    state_ = State::thought_ended;
    return true;
  }
  const std::size_t kept = begun(waiting_, think_close);
  const std::size_t size = waiting_.size() - kept;
  if (size > 0) reader.on_thought(std::string_view(waiting_).substr(0, size));
  waiting_.erase(0, size);
  return false;
}

bool TaggedText::read_text(TaggedReader& reader) {
  std::size_t found = std::string::npos;
  std::size_t kept = 0;
  for (std::size_t tag = 0; reads_calls_ && tag < call_tags.size(); ++tag) {
    const std::size_t at = waiting_.find(call_tags[tag].open);
    kept = std::max(kept, begun(waiting_, call_tags[tag].open));
    if (at >= found) continue;
    found = at;
    call_tag_ = tag;
  }
  const bool is_call = found != std::string::npos;
  const std::size_t size = is_call ? found : waiting_.size() - kept;
  if (size > 0) reader.on_text(std::string_view(waiting_).substr(0, size));
  waiting_.erase(0, is_call ? size + call_tags[call_tag_].open.size() : size);
  if (is_call) state_ = State::call;
  return is_call;
}

bool TaggedText::read_call(TaggedReader& reader) {
  const CallTag& tag = call_tags[call_tag_];
  const std::size_t end = waiting_.find(tag.close);
  if (end == std::string::npos) {
    if (waiting_.size() > call_limit_bytes) flush(reader);
    return false;
  }
  state_ = State::text;
  const std::string content = waiting_.substr(0, end);
  waiting_.erase(0, end + tag.close.size());
  if (!reader.on_call(content)) {
    reader.on_text(std::string(tag.open).append(content).append(tag.close));
  }
  return true;
}

}  // namespace millrace::adapter
