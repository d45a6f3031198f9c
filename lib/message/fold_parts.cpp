// What texts, reasoning and tool calls do to the messages of a folder, whatever they came as.

#include <optional>
#include <utility>

#include "base/utf8.hpp"
#include "message/fold.hpp"

namespace millrace::message {
namespace {

// Appends a delta; the halves of a surrogate pair may come in two.
void append(std::string& text, std::string_view delta) {
  if (utf8::ends_with_high_surrogate(text) && utf8::begins_with_low_surrogate(delta)) {
    const std::string high = text.substr(text.size() - utf8::surrogate_bytes);
    text.resize(text.size() - utf8::surrogate_bytes);
    utf8::append_code_point(text, utf8::join_surrogates(high, delta));
    delta.remove_prefix(utf8::surrogate_bytes);
  }
  text.append(delta);
}

void append_text(Message& message, std::optional<std::string_view> delta) {
  if (!delta) return;
  if (message.content.kind == Content::Kind::absent) message.content.kind = Content::Kind::text;
  if (message.content.kind == Content::Kind::text) append(message.content.text, *delta);
}

}  // namespace

// ---- text and reasoning

void Folder::begin_text(std::string_view id, const Source& source) {
  merge_members(text(id, source)->message.metadata, source.metadata());
}

void Folder::add_text(std::string_view id, std::optional<std::string_view> delta,
                      const Source& source) {
  const Place place = text(id, source);
  Message& message = place->message;
  if (delta && !delta->empty()) note_text(place);
  append_text(message, delta);
  merge_members(message.metadata, source.metadata());
}

void Folder::begin_reasoning(std::string_view id, const Source& source) {
  merge_members(reasoning(id, source)->message.metadata, source.metadata());
}

void Folder::add_reasoning(std::string_view id, std::optional<std::string_view> delta,
                           const Source& source) {
  Message& message = reasoning(id, source)->message;
  append_text(message, delta);
  merge_members(message.metadata, source.metadata());
}

void Folder::note_end(Index<Place>& places, std::string_view id, const Source& source) {
  const auto found = places.find(id);
  if (found != places.end()) merge_members(found->second->message.metadata, source.metadata());
}

void Folder::set_encrypted(std::string_view subtype, std::string_view id, std::string_view value,
                           const Source& source) {
  signed_.emplace(id);
  if (subtype == "tool-call") {
    ToolCall* call = find_call(id);
    (call != nullptr ? call->encrypted_value : waiting_[std::string(id)].encrypted_value) = value;
    return;
  }
  const auto message = messages_.find(id);
  const bool has_text = message != messages_.end() && !reasoning_.contains(id);
  // Reasoning may have a value and no text.
  const Place place = has_text ? message->second : reasoning(id, source);
  place->message.encrypted_value = value;
  const bool is_of_answer = !has_text && place->answer == answer_;
  if (is_of_answer && binds_what_follows(id)) binding_ = id;
}

// ---- tool calls

void Folder::add_arguments(std::string_view call_id, std::string_view delta, const Source& source) {
  ToolCall* call = find_call(call_id);
  if (call == nullptr) return;
  append(call->arguments, delta);
  merge_members(call->metadata, source.metadata());
}

void Folder::end_call(std::string_view call_id, const Source& source) {
  ToolCall* call = find_call(call_id);
  if (call != nullptr) merge_members(call->metadata, source.metadata());
}

// The result of a call, made where there is none.
Message& Folder::result(std::string_view call_id, std::string_view message_id) {
  const auto found = results_.find(call_id);
  if (found != results_.end()) return found->second->message;
  Message message;
  message.role = Role::tool;
  message.id = message_id;
  message.tool_call_id = call_id;
  const Place place = add(std::move(message), place_of_result(call_id));
  if (const auto call = calls_.find(call_id); call != calls_.end()) {
    last_results_[&call->second.owner->message] = place;
    note(PartKind::result, call->second.owner, call->second.at);
  }
  return results_.find(call_id)->second->message;
}

}  // namespace millrace::message
