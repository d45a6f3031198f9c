#include "format/turns.hpp"

#include <algorithm>

namespace millrace::format {

using message::Message;
using message::Role;

TurnWriter::TurnWriter(message::JsonBuilder& out, std::span<const Message> messages,
                       const TurnNames& names)
    : out_(out), messages_(messages), names_(names) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == Role::tool) results_[messages[i].tool_call_id].at.push_back(i);
  }
  used_.resize(messages.size());
}

void TurnWriter::write() {
  for (at_ = 0; at_ < messages_.size(); ++at_) {
    const Message& message = messages_[at_];
    switch (message.role) {
      case Role::user:
        close_calls();
        write_user(message);
        break;
      case Role::assistant: write_assistant(message); break;
      case Role::tool: write_unmatched_result(message); break;
      case Role::reasoning: write_reasoning(message); break;
      case Role::system:
      case Role::developer: write_system(message); break;
      case Role::activity: break;
    }
  }
  close_calls();
  close_turn();
}

void TurnWriter::enter(Turn turn) {
  if (turn_ == turn) return;
  close_turn();
  before_turn(turn);
  turn_ = turn;
  out_.open_object();
  out_.text("role", turn == Turn::user ? names_.user : names_.assistant);
  out_.open_array(names_.blocks);
}

void TurnWriter::close_turn() {
  if (turn_ == Turn::none) return;
  out_.close_array();
  out_.close_object();
  turn_ = Turn::none;
}

void TurnWriter::close_calls() {
  if (calls_.empty()) return;
  enter(Turn::assistant);
  begin_calls();
  std::vector<std::string> wire_ids;
  for (const Call& entry : calls_) {
    wire_ids.push_back(wire_id(entry.call->id));
    write_call(*entry.call, wire_ids.back());
  }
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Message* result = take_result(calls_[i]);
    if (result == nullptr) continue;
    enter(Turn::user);
    write_result(*result, calls_[i].call->name, wire_ids[i]);
  }
  calls_.clear();
  held_ids_.clear();
}

bool TurnWriter::holds_call(std::string_view id) const {
  return held_ids_.contains(id);
}

const Message* TurnWriter::take_result(const message::ToolCall& call) {
  return take_result(Call{&call, at_});
}

const Message* TurnWriter::take_result(const Call& call) {
  const auto found = results_.find(call.call->id);
  if (found == results_.end()) return nullptr;
  Results& results = found->second;
  while (results.next < results.at.size()) {
    const std::size_t at = results.at[results.next++];
    if (at < call.at || used_[at]) continue;
    used_[at] = true;
    return &messages_[at];
  }
  return nullptr;
}

void TurnWriter::write_unmatched_result(const Message& message) {
  if (!used_[at_]) close_calls();
  if (used_[at_]) return;
  const std::string id = wire_id(message.tool_call_id);
  enter(Turn::user);
  write_result(message, {}, id);
}

// An id that the API accepts and that no call has yet.
std::string TurnWriter::wire_id(std::string_view id) {
  std::string plain(id.empty() ? "call" : id);
  if (names_.id_limit > 0) {
    for (char& c : plain) {
      const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '_' || c == '-';
      if (!fits) c = '_';
    }
    if (plain.size() > names_.id_limit) plain.resize(names_.id_limit);
  }
  std::size_t& count = id_counts_[plain];
  std::string unique = plain;
  while (!wire_ids_.insert(unique).second) {
    const std::string suffix = "_" + std::to_string(++count);
    unique = plain;
    if (names_.id_limit > 0 && unique.size() + suffix.size() > names_.id_limit) {
      unique.resize(names_.id_limit - suffix.size());
    }
    unique += suffix;
  }
  return unique;
}

}  // namespace millrace::format
