#include "encoder/ag_ui_state.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/json.hpp"

namespace millrace::encoder {
namespace {

using event::Event;
using message::PartKind;

template <class Alternative>
constexpr std::size_t index_of_event = Event{Alternative{}}.body.index();

// Events that say nothing to a reader between a part and its end.
bool is_silent(const event::Body& body) {
  return std::holds_alternative<event::Usage>(body) ||
         std::holds_alternative<event::Finish>(body) || std::holds_alternative<event::Failed>(body);
}

void append_element(std::string& list, std::string_view json) {
  if (!list.empty()) list.push_back(',');
  list.append(json);
}

}  // namespace

bool AgUiState::take(const Event& event) {
  const event::Body& body = event.body;
  if (!event.subagent.empty()) {
    note_other(body);
    return true;
  }
  if (const auto* text = std::get_if<event::TextStart>(&body)) {
    set_open(Kind::message, text->id, true);
    if (!text->role.empty() && text->role != "assistant") {
      finish();
    } else {
      release();
      begin(Kind::message, text->id);
    }
  } else if (const auto* text_end = std::get_if<event::TextEnd>(&body)) {
    return hold(event, Kind::message, text_end->id);
  } else if (const auto* reasoning = std::get_if<event::ReasoningStart>(&body)) {
    release();
    set_open(Kind::reasoning, reasoning->id, true);
    const bool is_known = find(Kind::reasoning, reasoning->id) != none;
    const std::size_t at = begin(Kind::reasoning, reasoning->id);
    if (!is_known) note(PartKind::reasoning, at, 0);
  } else if (const auto* reasoning_end = std::get_if<event::ReasoningEnd>(&body)) {
    return hold(event, Kind::reasoning, reasoning_end->id);
  } else if (const auto* span = std::get_if<event::ReasoningSpanEnd>(&body)) {
    // Nothing overtakes an end that waits.
    if (!event.extra.empty()) release();
    if (ends_.empty()) return true;
    ends_.push_back({Kind::reasoning, std::string(span->id), none});
    return false;
  } else if (const auto* call = std::get_if<event::ToolStart>(&body)) {
    release();
    begin_call(*call);
  } else if (const auto* call_end = std::get_if<event::ToolEnd>(&body)) {
    return hold(event, Kind::call, call_end->id);
  } else if (const auto* result = std::get_if<event::ToolResult>(&body)) {
    release();
    const std::size_t answered = find(Kind::call, result->id);
    if (answered != none) note(PartKind::result, entities_[answered].piece, answered);
  } else if (const auto* value = std::get_if<event::EncryptedValue>(&body)) {
    sign(*value);
    release();
  } else if (const auto* state = std::get_if<event::ProviderState>(&body)) {
    add_state(*state);
  } else if (const auto* citation = std::get_if<event::Citation>(&body)) {
    add_citation(*citation);
  } else if (std::holds_alternative<event::Reset>(body) ||
             std::holds_alternative<event::MessagesSnapshot>(body)) {
    release();
    clear();
    is_silent_ = true;
  } else if (std::holds_alternative<event::StepStart>(body) ||
             std::holds_alternative<event::StepEnd>(body) ||
             std::holds_alternative<event::RunStart>(body) ||
             std::holds_alternative<event::RunEnd>(body)) {
    finish();
  } else if (!is_silent(body)) {
    release();
  }
  return true;
}

void AgUiState::set_open(Kind kind, std::string_view id, bool is_open) {
  std::erase_if(open_, [&](const auto& one) { return one.first == kind && one.second == id; });
  if (is_open) open_.emplace_back(kind, id);
}

// What other agents do is no part of the answer.
void AgUiState::note_other(const event::Body& body) {
  release();
  std::visit(
      [this](const auto& e) {
        if constexpr (requires { e.id; }) theirs_.edit().emplace(e.id);
        if constexpr (requires { e.parent_id; }) theirs_.edit().emplace(e.parent_id);
      },
      body);
}

std::size_t AgUiState::find(Kind kind, std::string_view id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? none : found->second.at[static_cast<std::size_t>(kind)];
}

std::size_t AgUiState::part_of(std::size_t event_kind, std::string_view id) const {
  const Kind kind = event_kind == index_of_event<event::TextDelta>        ? Kind::message
                    : event_kind == index_of_event<event::ReasoningDelta> ? Kind::reasoning
                                                                          : Kind::call;
  return find(kind, id) + 1;
}

void AgUiState::add_delta(std::size_t part, std::string_view delta) {
  if (part == 0 || part > entities_.size() || delta.empty()) return;
  Entity& entity = entities_[part - 1];
  if (entity.kind == Kind::message && order_.begins_piece(entity.piece)) {
    if (entity.piece != 0 && entity.whole == none) {
      entity.whole = hashes_.size();
      hashes_.push_back(hashes_[entity.hash]);
    }
    entity.hash = hashes_.size();
    note(PartKind::text, part - 1, entity.hash);
    hashes_.emplace_back();
    entity.piece = order_.size();
  }
  hashes_[entity.hash].add(delta);
  if (entity.whole != none) hashes_[entity.whole].add(delta);
}

// ---- parts

std::size_t AgUiState::begin(Kind kind, std::string_view id) {
  auto& [key, places] = *index_.try_emplace(std::string(id)).first;
  std::size_t& place = places.at[static_cast<std::size_t>(kind)];
  if (place != none) return place;
  const std::size_t at = place = entities_.size();
  Entity& entity = entities_.emplace_back();
  entity.kind = kind;
  entity.id = &key;
  if (!binding_.empty() && kind != Kind::reasoning) entity.stored.edit().reasoning = binding_;
  // A text takes its places with its first delta.
  order_.reserve_one();
  if (hashes_.size() == hashes_.capacity()) hashes_.reserve(hashes_.size() * 2 + 2);
  if (kind == Kind::message) {
    anchor_ = at;
  } else {
    entity.hash = hashes_.size();
    hashes_.emplace_back();
  }
  if (!early_.empty()) place_early(at);
  return at;
}

// A call is a part of the message that holds it, which may have nothing else.
void AgUiState::begin_call(const event::ToolStart& call) {
  set_open(Kind::call, call.id, true);
  if (find(Kind::call, call.id) != none) return;
  const std::size_t owner = begin(Kind::message, call.parent_id.empty() ? call.id : call.parent_id);
  const std::size_t at = begin(Kind::call, call.id);
  entities_[at].name = call.name;
  entities_[at].piece = owner;
  note(PartKind::call, owner, at);
}

void AgUiState::note(PartKind kind, std::size_t owner, std::size_t number) {
  order_.add(kind, owner, owner + 1, number);
}

// Only an end that says nothing besides waits.
bool AgUiState::hold(const Event& event, Kind kind, std::string_view id) {
  set_open(kind, id, false);
  const std::size_t entity = find(kind, id);
  is_silent_ = is_silent_ || event.extra.find(R"("millrace")") != std::string_view::npos;
  if (entity == none || !event.extra.empty()) {
    release();
    return true;
  }
  ends_.push_back({kind, std::string(id), entity});
  return false;
}

// ---- state

// As the fold finds it: without an id, the latest message.
std::size_t AgUiState::find_entity(std::string_view id) const {
  if (id.empty()) {
    const auto last = std::find_if(entities_.rbegin(), entities_.rend(),
                                   [](const Entity& entity) { return entity.kind != Kind::call; });
    return static_cast<std::size_t>(entities_.rend() - last) - 1;
  }
  for (const Kind kind : {Kind::call, Kind::message, Kind::reasoning}) {
    if (const std::size_t found = find(kind, id); found != none) return found;
  }
  return none;
}

std::size_t AgUiState::append_state(Entity& entity, std::string_view provider,
                                    std::string_view kind, std::string_view json) {
  std::string state = "{";
  json::append_member(state, "provider", provider);
  json::append_member(state, "kind", kind);
  json::append_raw_member(state, "state", json);
  Stored& stored = entity.stored.edit();
  append_element(stored.states, state.append("}"));
  entity.is_late = true;
  return stored.state_count++;
}

void AgUiState::append_citation(Entity& entity, std::string_view json) {
  append_element(entity.stored.edit().citations, json);
  entity.is_late = true;
}

void AgUiState::add_state(const event::ProviderState& state) {
  if (state.json.empty() || state.json == "null") return;
  has_state_ = true;
  const bool is_item = message::is_item(state.provider, state.kind);
  const std::size_t found = find_entity(state.entity_id);
  if (found == none) {
    early_.push_back({std::string(state.entity_id), std::string(state.provider),
                      std::string(state.kind), std::string(state.json)});
    if (!is_item) return;
    early_.back().note = order_.size();
    order_.add(PartKind::item, none, 0, none);
    return;
  }
  Entity& entity = entities_[found];
  const std::size_t at = append_state(entity, state.provider, state.kind, state.json);
  if (!is_item || entity.kind == Kind::call) return;
  note(PartKind::item, found, items_.size());
  items_.push_back({std::string(state.kind), at});
}

void AgUiState::add_citation(const event::Citation& citation) {
  if (citation.json.empty() || citation.json == "null") return;
  if (const std::size_t found = find_entity(citation.message_id); found != none) {
    append_citation(entities_[found], citation.json);
  } else {
    early_.push_back({std::string(citation.message_id), {}, {}, std::string(citation.json)});
  }
}

// Gives what begins what came before it.
void AgUiState::place_early(std::size_t at) {
  Entity& entity = entities_[at];
  std::erase_if(early_, [&](const Early& early) {
    if (early.entity_id != *entity.id) return false;
    if (early.provider.empty()) {
      append_citation(entity, early.json);
      return true;
    }
    const std::size_t number = append_state(entity, early.provider, early.kind, early.json);
    if (early.note == none) return true;
    auto& note = order_.notes()[early.note];
    note.is_gone = entity.kind == Kind::call;
    note.owner = at;
    note.number = items_.size();
    items_.push_back({early.kind, number});
    return true;
  });
}

// What belongs to nothing that is shown belongs to the latest message.
void AgUiState::give_early(std::size_t anchor) {
  for (Early& early : early_) early.entity_id = *entities_[anchor].id;
  place_early(anchor);
}

void AgUiState::clear() {
  entities_.clear();
  index_.clear();
  anchor_ = none;
  binding_.clear();
  order_.clear();
  hashes_.clear();
  items_.clear();
  early_.clear();
  has_state_ = false;
}

}  // namespace millrace::encoder
