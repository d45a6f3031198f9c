#include "model/body/fields.hpp"

#include <utility>

#include "base/json_tree.hpp"
#include "base/number_text.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::model {

void write_number(message::JsonBuilder& out, std::string_view key, std::optional<double> number) {
  if (number) out.raw(key, number_text(*number));
}

void write_integer(message::JsonBuilder& out, std::string_view key,
                   std::optional<std::int64_t> number) {
  if (number) out.raw(key, std::to_string(*number));
}

void write_strings(message::JsonBuilder& out, std::string_view key,
                   std::span<const std::string> texts) {
  if (texts.empty()) return;
  out.open_array(key);
  for (const std::string& text : texts) out.text(text);
  out.close_array();
}

std::string_view extra_of(const ChatPayload& payload, std::string_view name) {
  for (const auto& [key, json] : payload.extra) {
    if (key == name && json != "null") return json;
  }
  return {};
}

void write_extra(message::JsonBuilder& out, const Draft& draft,
                 std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    if (const std::string_view json = extra_of(draft.payload, name); !json.empty()) {
      out.raw(name, json);
    }
  }
}

namespace {

// All members of `made`, and those of `given` that it lacks; what `given` says otherwise is noted
// under `place`.
void write_merged(message::JsonBuilder& out, const json::Value& made, const json::Value& given,
                  const Draft& draft, const std::string& place, bool deep) {
  for (const auto& [key, value] : made.members()) {
    const json::Value other = given[std::string_view(key)];
    const std::string name = place.empty() ? std::string(key) : place + "." + std::string(key);
    if (deep && value.is_object() && other.is_object()) {
      out.open_object(key);
      write_merged(out, value, other, draft, name, false);
      out.close_object();
      continue;
    }
    out.value(key, value);
    if (other.exists() && !(json::Tree(other) == json::Tree(value))) {
      draft.note(name, "Another parameter of the payload sets this; its value is sent.");
    }
  }
  for (const auto& [key, value] : given.members()) {
    if (!made[std::string_view(key)].exists()) out.value(key, value);
  }
}

}  // namespace

std::string with_given(std::string made, const Draft& draft, std::string_view member) {
  const std::string_view text = extra_of(draft.payload, member);
  if (text.empty()) return made;
  json::Document given_document(message::depth_limit);
  json::Document made_document(message::depth_limit);
  const auto given = given_document.parse(text);
  const auto own = made_document.parse(made);
  if (!given || !own || !given.value().is_object()) {
    draft.note(member, "It must be an object: it was left out.");
    return made;
  }
  message::JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  write_merged(out, own.value(), given.value(), draft, std::string(member), true);
  out.close_object();
  return out.take();
}

std::string with_members(std::string made, const Draft& draft,
                         std::span<const std::string_view> names) {
  message::JsonBuilder gathered(json::Surrogates::replace);
  gathered.open_object();
  write_extra(gathered, draft, names);
  gathered.close_object();
  const std::string text = gathered.take();
  if (text == "{}") return made;
  json::Document given_document(message::depth_limit);
  json::Document made_document(message::depth_limit);
  const auto given = given_document.parse(text);
  const auto own = made_document.parse(made);
  if (!given || !own) return made;
  message::JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  write_merged(out, own.value(), given.value(), draft, {}, true);
  out.close_object();
  return out.take();
}

void note_moved_prompts(const Draft& draft, bool (*is_turn)(const message::Message& message)) {
  using message::Role;
  bool has_begun = false;
  std::size_t moved = 0;
  for (const message::Message& message : draft.messages) {
    const bool is_prompt = message.role == Role::system || message.role == Role::developer;
    if (!is_prompt) {
      has_begun = has_begun || message.role != Role::activity;
    } else if (has_begun && !(is_turn != nullptr && is_turn(message))) {
      if (!format::is_blank(message::text_of(message.content))) ++moved;
    }
  }
  if (moved == 0) return;
  draft.note("messages", "The API takes system messages before all others: " +
                             std::to_string(moved) + " went there.");
}

void note_joined(const Draft& draft, std::size_t answers) {
  if (answers == 0) return;
  draft.note("messages",
             "A message of the API has its reasoning first and its calls last, each at one place: "
             "in answers of another order these are joined there (" +
                 std::to_string(answers) + ").");
}

Error not_supported(const Draft& draft, std::string_view sentence, std::string_view place) {
  std::string message = "The provider " + draft.config.id + " does not support this request: ";
  message.append(sentence);
  if (!place.empty()) message.append(" (").append(place).append(")");
  return make_error(Errc::capability_not_supported, std::move(message));
}

}  // namespace millrace::model
