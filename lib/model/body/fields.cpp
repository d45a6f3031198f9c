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

Error not_supported(const Draft& draft, std::string_view sentence) {
  return make_error(
      Errc::capability_not_supported,
      "The provider " + draft.config.id + " cannot answer this: " + std::string(sentence));
}

}  // namespace millrace::model
