#include "model/body/fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace millrace::model {

std::string number_text(double number) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::string(text.data(), end) : std::string("0");
}

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

// `max_tokens` of `maxTokens`.
std::string snake_case(std::string_view name) {
  std::string made;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper) made.push_back('_');
    made.push_back(upper ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return made;
}

}  // namespace

void note_extra(const Draft& draft, std::span<const std::string_view> names) {
  for (const auto& [key, json] : draft.payload.extra) {
    if (json == "null" || std::find(names.begin(), names.end(), key) != names.end()) continue;
    std::string sentence = "The member is not known to this API and was left out.";
    const std::string other = snake_case(key);
    const bool is_misspelt = other != key && is_payload_member(other);
    if (is_misspelt) sentence.append(" It is called `" + other + "`.");
    draft.note(key, sentence);
  }
}

namespace {

// What of the content cannot be given, in words; nothing for what can.
std::optional<std::string> refusal_of(const json::Value& part, const Draft& draft,
                                      MediaCheck check) {
  message::Media media;
  if (message::read_media(media, part)) {
    const auto sentence = check(media, draft);
    if (!sentence) return std::nullopt;
    return std::string(message::name_of(media.kind)).append(" left out: ").append(*sentence);
  }
  if (part["text"].is_string()) return std::nullopt;
  return "part left out: its type, \"" + redacted(part["type"].string(), 64) + "\", is not known.";
}

// A text takes the place of each part that cannot be given; most messages have none.
void leave_out(message::Message& message, const Draft& draft, MediaCheck check) {
  const message::Parts parts(message.content);
  bool is_whole = true;
  for (const json::Value part : parts.items()) {
    is_whole = is_whole && !refusal_of(part, draft, check);
  }
  if (is_whole) return;
  message::JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  for (const json::Value part : parts.items()) {
    const auto refusal = refusal_of(part, draft, check);
    if (!refusal) {
      out.value(part);
      continue;
    }
    message::write_text_part(out, "[" + *refusal + "]");
    draft.notes.push_back({"messages", *refusal, true});
  }
  out.close_array();
  message.content = message::Content::of_parts(out.take());
}

}  // namespace

Result<void> check_media(const Draft& draft, MediaCheck check) {
  for (message::Message& message : draft.messages) {
    if (draft.payload.leaves_out) {
      leave_out(message, draft, check);
      continue;
    }
    const message::Parts parts(message.content);
    for (const json::Value part : parts.items()) {
      message::Media media;
      if (!message::read_media(media, part)) continue;
      if (const auto sentence = check(media, draft)) return not_supported(draft, *sentence);
    }
  }
  return {};
}

Error not_supported(const Draft& draft, std::string_view sentence) {
  return make_error(
      Errc::capability_not_supported,
      "The provider " + draft.config.id + " cannot answer this: " + std::string(sentence));
}

}  // namespace millrace::model
