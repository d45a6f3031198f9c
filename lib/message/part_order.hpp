// The order of the parts of an answer (texts, reasoning, calls, results, a provider's items), where
// the shape of the messages does not show it: the record in `metadata.millrace.order` of the
// answer's last assistant message.
// Source: docs/decisions/ordered-parts.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_hash.hpp"
#include "message/message.hpp"

namespace millrace::message {

// In the order in which the parts of one message are written without a record.
enum class PartKind : std::uint8_t { reasoning, item, text, call, result };

std::string_view name_of(PartKind kind);

// True for state that is a part of its own, with a place among the others; other state belongs to
// the part that it names.
bool is_item(std::string_view provider, std::string_view kind);

using PartHash = TextHash;

// An entry of a record. `id` is that of the message, of a call and of a result the call's.
struct OrderEntry {
  PartKind kind = PartKind::text;
  std::string_view id;
  PartHash hash = {};               // of reasoning, a text, a call's arguments
  std::string_view item_kind = {};  // of an item
  std::size_t at = 0;               // of an item: which state of its message
};

// Appends an entry to the elements of an array.
void append_entry(std::string& out, const OrderEntry& entry);

// Notes the parts of one answer as they begin, and finds out whether the messages show the order
// by themselves. `Owner` names the message that a part is of.
template <class Owner>
class PartOrder {
 public:
  struct Note {
    PartKind kind;
    Owner owner;
    std::size_t number;  // text: where it begins; call, result: which call; item: which state
    bool is_gone = false;
  };

  // `begun` is the message's own number, greater for one that began later.
  void add(PartKind kind, Owner owner, std::size_t begun, std::size_t number = 0) {
    is_shown_ = is_shown_ && follows(kind, begun);
    begun_ = begun;
    rank_ = kind;
    if (kind == PartKind::call) ++open_calls_;
    if (kind == PartKind::result && open_calls_ > 0) --open_calls_;
    notes_.push_back({kind, owner, number});
    if (kind != PartKind::text) last_break_ = notes_.size();
  }

  // True when text that goes on stands behind another part than its last piece, which was noted as
  // the part of that number (from 1; 0 is none).
  [[nodiscard]] bool begins_piece(std::size_t piece) const {
    return piece == 0 || piece < last_break_;
  }

  // Counts the open calls anew, where parts are gone.
  void count_calls() {
    open_calls_ = 0;
    for (const Note& note : notes_) {
      if (note.is_gone) continue;
      if (note.kind == PartKind::call) ++open_calls_;
      if (note.kind == PartKind::result && open_calls_ > 0) --open_calls_;
    }
  }

  [[nodiscard]] bool is_shown() const { return is_shown_; }
  [[nodiscard]] std::size_t size() const { return notes_.size(); }
  // Makes room, so that the next part costs no memory.
  void reserve_one() {
    if (notes_.size() == notes_.capacity()) notes_.reserve(notes_.size() * 2 + 2);
  }
  std::vector<Note>& notes() { return notes_; }
  [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }
  void clear() { *this = PartOrder(); }

 private:
  [[nodiscard]] bool follows(PartKind kind, std::size_t begun) const {
    if (kind == PartKind::item) return false;
    if (notes_.empty()) return true;
    if (begun == begun_) return kind >= rank_;
    // Calls are written at the end of a turn, and their results behind their message.
    const bool parts_calls = open_calls_ > 0 && kind != PartKind::result;
    return begun > begun_ && !parts_calls;
  }

  std::vector<Note> notes_;
  std::size_t begun_ = 0;
  PartKind rank_ = PartKind::reasoning;
  std::size_t open_calls_ = 0;
  std::size_t last_break_ = 0;
  bool is_shown_ = true;
};

}  // namespace millrace::message
