#include "adapter/tagged_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/invoked_calls.hpp"

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
  static constexpr std::string_view invoke = "<invoke name=";
  static constexpr std::array local_tags{CallTag{"<tool_call>", "</tool_call>"},
                                         CallTag{"<minimax:tool_call>", "</minimax:tool_call>"},
                                         CallTag{invoke, invoked_call_end, invoke}};
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
  if (state_ == State::text && waiting_.empty() && !may_have_tag(delta)) {
    give(delta, reader);
    return;
  }
  piece_at_ = waiting_.size();
  waiting_.append(delta);
  while (at_ < waiting_.size() && step(reader)) {
  }
  waiting_.erase(0, at_);
  searched_ -= std::min(searched_, at_);
  at_ = 0;
}

bool TaggedText::may_have_tag(std::string_view text) const {
  return (reads_late_ || !call_tags_.empty()) && text.find_first_of(firsts_) != text.npos;
}

void TaggedText::Given::add(std::string_view text) {
  if (text.empty()) return;
  last = text.back();
  is_in_code = is_in_code != (std::count(text.begin(), text.end(), '`') % 2 == 1);
}

void TaggedText::give(std::string_view text, TaggedReader& reader) {
  if (text.empty()) return;
  if (reads_late_) given_.add(text);
  reader.on_text(text);
}

void TaggedText::flush(TaggedReader& reader) {
  const std::string rest = std::exchange(waiting_, {}).substr(at_);
  at_ = 0;
  searched_ = 0;
  if (state_ == State::call) {
    give(std::string(call_tags_[call_tag_].open).append(rest), reader);
    state_ = State::text;
  } else if (!rest.empty() && state_ == State::reasoning_part) {
    reader.on_reasoning_part(rest);
  } else if (state_ != State::reasoning_ended) {
    give(rest, reader);
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
  // Behind reasoning a line begins. Blanks between words belong to the text.
  given_.last = '\n';
  state_ = std::exchange(is_late_, false) ? State::text : State::reasoning_ended;
  return true;
}

// The first tag, whose place among those of calls is noted.
TaggedText::Found TaggedText::find_tag(std::string_view text) {
  if (!reads_late_ && call_tags_.empty()) return {};
  Given before = given_;
  std::size_t from = 0;
  for (std::size_t at = text.find_first_of(firsts_); at != text.npos;
       at = text.find_first_of(firsts_, at + 1)) {
    const std::string_view rest = text.substr(at);
    for (std::size_t tag = 0; tag < call_tags_.size(); ++tag) {
      if (!rest.starts_with(call_tags_[tag].open)) continue;
      call_tag_ = tag;
      return {at, false};
    }
    if (!reads_late_ || !rest.starts_with(think_open)) continue;
    before.add(text.substr(from, at - from));
    from = at;
    if (may_reason_at(at, before)) return {at, true};
  }
  return {};
}

// Whether what stands at a place of the text that waits is a tag, and no word about one.
bool TaggedText::may_reason_at(std::size_t at, const Given& before) const {
  constexpr std::string_view quotes = "`'\"([{<";
  const std::size_t place = at_ + at;
  const bool is_first = place == piece_at_ || (place == 0 && waiting_may_reason_);
  if (before.is_in_code || quotes.find(before.last) != quotes.npos) return false;
  return is_first || before.last == '\n';
}

bool TaggedText::read_text(TaggedReader& reader) {
  const std::string_view rest = std::string_view(waiting_).substr(at_);
  const Found found = find_tag(rest);
  if (found.at == std::string_view::npos) {
    const std::size_t size = rest.size() - retain(rest);
    give(rest.substr(0, size), reader);
    at_ += size;
    return false;
  }
  give(rest.substr(0, found.at), reader);
  at_ += found.at;
  at_ += found.is_reasoning ? think_open.size() : call_tags_[call_tag_].open.size();
  state_ = found.is_reasoning ? State::reasoning_part : State::call;
  is_late_ = found.is_reasoning;
  return true;
}

// How many bytes at the end may be the beginning of a tag.
std::size_t TaggedText::retain(std::string_view text) {
  std::size_t retained = 0;
  for (const CallTag& tag : call_tags_) retained = std::max(retained, begun(text, tag.open));
  const std::size_t of_reasoning = reads_late_ ? begun(text, think_open) : 0;
  const std::size_t at = text.size() - of_reasoning;
  Given before = given_;
  if (of_reasoning > 0) before.add(text.substr(0, at));
  const bool may_reason = of_reasoning > 0 && may_reason_at(at, before);
  if (may_reason) retained = std::max(retained, of_reasoning);
  waiting_may_reason_ = may_reason && retained == of_reasoning;
  return retained;
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
    give(std::string(tag.open).append(content).append(tag.close), reader);
  }
  return true;
}

}  // namespace millrace::adapter
