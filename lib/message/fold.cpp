#include "message/fold.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/shown.hpp"

namespace millrace::message {
namespace {

// Adds the further members of `metadata.millrace` that a snapshot has not.
void carry_own(std::string& to, const std::string& from) {
  json::Document new_document(depth_limit);
  json::Document old_document(depth_limit);
  const auto known = new_document.parse("{" + to + "}");
  const auto before = old_document.parse("{" + from + "}");
  if (!known || !before) return;
  std::string missing;
  for (const auto& [key, value] : before.value().members()) {
    if (!known.value()[std::string_view(key)].exists()) {
      json::append_member(missing, json::Member{key, value});
    }
  }
  if (!missing.empty()) to.append(",").append(missing);
}

void carry_state(Metadata& to, Metadata& from) {
  if (to.provider_state.empty()) to.provider_state = std::move(from.provider_state);
  if (to.citations.empty()) to.citations = std::move(from.citations);
  if (to.order->empty()) to.order = std::move(from.order);
  if (to.own.empty()) {
    to.own = std::move(from.own);
  } else if (!from.own.empty()) {
    carry_own(to.own, from.own);
  }
}

// Keeps what the next turn needs when a snapshot, which may not know it, replaces a message.
void carry_state(Message& to, Message& from) {
  carry_state(to.metadata, from.metadata);
  if (!to.encrypted_value) to.encrypted_value = std::move(from.encrypted_value);
  std::unordered_map<std::string_view, ToolCall*> before;
  for (ToolCall& call : from.tool_calls) before.emplace(call.id, &call);
  for (ToolCall& call : to.tool_calls) {
    const auto found = before.find(call.id);
    if (found == before.end()) continue;
    carry_state(call.metadata, found->second->metadata);
    if (!call.encrypted_value) call.encrypted_value = std::move(found->second->encrypted_value);
  }
}

}  // namespace

struct Folder::Row {
  std::string_view type;
  Handler handler;
};

const Folder::Row* Folder::find_row(std::string_view type) {
  static constexpr std::array<Row, 26> rows{{
      {"TEXT_MESSAGE_CONTENT", &Folder::on_text_content},
      {"TEXT_MESSAGE_START", &Folder::on_text_start},
      {"TEXT_MESSAGE_END", &Folder::on_text_end},
      {"TEXT_MESSAGE_CHUNK", &Folder::on_text_chunk},
      {"TOOL_CALL_ARGS", &Folder::on_tool_args},
      {"TOOL_CALL_START", &Folder::on_tool_start},
      {"TOOL_CALL_END", &Folder::on_tool_end},
      {"TOOL_CALL_CHUNK", &Folder::on_tool_chunk},
      {"TOOL_CALL_RESULT", &Folder::on_tool_result},
      {"REASONING_MESSAGE_CONTENT", &Folder::on_reasoning_content},
      {"REASONING_MESSAGE_START", &Folder::on_reasoning_start},
      {"REASONING_MESSAGE_END", &Folder::on_reasoning_end},
      {"REASONING_MESSAGE_CHUNK", &Folder::on_reasoning_chunk},
      {"REASONING_ENCRYPTED_VALUE", &Folder::on_encrypted},
      {"THINKING_TEXT_MESSAGE_CONTENT", &Folder::on_thinking_content},
      {"THINKING_TEXT_MESSAGE_START", &Folder::on_thinking_start},
      {"THINKING_TEXT_MESSAGE_END", &Folder::on_thinking_start},
      {"ACTIVITY_SNAPSHOT", &Folder::on_activity},
      {"ACTIVITY_DELTA", &Folder::on_activity_delta},
      {"MESSAGES_SNAPSHOT", &Folder::on_snapshot},
      {"RUN_STARTED", &Folder::on_run_started},
      {"STEP_STARTED", &Folder::on_step_started},
      {"CUSTOM", &Folder::on_custom},
      {"@provider_state", &Folder::on_provider_state},
      {"@citation", &Folder::on_citation},
      {"@reset", &Folder::on_reset},
  }};
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.type == type; });
  return row == rows.end() ? nullptr : row;
}

void Folder::begin_with(Messages messages) {
  for (Message& message : messages) add(std::move(message), entries_.end());
  start_step();
}

Result<void> Folder::feed(std::string_view events_json) {
  json::Document document(depth_limit);
  const auto events = document.parse(events_json);
  if (!events) return events.error();
  if (!events.value().is_array()) {
    return make_error(Errc::invalid_argument, "The events must be an array of AG-UI events, not " +
                                                  shown_value(events.value()) + ".");
  }
  for (const json::Value event : events.value().items()) feed(event);
  return {};
}

void Folder::feed(const json::Value& event) {
  is_behind_reset_ = std::exchange(was_reset_, false);
  if (const Row* row = find_row(event["type"].string())) (this->*row->handler)(event);
}

Messages Folder::messages() const {
  Messages messages;
  messages.reserve(entries_.size() + 1);
  Message* anchor = nullptr;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    Message& message = messages.emplace_back(entry->message);
    if (entry == anchor_) anchor = &message;
    if (!entry->activity) continue;
    message.content = {Content::Kind::object, {}};
    entry->activity->write(message.content.text, json::Surrogates::keep);
  }
  Index<Waiting> rest = waiting_;
  if (!order_.is_shown()) {
    const bool is_new = anchor == nullptr;
    if (const std::string id = id_of_items(); is_new && !id.empty()) {
      anchor = &messages.emplace_back();
      anchor->role = Role::assistant;
      anchor->id = id;
    }
    if (anchor != nullptr) close_into(*anchor, is_new, rest);
  }
  record_shown(messages);
  give_rest(messages, rest);
  return messages;
}

// What belongs to nothing that is shown belongs to the latest answer. An answer that said nothing
// but such things is a message of its own, so that it is not taken for a part of the one before the
// question.
void Folder::give_rest(Messages& messages, const Index<Waiting>& rest) {
  const auto opaque = std::find_if(rest.begin(), rest.end(), [](const auto& one) {
    return !one.first.empty() && !one.second.metadata.provider_state.empty();
  });
  const auto question = std::find_if(messages.rbegin(), messages.rend(), [](const Message& m) {
    return m.role == Role::user || m.role == Role::assistant;
  });
  const bool is_open = question == messages.rend() || question->role == Role::user;
  if (is_open && opaque != rest.end()) {
    Message& answer = messages.emplace_back();
    answer.role = Role::assistant;
    answer.id = opaque->first;
  }
  const auto last = std::find_if(messages.rbegin(), messages.rend(),
                                 [](const Message& m) { return m.role == Role::assistant; });
  if (last == messages.rend()) return;
  for (const auto& [id, waiting] : rest) {
    auto& states = last->metadata.provider_state;
    states.insert(states.end(), waiting.metadata.provider_state.begin(),
                  waiting.metadata.provider_state.end());
    auto& citations = last->metadata.citations;
    citations.insert(citations.end(), waiting.metadata.citations.begin(),
                     waiting.metadata.citations.end());
  }
}

std::string Folder::messages_json() const {
  return to_json(messages());
}

// ---- activities

void Folder::on_activity(const json::Value& event) {
  const bool stays = event["replace"].is(json::Type::boolean_false);
  set_activity(event["messageId"].string(), event["activityType"].string(), event["content"],
               stays ? std::optional(false) : std::nullopt, Source(event));
}

void Folder::set_activity(std::string_view id, std::string_view type, json::Value content,
                          std::optional<bool> replace, const Source& source) {
  const auto found = messages_.find(id);
  const bool known = found != messages_.end();
  if (!content.is_object() || (known && found->second->message.role != Role::activity)) return;
  if (known && !replace.value_or(true)) return;
  const Place place = known ? found->second : add(Role::activity, id, source);
  place->activity = json::Tree(content);
  place->message.activity_type = type;
  merge_members(place->message.metadata, source.metadata());
}

void Folder::on_activity_delta(const json::Value& event) {
  patch_activity(event["messageId"].string(), event["activityType"].string(), event["patch"],
                 Source(event));
}

void Folder::patch_activity(std::string_view id, std::string_view type, json::Value patch,
                            const Source& source) {
  const auto found = messages_.find(id);
  if (found == messages_.end() || !found->second->activity) return;
  if (!found->second->activity->patch(patch)) return;
  Message& message = found->second->message;
  message.activity_type = type;
  merge_members(message.metadata, source.metadata());
}

// ---- the whole conversation

// Behind a reset it is the conversation before what the reset took back: for clients that have it
// and know no resets. Here the reset has done that, and what was before the events is not theirs.
void Folder::on_snapshot(const json::Value& event) {
  if (is_behind_reset_ || !event["messages"].is_array()) return;
  Index<Message> fresh;
  std::vector<std::string> order;
  bool has_reasoning = false;
  bool has_activity = false;
  record_shown();
  for (const json::Value item : event["messages"].items()) {
    auto read = read_message(item, "message");
    if (!read) continue;
    Message message = std::move(read).value();
    has_reasoning = has_reasoning || message.role == Role::reasoning;
    has_activity = has_activity || message.role == Role::activity;
    order.push_back(message.id);
    fresh.insert_or_assign(message.id, std::move(message));
  }
  for (Place place = entries_.begin(); place != entries_.end();) {
    const Place at = place++;
    const auto found = fresh.find(at->message.id);
    if (found != fresh.end()) {
      carry_state(found->second, at->message);
      add(std::move(found->second), at);
      entries_.erase(at);
      fresh.erase(found);
      continue;
    }
    const Role role = at->message.role;
    const bool stays =
        (role == Role::reasoning && !has_reasoning) || (role == Role::activity && !has_activity);
    if (!stays) entries_.erase(at);
  }
  for (const std::string& id : order) {
    const auto found = fresh.find(id);
    if (found == fresh.end()) continue;
    add(std::move(found->second), entries_.end());
    fresh.erase(found);
  }
  start_answer();
  step_.clear();
  index_all();
}

void Folder::on_run_started(const json::Value& event) {
  close_answer();
  for (const json::Value item : event["input"]["messages"].items()) {
    auto message = read_message(item, "message");
    if (!message) continue;
    const auto& index = message.value().role == Role::reasoning ? reasoning_ : messages_;
    if (!index.contains(message.value().id)) add(std::move(message).value(), entries_.end());
  }
  step_.clear();
}

void Folder::on_step_started(const json::Value& /*event*/) {
  start_step();
}

// ---- events of our own

void Folder::on_custom(const json::Value& event) {
  static constexpr std::array<Row, 3> rows{{
      {"millrace.provider_state", &Folder::on_provider_state},
      {"millrace.citation", &Folder::on_citation},
      {"millrace.reset", &Folder::on_reset},
  }};
  const std::string_view name = event["name"].string();
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.type == name; });
  if (row != rows.end()) (this->*row->handler)(event["value"]);
}

void Folder::on_provider_state(const json::Value& event) {
  if (event["state"].is_nothing()) return;
  add_state(event["entityId"].string(), event["provider"].string(), event["kind"].string(),
            event["state"].to_json(json::Surrogates::keep));
}

void Folder::add_state(std::string_view entity_id, std::string_view provider, std::string_view kind,
                       std::string json) {
  const Holder holder = holder_of(entity_id);
  holder.metadata->add(provider, kind, std::move(json));
  if (is_item(provider, kind)) note_item(entity_id, holder);
}

void Folder::on_citation(const json::Value& event) {
  const json::Value citation = event["citation"];
  if (citation.is_nothing()) return;
  metadata_of(event["messageId"].string())
      .citations.push_back(citation.to_json(json::Surrogates::keep));
}

void Folder::on_reset(const json::Value& event) {
  const json::Value named = event["messageIds"];
  if (!named.is_array()) return take_back(std::nullopt);
  std::vector<std::string_view> ids;
  for (const json::Value id : named.items()) ids.push_back(id.string());
  take_back(std::move(ids));
}

// What was said is void and comes again: the messages named, or all since the step began.
void Folder::take_back(std::optional<std::vector<std::string_view>> ids) {
  std::unordered_set<std::string_view> named;
  if (ids) named.insert(ids->begin(), ids->end());
  const auto is_void = [&](const Place place) { return !ids || named.contains(place->message.id); };
  drop_notes(is_void);
  if (!ids) order_.clear();
  const std::size_t dropped = std::erase_if(step_, [&](const Place place) {
    if (!is_void(place)) return false;
    bound_.erase(place->message.id);
    for (const ToolCall& call : place->message.tool_calls) bound_.erase(call.id);
    entries_.erase(place);
    return true;
  });
  waiting_.clear();
  chunks_.clear();
  binding_.clear();
  was_reset_ = true;
  if (dropped == 0) return;
  index_all();
  find_anchor();
}

}  // namespace millrace::message
