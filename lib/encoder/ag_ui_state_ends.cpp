// The ends of parts, which bring what a client stores.

#include <algorithm>
#include <utility>

#include "base/json.hpp"
#include "encoder/ag_ui_state.hpp"
#include "message/shown_hash.hpp"

namespace millrace::encoder {

using event::Event;
using message::PartKind;

// A signature may come behind the end of what it is of.
void AgUiState::sign(const event::EncryptedValue& value) {
  const bool is_call = value.subtype == "tool-call";
  std::size_t at = find(is_call ? Kind::call : Kind::reasoning, value.entity_id);
  if (at == none && !is_call) at = find(Kind::message, value.entity_id);
  if (at == none) return;
  Entity& entity = entities_[at];
  const bool is_of_before =
      entity.kind == Kind::message && message::signs_reasoning_before(value.value);
  entity.signs = is_of_before ? Signs::reasoning_before : Signs::itself;
  entity.is_late = true;
  if (entity.kind == Kind::reasoning && message::binds_what_follows(*entity.id)) {
    binding_ = *entity.id;
  }
}

// The hashes of what a signature is of, or "".
std::string AgUiState::shown_of(std::size_t at) const {
  const Entity& entity = entities_[at];
  std::string list;
  if (entity.signs == Signs::nothing) return list;
  if (entity.signs == Signs::reasoning_before) {
    for (std::size_t before = 0; before < at; ++before) {
      const Entity& one = entities_[before];
      if (one.kind == Kind::reasoning) message::append_shown(list, hashes_[one.hash]);
    }
    return list;
  }
  const std::size_t hash = entity.whole != none ? entity.whole : entity.hash;
  const bool is_empty = entity.kind == Kind::message && entity.piece == 0;
  message::append_shown(list, is_empty ? message::PartHash() : hashes_[hash]);
  if (entity.kind != Kind::reasoning) return list;
  for (std::size_t number = 1;; ++number) {
    const std::size_t next = find(Kind::reasoning, message::further_part_id(*entity.id, number));
    if (next == none) return list;
    message::append_shown(list, hashes_[entities_[next].hash]);
  }
}

// `"metadata":{"millrace":{...}}` with what there is, or "".
std::string AgUiState::metadata_of(std::size_t at, std::string_view order) const {
  const Stored& stored = *entities_[at].stored;
  // Without state the source is no provider of ours, and its events stay as they are.
  const std::string shown = has_state_ ? shown_of(at) : std::string();
  const std::string reasoning = has_state_ ? stored.reasoning : std::string();
  if (stored.states.empty() && stored.citations.empty() && order.empty() && shown.empty() &&
      reasoning.empty()) {
    return {};
  }
  std::string out = R"("metadata":{"millrace":{)";
  const auto list = [&](std::string_view key, std::string_view elements) {
    if (elements.empty()) return;
    json::append_raw_member(out, key, "[");
    out.append(elements).push_back(']');
  };
  list("providerState", stored.states);
  list("citations", stored.citations);
  list("order", order);
  if (!shown.empty()) json::append_member(out, message::shown_member, shown);
  if (!reasoning.empty()) json::append_member(out, message::reasoning_member, reasoning);
  return out.append("}}");
}

void AgUiState::release(std::size_t anchor, std::string_view order) {
  if (ends_.empty()) return;
  for (const End& end : std::exchange(ends_, {})) {
    if (end.entity == none) {
      write_(Event{event::ReasoningSpanEnd{end.id}});
      continue;
    }
    Entity& entity = entities_[end.entity];
    const std::string extra =
        metadata_of(end.entity, end.entity == anchor ? order : std::string_view());
    entity.is_late = false;
    switch (end.kind) {
      case Kind::message: write_(Event{event::TextEnd{end.id}, extra}); break;
      case Kind::reasoning: write_(Event{event::ReasoningEnd{end.id}, extra}); break;
      case Kind::call: write_(Event{event::ToolEnd{end.id}, extra}); break;
    }
  }
}

// A part that has ended, or a message that has calls alone, begins and ends once more.
void AgUiState::announce(std::size_t at, std::string_view order) {
  const Entity& entity = entities_[at];
  const std::string& id = *entity.id;
  const std::string extra = metadata_of(at, order);
  if (extra.empty() || is_silent_ || theirs_->contains(id)) return;
  if (std::count(open_.begin(), open_.end(), std::pair(entity.kind, id)) > 0) return;
  switch (entity.kind) {
    case Kind::message:
      write_(Event{event::TextStart{id}});
      write_(Event{event::TextEnd{id}, extra});
      break;
    case Kind::reasoning:
      write_(Event{event::ReasoningStart{id}});
      write_(Event{event::ReasoningEnd{id}, extra});
      break;
    case Kind::call:
      write_(Event{event::ToolStart{id, entity.name}});
      write_(Event{event::ToolEnd{id}, extra});
      break;
  }
}

void AgUiState::finish() {
  if (entities_.empty() && early_.empty()) return release();
  if (anchor_ == none) {
    const auto named = std::find_if(early_.begin(), early_.end(), [](const Early& early) {
      return early.note != none && !early.entity_id.empty();
    });
    if (named != early_.end()) begin(Kind::message, std::string(named->entity_id));
  }
  std::string order;
  if (anchor_ != none) {
    if (!early_.empty()) give_early(anchor_);
    if (!order_.is_shown() && has_state_ && !is_silent_) order = order_of();
  }
  const bool is_held = std::any_of(ends_.begin(), ends_.end(), [&](const End& end) {
    return end.entity == anchor_ && end.kind == Kind::message;
  });
  release(anchor_, order);
  for (std::size_t at = 0; at < entities_.size(); ++at) {
    const bool has_order = at == anchor_ && !order.empty() && !is_held;
    if (!entities_[at].is_late && !has_order) continue;
    announce(at, at == anchor_ ? std::string_view(order) : std::string_view());
  }
  clear();
}

// The elements of the record, or "" when there is nothing to order.
std::string AgUiState::order_of() const {
  std::string out = "[";
  std::size_t count = 0;
  for (const auto& note : order_.notes()) {
    if (note.is_gone || note.owner == none) continue;
    message::OrderEntry entry{note.kind, *entities_[note.owner].id};
    switch (note.kind) {
      case PartKind::text: entry.hash = hashes_[note.number]; break;
      case PartKind::reasoning: entry.hash = hashes_[entities_[note.owner].hash]; break;
      case PartKind::item:
        entry.item_kind = items_[note.number].kind;
        entry.at = items_[note.number].at;
        break;
      case PartKind::call:
        entry.id = *entities_[note.number].id;
        entry.hash = hashes_[entities_[note.number].hash];
        break;
      case PartKind::result: entry.id = *entities_[note.number].id; break;
    }
    message::append_entry(out, entry);
    ++count;
  }
  return count < 2 ? std::string() : out.substr(1);
}

}  // namespace millrace::encoder
