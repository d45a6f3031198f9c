#include "adapter/tagged_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::adapter {
namespace {

constexpr std::string_view think_open = "<think>";
constexpr std::string_view think_close = "</think>";
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

// Source: recorded answers of doubao-seed-2.0 in tests of lobehub/lobehub (2026).
std::span<const TaggedText::CallTag> TaggedText::tags_of(Calls calls) {
  static constexpr std::array local_tags{CallTag{"<tool_call>", "</tool_call>"},
                                         CallTag{"<minimax:tool_call>", "</minimax:tool_call>"}};
  static constexpr std::string_view seed_close = "</seed:tool_call>";
  static constexpr std::string_view function = "<function";
  static constexpr std::array seed_tags{CallTag{"seed:tool_call<function", seed_close, function},
                                        CallTag{"seed:tool_call\n<function", seed_close, function},
                                        CallTag{"<seed:tool_call>", seed_close}};
  switch (calls) {
    case Calls::as_text: return {};
    case Calls::local_models: return local_tags;
    case Calls::seed: return seed_tags;
  }
  return {};
}

void TaggedText::feed(std::string_view delta, TaggedReader& reader) {
  if (delta.empty()) return;
  const bool has_tag = !call_tags_.empty() && delta.find_first_of(firsts_) != delta.npos;
  if (state_ == State::text && waiting_.empty() && !has_tag) {
    reader.on_text(delta);
    return;
  }
  waiting_.append(delta);
  while (at_ < waiting_.size() && step(reader)) {
  }
  waiting_.erase(0, at_);
  searched_ -= std::min(searched_, at_);
  at_ = 0;
}

void TaggedText::flush(TaggedReader& reader) {
  const std::string rest = std::exchange(waiting_, {}).substr(at_);
  at_ = 0;
  searched_ = 0;
  if (state_ == State::call) {
    reader.on_text(std::string(call_tags_[call_tag_].open).append(rest));
    state_ = State::text;
  } else if (!rest.empty() && state_ == State::reasoning_part) {
    reader.on_reasoning_part(rest);
  } else if (!rest.empty() && state_ != State::reasoning_ended) {
    reader.on_text(rest);
  }
}

// False when more must come first.
bool TaggedText::step(TaggedReader& reader) {
  switch (state_) {
    case State::start: return read_start();
    case State::reasoning_part: return read_reasoning(reader);
    case State::reasoning_ended: {
      at_ = std::min(waiting_.find_first_not_of(blanks, at_), waiting_.size());
      if (at_ < waiting_.size()) state_ = State::text;
      return true;
    }
    case State::text: return read_text(reader);
    case State::call: return read_call(reader);
  }
  return false;
}

bool TaggedText::read_start() {
  const std::size_t first = waiting_.find_first_not_of(blanks, std::max(at_, searched_));
  searched_ = std::min(first, waiting_.size());
  if (first == std::string::npos) return false;
  const std::string_view text = std::string_view(waiting_).substr(first);
  if (text.starts_with(think_open)) {
    at_ = first + think_open.size();
    state_ = State::reasoning_part;
  } else if (think_open.starts_with(text)) {
    return false;
  } else {
    state_ = State::text;
  }
  return true;
}

bool TaggedText::read_reasoning(TaggedReader& reader) {
  const std::string_view rest = std::string_view(waiting_).substr(at_);
  const std::size_t end = rest.find(think_close);
  const bool has_end = end != std::string_view::npos;
  const std::size_t size = has_end ? end : rest.size() - begun(rest, think_close);
  if (size > 0) reader.on_reasoning_part(rest.substr(0, size));
  at_ += size;
  if (!has_end) return false;
  at_ += think_close.size();
  state_ = State::reasoning_ended;
  return true;
}

// Where the first tag of calls begins, and which it is.
std::size_t TaggedText::find_call(std::string_view text) {
  if (call_tags_.empty()) return text.npos;
  for (std::size_t at = text.find_first_of(firsts_); at != text.npos;
       at = text.find_first_of(firsts_, at + 1)) {
    for (std::size_t tag = 0; tag < call_tags_.size(); ++tag) {
      if (!text.substr(at).starts_with(call_tags_[tag].open)) continue;
      call_tag_ = tag;
      return at;
    }
  }
  return text.npos;
}

bool TaggedText::read_text(TaggedReader& reader) {
  const std::string_view rest = std::string_view(waiting_).substr(at_);
  const std::size_t found = find_call(rest);
  const bool is_call = found != std::string_view::npos;
  std::size_t retained = 0;
  for (const CallTag& tag : call_tags_) {
    if (!is_call) retained = std::max(retained, begun(rest, tag.open));
  }
  const std::size_t size = is_call ? found : rest.size() - retained;
  if (size > 0) reader.on_text(rest.substr(0, size));
  at_ += is_call ? size + call_tags_[call_tag_].open.size() : size;
  if (is_call) state_ = State::call;
  return is_call;
}

bool TaggedText::read_call(TaggedReader& reader) {
  const CallTag& tag = call_tags_[call_tag_];
  const std::size_t end = waiting_.find(tag.close, std::max(at_, searched_));
  if (end == std::string::npos) {
    // The tag may come in pieces.
    searched_ = std::max(at_, waiting_.size() - std::min(waiting_.size(), tag.close.size() - 1));
    if (waiting_.size() - at_ > call_limit_bytes) flush(reader);
    return false;
  }
  state_ = State::text;
  const std::string content = waiting_.substr(at_, end - at_);
  at_ = end + tag.close.size();
  if (!reader.on_call(std::string(tag.retained).append(content))) {
    reader.on_text(std::string(tag.open).append(content).append(tag.close));
  }
  return true;
}

}  // namespace millrace::adapter
