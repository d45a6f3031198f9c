// Where the messages and calls of a Folder stand, and how new ones begin.

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "message/fold.hpp"

namespace millrace::message {
namespace {

Role role_of(std::string_view role) {
  constexpr std::array<Role, 4> roles{Role::assistant, Role::user, Role::system, Role::developer};
  const auto* found =
      std::find_if(roles.begin(), roles.end(), [&](Role r) { return name_of(r) == role; });
  return found == roles.end() ? Role::assistant : *found;
}

}  // namespace

void merge_event_metadata(Metadata& metadata, const json::Value& event) {
  merge_members(metadata, event["metadata"]);
}

void merge_members(Metadata& metadata, const json::Value& members) {
  if (members.is_object()) metadata.merge(members);
}

void Folder::index(Place place) {
  const Message& message = place->message;
  (message.role == Role::reasoning ? reasoning_ : messages_).emplace(message.id, place);
  for (std::size_t i = 0; i < message.tool_calls.size(); ++i) {
    calls_.emplace(message.tool_calls[i].id, CallPlace{place, i});
  }
  if (message.role == Role::tool) results_.emplace(message.tool_call_id, place);
}

void Folder::index_all() {
  messages_.clear();
  reasoning_.clear();
  calls_.clear();
  results_.clear();
  last_results_.clear();
  for (Place place = entries_.begin(); place != entries_.end(); ++place) index(place);
}

Folder::Place Folder::add(Message message, Place before, bool is_answer) {
  Entry entry{std::move(message)};
  entry.answer = is_answer ? answer_ : 0;
  entry.begun = ++begun_;
  if (entry.message.role == Role::activity) {
    json::Document document(depth_limit);
    const auto content = document.parse(entry.message.content.text);
    entry.activity = content ? json::Tree(content.value()) : json::Tree();
    // messages() writes the content. Text events with this id do not change it.
    entry.message.content = {Content::Kind::object, {}};
  }
  const Place place = entries_.insert(before, std::move(entry));
  index(place);
  step_.push_back(place);
  const std::size_t states = place->message.metadata.provider_state.size();
  settle(place->message.id, place->message.metadata, place->message.encrypted_value);
  if (!early_items_.empty()) place_items(place->message.id, place, states);
  return place;
}

Folder::Place Folder::add(Role role, std::string_view id, const Source& source) {
  Message message;
  message.role = role;
  message.id = id;
  if (const auto subagent = source.subagent(); !subagent.empty()) {
    message.subagent_run_id = subagent;
  }
  const bool is_assistant = role == Role::assistant;
  const bool is_answer = source.subagent().empty() && (is_assistant || role == Role::reasoning);
  const Place place = add(std::move(message), entries_.end(), is_answer);
  if (is_answer && is_assistant) anchor_ = place;
  if (is_answer && is_assistant && !binding_.empty()) bound_.emplace(id, binding_);
  return place;
}

// Gives a message or call that begins what came before it.
void Folder::settle(std::string_view id, Metadata& metadata,
                    std::optional<std::string>& encrypted) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  Waiting& early = found->second;
  std::move(early.metadata.provider_state.begin(), early.metadata.provider_state.end(),
            std::back_inserter(metadata.provider_state));
  std::move(early.metadata.citations.begin(), early.metadata.citations.end(),
            std::back_inserter(metadata.citations));
  if (early.encrypted_value) encrypted = std::move(early.encrypted_value);
  waiting_.erase(found);
}

Folder::Place Folder::text(std::string_view id, const Source& source) {
  const auto found = messages_.find(id);
  if (found != messages_.end()) return found->second;
  const Role role = role_of(source.role());
  if (role != Role::assistant) close_answer();
  const Place place = add(role, id, source);
  place->message.content = Content::of_text("");
  if (const auto name = source.name(); !name.empty()) place->message.name = name;
  return place;
}

Folder::Place Folder::reasoning(std::string_view id, const Source& source) {
  const auto found = reasoning_.find(id);
  if (found != reasoning_.end()) return found->second;
  const Place place = add(Role::reasoning, id, source);
  place->message.content = Content::of_text("");
  note(PartKind::reasoning, place);
  return place;
}

// The assistant message named as parent, or one whose id is the call's.
Folder::Place Folder::owner_of_call(std::string_view call_id, const Source& source) {
  for (const std::string_view id : {source.parent(), call_id}) {
    if (id.empty()) continue;
    const auto found = messages_.find(id);
    if (found == messages_.end()) return add(Role::assistant, id, source);
    if (found->second->message.role == Role::assistant) return found->second;
  }
  return add(Role::assistant, call_id, source);
}

ToolCall* Folder::find_call(std::string_view id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return nullptr;
  return &found->second.owner->message.tool_calls[found->second.at];
}

ToolCall& Folder::start_call(std::string_view call_id, const Source& source) {
  ToolCall* call = find_call(call_id);
  if (call == nullptr) {
    const Place owner = owner_of_call(call_id, source);
    auto& calls = owner->message.tool_calls;
    calls_.emplace(call_id, CallPlace{owner, calls.size()});
    call = &calls.emplace_back();
    call->id = call_id;
    if (!binding_.empty() && owner->answer == answer_) bound_.emplace(call_id, binding_);
    settle(call_id, call->metadata, call->encrypted_value);
    if (!early_items_.empty()) place_items(call_id, entries_.end(), 0);
    note(PartKind::call, owner, calls.size() - 1);
  }
  if (const auto name = source.tool_name(); !name.empty()) call->name = name;
  merge_members(call->metadata, source.metadata());
  return *call;
}

// Behind the message that holds the call and its other results, else the end.
Folder::Place Folder::place_of_result(std::string_view call_id) {
  const auto found = calls_.find(call_id);
  if (found == calls_.end()) return entries_.end();
  const Place owner = found->second.owner;
  const auto last = last_results_.find(&owner->message);
  Place place = std::next(last == last_results_.end() ? owner : last->second);
  for (; place != entries_.end() && place->message.role == Role::tool; ++place) {
    const auto other = calls_.find(place->message.tool_call_id);
    if (other == calls_.end() || other->second.owner != owner) break;
  }
  return place;
}

std::string Folder::chunk_id(const json::Value& event, std::string_view member) {
  std::string lane(event["type"].string());
  lane.append(" ").append(event["subagentRunId"].string());
  std::string& open = chunks_[lane];
  if (const auto id = event[member].filled_string()) open = *id;
  return open;
}

// The metadata of the call, message or reasoning of this id; without an id, of the latest answer. A
// result whose call is in an earlier turn keeps what the call would. What comes before its entity
// waits for it.
Folder::Holder Folder::holder_of(std::string_view entity_id) {
  if (entity_id.empty() && !entries_.empty()) {
    const Place last = std::prev(entries_.end());
    const Role role = last->message.role;
    if (role == Role::assistant || role == Role::reasoning) return {&last->message.metadata, last};
  }
  if (ToolCall* call = find_call(entity_id)) return {&call->metadata};
  for (const Index<Place>* places : {&messages_, &reasoning_, &results_}) {
    const auto found = places->find(entity_id);
    if (found != places->end()) return {&found->second->message.metadata, found->second};
  }
  return {&waiting_[std::string(entity_id)].metadata, std::nullopt, true};
}

}  // namespace millrace::message
