#include "event/part_tracker.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "base/visible_text.hpp"

namespace millrace::event {

void PartTracker::pass(const Body& body) {
  count(body);
  if (!failed_ && !hold_state(body)) emit(body);
}

void PartTracker::pass(const Event& event) {
  count(event.body);
  if (!failed_) sink_.on_event(event);
}

void PartTracker::count(const Body& body) {
  if (!std::holds_alternative<Citation>(body) && !std::holds_alternative<ProviderState>(body)) {
    return;
  }
  if (!has_too_many()) ++made_;
}

PartTracker::Index PartTracker::find(Kind kind, std::string_view key) const {
  for (Index at = parts_.size(); at-- > 0;) {
    const Part& part = parts_[at];
    if (part.kind == kind && !part.ended && part.key == key) return at;
  }
  return none;
}

bool PartTracker::is_open(std::string_view key) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const Part& part) { return part.key == key && !part.ended; });
}

std::string_view PartTracker::id_of(std::string_view key) const {
  const auto part = std::find_if(parts_.rbegin(), parts_.rend(),
                                 [&](const Part& p) { return p.key == key && !p.ended; });
  return part == parts_.rend() ? std::string_view() : std::string_view(part->id);
}

// Every lookup runs through the open parts, so that their number is bounded.
bool PartTracker::is_full() {
  if (has_too_many()) return true;
  if (parts_.size() < options_.open_parts_limit) return false;
  fail(row_of(Errc::too_many_parts).code, "More than " + std::to_string(options_.open_parts_limit) +
                                              " parts of the answer are open at a time.");
  return true;
}

bool PartTracker::has_too_many() {
  if (failed_) return true;
  if (!strict() || made_ < options_.parts_limit) return false;
  fail(row_of(Errc::too_many_parts).code, "The answer has more than " +
                                              std::to_string(options_.parts_limit) +
                                              " parts, citations and states.");
  return true;
}

PartTracker::Index PartTracker::add(Kind kind, std::string_view key, std::string_view id) {
  ++made_;
  Part& part = parts_.emplace_back();
  part.kind = kind;
  part.key = key;
  part.id = id;
  return parts_.size() - 1;
}

void PartTracker::claim_id(Part& part) {
  if (part.id.empty()) part.id = ids_.next_id();
  if (!strict() || !options_.distinct_ids || used_ids_.insert(part.id).second) return;
  part.vendor_id = std::move(part.id);
  do {
    part.id = ids_.next_id();
  } while (!used_ids_.insert(part.id).second);
  if (part.kind != Kind::tool) return;
  renamed_calls_.edit().insert_or_assign(part.vendor_id, part.id);
  emit(Warning{row_of(Errc::record_skipped).code,
               "Two calls have one id; the second got another one.", part.vendor_id});
}

void PartTracker::start(Part& part) {
  claim_id(part);
  part.started = true;
  switch (part.kind) {
    case Kind::text: emit(TextStart{part.id, part.role, part.name}); break;
    case Kind::reasoning:
      if (strict() && options_.reasoning_spans) emit(ReasoningSpanStart{part.id});
      emit(ReasoningStart{part.id});
      break;
    case Kind::tool: {
      const bool has_parent = strict() || names_parents_;
      emit(ToolStart{part.id, part.name, has_parent ? std::string_view(part.parent) : "",
                     part.hosted});
      break;
    }
  }
}

// Ends what must not be open beside the part at `at`, then starts it.
void PartTracker::start_in_order(Index at) {
  const Kind kind = parts_[at].kind;
  const std::string key = parts_[at].key;
  const auto close = [&](Kind other) { close_kind(other, kind == other ? find(kind, key) : none); };
  if (strict() || kind != Kind::reasoning) close(Kind::reasoning);
  if (strict() && kind != Kind::reasoning) close(Kind::text);
  start(parts_[find(kind, key)]);
}

void PartTracker::send_piece(const Part& part, std::string_view piece) {
  switch (part.kind) {
    case Kind::text: emit(TextDelta{part.id, piece}); break;
    case Kind::reasoning: emit(ReasoningDelta{part.id, piece}); break;
    case Kind::tool: emit(ToolArgs{part.id, piece}); break;
  }
}

// Sends a delta; in strict mode a pair of surrogates that was split between two deltas is joined.
void PartTracker::send_delta(Part& part, std::string_view delta) {
  if (!strict()) {
    send_piece(part, delta);
    return;
  }
  const std::string_view piece = utf8::join_split_pair(part.held, delta, scratch_);
  if (!piece.empty()) send_piece(part, piece);
}

void PartTracker::end(Index at) {
  Part part = std::move(parts_[at]);
  erase(at);
  if (!part.started) return;
  if (strict() && !part.held.empty()) send_piece(part, part.held);
  switch (part.kind) {
    case Kind::text: emit(TextEnd{part.id}); break;
    case Kind::reasoning:
      emit(ReasoningEnd{part.id});
      if (strict() && options_.reasoning_spans) emit(ReasoningSpanEnd{part.id});
      break;
    case Kind::tool: emit(ToolEnd{part.id}); break;
  }
  if (!part.result) return;
  const HeldResult& r = *part.result;
  emit(ToolResult{r.message_id, part.id, r.content, r.parts_json, r.role, r.failed, r.error});
}

void PartTracker::close_kind(Kind kind, Index except) {
  const std::string retained = except == none ? std::string() : parts_[except].key;
  for (Index at = 0; at < parts_.size();) {
    const Part& part = parts_[at];
    if (part.kind == kind && part.started && (except == none || part.key != retained)) {
      end(at);
    } else {
      ++at;
    }
  }
}

void PartTracker::text_open(std::string_view key, std::string_view id, std::string_view role,
                            std::string_view name) {
  if (failed_ || find(Kind::text, key) != none || is_full()) return;
  const Index at = add(Kind::text, key, id);
  parts_[at].role = role;
  parts_[at].name = name;
  if (!strict()) start(parts_[at]);
}

void PartTracker::text_delta(std::string_view key, std::string_view delta) {
  if (failed_ || (strict() && delta.empty())) return;
  Index at = find(Kind::text, key);
  if (at == none) {
    if (is_full()) return;
    at = add(Kind::text, key, {});
    parts_[at].role = "assistant";
  }
  if (!parts_[at].started) {
    start_in_order(at);
    at = find(Kind::text, key);
  } else if (!strict()) {
    close_kind(Kind::reasoning);
    at = find(Kind::text, key);
  }
  send_delta(parts_[at], delta);
}

void PartTracker::text_close(std::string_view key) {
  const Index at = find(Kind::text, key);
  if (!failed_ && at != none) end(at);
}

void PartTracker::reasoning_open(std::string_view key, std::string_view id) {
  if (failed_ || find(Kind::reasoning, key) != none || is_full()) return;
  const Index at = add(Kind::reasoning, key, id);
  if (!strict()) start(parts_[at]);
}

void PartTracker::reasoning_delta(std::string_view key, std::string_view delta) {
  if (failed_ || delta.empty()) return;
  Index at = find(Kind::reasoning, key);
  if (at == none && is_full()) return;
  if (at == none) at = add(Kind::reasoning, key, {});
  if (!parts_[at].started) {
    start_in_order(at);
    at = find(Kind::reasoning, key);
  }
  send_delta(parts_[at], delta);
}

void PartTracker::reasoning_encrypted(std::string_view key, std::string_view value) {
  if (failed_) return;
  Index at = find(Kind::reasoning, key);
  if (at == none && is_full()) return;
  if (at == none) at = add(Kind::reasoning, key, {});
  if (!parts_[at].started) {
    start_in_order(at);
    at = find(Kind::reasoning, key);
  }
  emit(EncryptedValue{"message", parts_[at].id, value});
}

void PartTracker::reasoning_close(std::string_view key) {
  const Index at = find(Kind::reasoning, key);
  if (!failed_ && at != none) end(at);
}

void PartTracker::close_reasoning() {
  if (!failed_) close_kind(Kind::reasoning);
}

void PartTracker::close_texts() {
  if (failed_) return;
  close_kind(Kind::text);
  std::erase_if(parts_, [](const Part& part) { return part.kind == Kind::text; });
}

void PartTracker::close_tools() {
  for (;;) {
    const auto part = std::find_if(parts_.begin(), parts_.end(),
                                   [](const Part& p) { return p.kind == Kind::tool && !p.ended; });
    if (failed_ || part == parts_.end()) break;
    const std::string key = part->key;
    tool_close(key);
  }
}

void PartTracker::close_all() {
  if (failed_) return;
  close_kind(Kind::reasoning);
  close_tools();
  close_kind(Kind::text);
  parts_.clear();
}

void PartTracker::abandon_all() {
  if (strict()) {
    std::erase_if(parts_, [](const Part& part) { return !part.started; });
    close_all();
  }
  parts_.clear();
}

void PartTracker::fail(std::string_view code, std::string_view message, std::string_view extra) {
  if (failed_) return;
  if (strict()) {
    close_all();
    if (code.empty()) code = row_of(Errc::provider_error).code;
  }
  if (before_failure_) std::exchange(before_failure_, nullptr)();
  // A provider's sentence reaches logs and terminals.
  const std::string shown = strict() ? visible_text(message) : std::string(message);
  sink_.on_event(Event{Failed{shown, code}, extra});
  parts_.clear();
  failed_ = true;
}

}  // namespace millrace::event
