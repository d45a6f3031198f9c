#include "format/turns.hpp"

#include <algorithm>
#include <utility>

#include "base/name_character.hpp"
#include "format/retained.hpp"
#include "message/parts.hpp"

namespace millrace::format {

using message::Message;
using message::PartKind;
using message::Role;
using message::ToolCall;

TurnWriter::TurnWriter(message::JsonBuilder& out, std::span<const Message> messages,
                       const TurnNames& names)
    : out_(out), messages_(messages), answers_(messages), names_(names) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == Role::tool) results_[messages[i].tool_call_id].at.push_back(i);
  }
  used_.resize(messages.size());
  has_given_members_.resize(messages.size());
}

void keep_turn(message::Messages& messages, std::size_t first, std::string_view provider,
               const json::Value& turn, std::initializer_list<std::string_view> known) {
  if (first >= messages.size() || !has_more_than(turn, known)) return;
  std::string state = "{";
  for (const auto& [key, value] : turn.members()) {
    const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
    if (key == "role" || !is_known) json::append_member(state, json::Member{key, value});
  }
  messages[first].metadata.add(provider, turn_kind, state + "}");
}

void TurnWriter::take_members(std::size_t at) {
  const auto* state = messages_[at].metadata.find(names_.provider, turn_kind);
  if (state == nullptr || has_given_members_[at]) return;
  has_given_members_[at] = true;
  json::Document document(message::depth_limit);
  const auto members = document.parse(state->json);
  const bool is_answer = members && members.value()["role"].string() == names_.assistant;
  const Turn turn = is_answer ? Turn::assistant : Turn::user;
  members_.at(static_cast<std::size_t>(turn)).push_back(&state->json);
}

// Of turns that became one, the first that has a member gives it.
void TurnWriter::write_members() {
  std::vector<std::string> written{"role", std::string(names_.blocks)};
  for (const std::string* json : std::exchange(members_.at(static_cast<std::size_t>(turn_)), {})) {
    json::Document document(message::depth_limit);
    const auto members = document.parse(*json);
    if (!members) continue;
    for (const auto& [key, value] : members.value().members()) {
      if (std::find(written.begin(), written.end(), key) != written.end()) continue;
      out_.value(key, value);
      written.emplace_back(key);
    }
  }
}

void TurnWriter::write() {
  for (at_ = 0; at_ < messages_.size(); ++at_) {
    if (!answers_.covers(at_)) {
      write_message(messages_[at_]);
    } else if (const auto parts = answers_.at(at_); !parts.empty()) {
      const std::size_t at = at_;
      write_answer(parts);
      at_ = at;
    }
  }
  close_calls();
  close_turn();
}

void TurnWriter::write_message(const Message& message) {
  take_members(at_);
  switch (message.role) {
    case Role::user:
      write_server_results();
      close_calls();
      write_user(message);
      break;
    case Role::assistant:
      // Calls of the message before stand before its words.
      if (!message::text_of(message.content).empty()) write_calls();
      write_assistant(message);
      break;
    case Role::tool: write_result_at(message); break;
    case Role::reasoning: write_reasoning(message); break;
    case Role::system:
    case Role::developer: write_system(message); break;
    case Role::activity: break;
  }
}

// The parts as they came.
void TurnWriter::write_answer(std::span<const message::Part> parts) {
  placed_.clear();
  for (const message::Part& part : parts) {
    if (part.kind == PartKind::result && part.call != nullptr) placed_.insert(part.call);
  }
  for (const message::Part& part : parts) {
    at_ = part.at;
    take_members(at_);
    if (part.kind != PartKind::call && part.kind != PartKind::result) write_calls();
    switch (part.kind) {
      case PartKind::text: write_text(*part.message, part.text); break;
      case PartKind::reasoning: write_reasoning_alone(*part.message); break;
      case PartKind::item: write_item(*part.state); break;
      case PartKind::call: place_call(*part.call); break;
      case PartKind::result: write_recorded_result(part); break;
    }
  }
  placed_.clear();
}

void TurnWriter::write_recorded_result(const message::Part& part) {
  if (used_[part.at] || waiting_.erase(part.call) == 0) {
    return write_result_at(*part.message);
  }
  used_[part.at] = true;
  write_calls();
  enter(Turn::assistant);
  write_server_result(*part.call, *part.message);
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
  write_members();
  out_.close_object();
  turn_ = Turn::none;
}

void TurnWriter::write_calls() {
  if (written_calls_ == calls_.size()) return;
  enter(Turn::assistant);
  if (written_calls_ == 0) begin_calls();
  for (; written_calls_ < calls_.size(); ++written_calls_) {
    Call& entry = calls_[written_calls_];
    entry.wire_id = wire_id(entry.call->id);
    write_call(*entry.call, entry.wire_id);
  }
}

void TurnWriter::close_calls() {
  if (calls_.empty()) return;
  write_calls();
  for (const Call& entry : calls_) {
    const Message* result = take_result(entry);
    if (result == nullptr) continue;
    enter(Turn::user);
    write_result(*result, entry.call, entry.wire_id);
  }
  calls_.clear();
  written_calls_ = 0;
  held_ids_.clear();
}

bool TurnWriter::holds_call(std::string_view id) const {
  return held_ids_.contains(id);
}

void TurnWriter::place_result(const ToolCall& call) {
  if (placed_.contains(&call)) {
    waiting_.insert(&call);
    return;
  }
  const Message* result = take_result(Call{&call, at_});
  if (result == nullptr) return;
  server_results_.emplace(result, &call);
  server_order_.push_back(result);
}

void TurnWriter::write_server_result_of(const Message& result) {
  const auto call = server_results_.extract(&result);
  if (call.empty()) return;
  write_calls();
  enter(Turn::assistant);
  write_server_result(*call.mapped(), result);
}

void TurnWriter::write_server_results() {
  for (const Message* result : server_order_) write_server_result_of(*result);
  server_order_.clear();
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

void TurnWriter::write_result_at(const Message& message) {
  if (!used_[at_]) close_calls();
  if (used_[at_]) return write_server_result_of(message);
  const std::string id = wire_id(message.tool_call_id);
  enter(Turn::user);
  write_result(message, nullptr, id);
}

// An id that the API accepts and that no call has yet.
std::string TurnWriter::wire_id(std::string_view id) {
  std::string plain(id.empty() ? "call" : id);
  if (names_.id_limit > 0) {
    for (char& c : plain) {
      if (!is_name_character(c)) c = '_';
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
