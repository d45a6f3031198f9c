#include "format/read_order.hpp"

#include <utility>

namespace millrace::format {

using message::Message;
using message::Messages;
using message::OrderEntry;
using message::PartKind;
using message::Role;

std::size_t ReadOrder::rank(PartKind kind) const {
  if (first_ == First::text && kind == PartKind::text)
    return static_cast<std::size_t>(PartKind::item);
  if (first_ == First::text && kind == PartKind::item)
    return static_cast<std::size_t>(PartKind::text);
  return static_cast<std::size_t>(kind);
}

// True when a writer without a record puts the part where it came: the results of a message's calls
// follow it at once.
bool ReadOrder::follows(PartKind kind, std::size_t at) const {
  if (notes_.empty()) return true;
  const Note& last = notes_.back();
  if (at == last.at) return rank(kind) >= rank(last.kind);
  return at > last.at && open_calls_ == 0;
}

void ReadOrder::add(PartKind kind, std::size_t at, std::size_t number) {
  is_shown_ = is_shown_ && follows(kind, at);
  notes_.push_back({kind, at, number});
}

void ReadOrder::add_call(std::size_t at, std::size_t number, std::string_view id) {
  add(PartKind::call, at, number);
  if (id.empty()) return;
  calls_.insert_or_assign(std::string(id), notes_.size() - 1);
  ++open_calls_;
}

void ReadOrder::add_result(std::string_view call_id) {
  const auto call = calls_.extract(std::string(call_id));
  if (call.empty()) return;
  const Note& note = notes_[call.mapped()];
  notes_.push_back({PartKind::result, note.at, note.number});
  --open_calls_;
}

void ReadOrder::add_text(std::size_t at, std::size_t size) {
  const bool goes_on =
      !notes_.empty() && notes_.back().kind == PartKind::text && notes_.back().at == at;
  if (!goes_on) add(PartKind::text, at, size);
}

void ReadOrder::add_answer(std::size_t at, const message::Message& message) {
  const auto& states = message.metadata.provider_state;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (message::is_item(states[i].provider, states[i].kind)) add_item(at, i);
  }
  if (!message.content.text.empty()) add_text(at, 0);
  for (std::size_t i = 0; i < message.tool_calls.size(); ++i) {
    add_call(at, i, message.tool_calls[i].id);
  }
}

void ReadOrder::close(Messages& messages) {
  std::size_t anchor = messages.size();
  for (const Note& note : notes_) {
    if (messages[note.at].role == Role::assistant) anchor = note.at;
  }
  if (!is_shown_ && notes_.size() > 1 && anchor < messages.size()) {
    std::string text = record(messages);
    messages[anchor].metadata.order.edit() = std::move(text);
  }
  notes_.clear();
  calls_.clear();
  open_calls_ = 0;
  is_shown_ = true;
}

std::string ReadOrder::record(const Messages& messages) const {
  std::vector<OrderEntry> entries;
  std::unordered_map<std::size_t, std::size_t> ends;  // of texts, where the piece behind begins
  for (auto note = notes_.rbegin(); note != notes_.rend(); ++note) {
    const Message& message = messages[note->at];
    OrderEntry entry{note->kind, message.id};
    switch (note->kind) {
      case PartKind::reasoning: entry.hash.add(message.content.text); break;
      case PartKind::item:
        entry.at = note->number;
        entry.item_kind = message.metadata.provider_state[note->number].kind;
        break;
      case PartKind::text: {
        const std::string_view text = message.content.text;
        const auto end = ends.try_emplace(note->at, text.size()).first;
        entry.hash.add(text.substr(note->number, end->second - note->number));
        end->second = note->number;
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
  std::string out = "[";
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) append_entry(out, *entry);
  return out + "]";
}

}  // namespace millrace::format
