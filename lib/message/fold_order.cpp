// In which order the parts of an answer came, and the record of it.

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "message/fold.hpp"

namespace millrace::message {
namespace {

// The start of the character that a piece begins in: halves of a surrogate pair may come in two.
std::size_t begin_of_character(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) {
    --at;
  }
  return std::min(at, text.size());
}

}  // namespace

// A part of the answer. What other agents do, and what stood before, has no place in it.
void Folder::note(PartKind kind, Place owner, std::size_t number) {
  if (owner->answer == answer_) order_.add(kind, owner, owner->begun, number);
}

// Text is about to be added.
void Folder::note_text(Place place) {
  const Content& content = place->message.content;
  if (place->answer != answer_ || !order_.begins_piece(place->piece)) return;
  if (content.kind != Content::Kind::text && content.kind != Content::Kind::absent) return;
  order_.add(PartKind::text, place, place->begun, content.text.size());
  place->piece = order_.size();
}

void Folder::note_item(std::string_view entity_id, const Holder& holder) {
  const std::size_t number = holder.metadata->provider_state.size() - 1;
  if (holder.is_waiting) {
    order_.add(PartKind::item, entries_.end(), 0, number);
    early_items_.push_back({order_.size() - 1, std::string(entity_id)});
  } else if (holder.owner) {
    note(PartKind::item, *holder.owner, number);
  }
}

// The message begins that these items waited for, or the call, which has no items.
void Folder::place_items(std::string_view entity_id, Place owner, std::size_t states_before) {
  std::erase_if(early_items_, [&](const EarlyItem& item) {
    if (item.entity_id != entity_id) return false;
    auto& note = order_.notes()[item.note];
    note.owner = owner;
    note.number += states_before;
    note.is_gone = owner == entries_.end() || owner->answer != answer_;
    return true;
  });
}

// The parts of these messages are void.
void Folder::drop_notes(const std::function<bool(Place)>& is_void) {
  for (auto& note : order_.notes()) {
    if (note.is_gone) continue;
    note.is_gone = note.owner == entries_.end() || is_void(note.owner);
    if (note.is_gone || note.kind != PartKind::result) continue;
    const auto result = results_.find(note.owner->message.tool_calls[note.number].id);
    note.is_gone = result != results_.end() && is_void(result->second);
  }
  order_.count_calls();
  early_items_.clear();
}

void Folder::find_anchor() {
  anchor_ = entries_.end();
  for (Place place = entries_.begin(); place != entries_.end(); ++place) {
    if (place->answer == answer_ && place->message.role == Role::assistant) anchor_ = place;
  }
}

void Folder::start_answer() {
  order_.clear();
  early_items_.clear();
  anchor_ = entries_.end();
  binding_.clear();
  ++answer_;
}

void Folder::start_step() {
  close_answer();
  step_.clear();
}

// What follows is another answer.
void Folder::close_answer() {
  if (order_.is_shown()) return start_answer();
  if (anchor_ != entries_.end()) {
    close_into(anchor_->message, false, waiting_);
  } else if (const std::string id = id_of_items(); !id.empty()) {
    Message anchor;
    anchor.role = Role::assistant;
    anchor.id = id;
    close_into(anchor, true, waiting_);
    start_answer();
    add(std::move(anchor), entries_.end());
    return;
  }
  start_answer();
}

// The id of the message that holds the items of an answer without messages; "" when there are none.
std::string Folder::id_of_items() const {
  const auto named = std::find_if(early_items_.begin(), early_items_.end(),
                                  [](const EarlyItem& item) { return !item.entity_id.empty(); });
  return named == early_items_.end() ? std::string() : named->entity_id;
}

// Gives the items that belong to nothing that is shown, and the record, to the last message of the
// answer.
void Folder::close_into(Message& anchor, bool is_new, Index<Waiting>& waiting) const {
  const std::vector<std::size_t> early = give_items(anchor, is_new, waiting);
  if (std::string order = order_of(anchor, early); !order.empty()) {
    anchor.metadata.order.edit() = std::move(order);
  }
}

// Gives which state of the anchor each of the early items has become.
std::vector<std::size_t> Folder::give_items(Message& anchor, bool is_new,
                                            Index<Waiting>& waiting) const {
  std::vector<std::size_t> numbers;
  if (is_new) {
    const Waiting& own = waiting.find(anchor.id)->second;
    anchor.metadata = own.metadata;
    anchor.encrypted_value = own.encrypted_value;
  }
  auto& states = anchor.metadata.provider_state;
  for (const EarlyItem& item : early_items_) {
    const std::size_t number = order_.notes()[item.note].number;
    if (is_new && item.entity_id == anchor.id) {
      numbers.push_back(number);
      continue;
    }
    states.push_back(waiting.find(item.entity_id)->second.metadata.provider_state[number]);
    numbers.push_back(states.size() - 1);
  }
  // Those behind first, so that the numbers of the others stay.
  for (auto item = early_items_.rbegin(); item != early_items_.rend(); ++item) {
    auto& rest = waiting.find(item->entity_id)->second.metadata.provider_state;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(order_.notes()[item->note].number));
  }
  if (is_new) waiting.erase(anchor.id);
  return numbers;
}

void Folder::record_shown(Messages& messages) const {
  if (signed_.empty()) return;
  std::vector<FoldedMessage> rows;
  auto entry = entries_.begin();
  // The message that holds items which came alone has no entry, and is part of no answer.
  for (Message& message : messages) {
    rows.push_back({&message, entry == entries_.end() ? 0 : (entry++)->answer});
  }
  record_shown(rows);
}

void Folder::record_shown() {
  if (signed_.empty()) return;
  std::vector<FoldedMessage> rows;
  for (Entry& entry : entries_) rows.push_back({&entry.message, entry.answer});
  record_shown(rows);
}

void Folder::record_shown(std::span<const FoldedMessage> messages) const {
  message::record_shown(messages, [this](std::string_view id) { return signed_.contains(id); });
  if (bound_.empty()) return;
  const auto bind = [this](std::string_view id, Metadata& metadata) {
    if (const auto found = bound_.find(id); found != bound_.end()) {
      set_reasoning(metadata, found->second);
    }
  };
  for (const auto& [message, answer] : messages) {
    if (message->role == Role::assistant) bind(message->id, message->metadata);
    for (ToolCall& call : message->tool_calls) bind(call.id, call.metadata);
  }
}

// The record as JSON text, or "" when there is nothing to order.
std::string Folder::order_of(const Message& anchor, const std::vector<std::size_t>& early) const {
  std::vector<OrderEntry> entries;
  std::unordered_map<const Entry*, std::size_t> ends;  // of texts, where the piece behind begins
  std::size_t early_left = early.size();
  const auto& notes = order_.notes();
  for (auto note = notes.rbegin(); note != notes.rend(); ++note) {
    const bool is_early = note->owner == entries_.end();
    if (note->is_gone) continue;
    const Message& message = is_early ? anchor : note->owner->message;
    OrderEntry entry{note->kind, message.id};
    switch (note->kind) {
      case PartKind::reasoning: entry.hash.add(message.content.text); break;
      case PartKind::item: {
        entry.at = is_early ? early[--early_left] : note->number;
        const auto& states = message.metadata.provider_state;
        // The metadata may have come anew, whole.
        if (entry.at >= states.size()) return {};
        entry.item_kind = states[entry.at].kind;
        break;
      }
      case PartKind::text: {
        const std::string_view text = message.content.text;
        const auto [end, is_last] = ends.try_emplace(&*note->owner, text.size());
        const std::size_t begin = begin_of_character(text, note->number);
        entry.hash.add(text.substr(begin, end->second - begin));
        end->second = begin;
        break;
      }
      case PartKind::call:
        entry.id = message.tool_calls[note->number].id;
        entry.hash.add(message.tool_calls[note->number].arguments);
        break;
      case PartKind::result: entry.id = message.tool_calls[note->number].id; break;
    }
    if (note->kind != PartKind::text || entry.hash.size() > 0) entries.push_back(entry);
  }
  if (entries.size() < 2) return {};
  std::string out = "[";
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) append_entry(out, *entry);
  out.push_back(']');
  return out;
}

}  // namespace millrace::message
