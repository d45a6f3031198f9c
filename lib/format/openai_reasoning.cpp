#include "format/openai_reasoning.hpp"

#include <array>
#include <string>
#include <string_view>

#include "format/further_members.hpp"
#include "format/openai_names.hpp"
#include "message/parts.hpp"

namespace millrace::format::openai {
namespace {

using message::JsonBuilder;
using message::Message;

constexpr std::string_view opaque_words = "reasoning_text";

// What signs reasoning, as the members `kind` of messages have it.
struct DetailRow {
  std::string_view kind;
  std::string_view type;      // of a detail with text
  std::string_view text_key;  // where that is
};
constexpr std::array<DetailRow, 2> detail_rows{
    {{details_kind, "reasoning.text", "text"}, {blocks_kind, "thinking", "thinking"}}};

bool is_bare(const DetailRow& row, const json::Value& detail) {
  return detail["type"].string() == row.type && detail[row.text_key].string().empty();
}

// The words of the first detail whose signature came without them: the reasoning without the words
// of the others; all of it where these are no part of it.
std::string_view words_of_bare(const DetailRow& row, const Message& message,
                               std::string_view reasoning) {
  std::string before;
  std::string after;
  bool is_behind = false;
  for (const message::ProviderState& state : message.metadata.provider_state) {
    if (state.provider != provider || state.kind != row.kind) continue;
    json::Document document(message::depth_limit);
    const auto detail = document.parse(state.json);
    if (!detail) continue;
    (is_behind ? after : before).append(detail.value()[row.text_key].string());
    is_behind = is_behind || is_bare(row, detail.value());
  }
  const bool fits = before.size() + after.size() <= reasoning.size() &&
                    reasoning.starts_with(before) && reasoning.ends_with(after);
  if (!fits) return reasoning;
  return reasoning.substr(before.size(), reasoning.size() - before.size() - after.size());
}

// The signature of streamed reasoning comes without its words, `reasoning_part`. Gives whether they
// were written.
bool write_detail(JsonBuilder& out, const DetailRow& row, const std::string& json,
                  std::string_view reasoning_part) {
  json::Document document(message::depth_limit);
  const auto detail = document.parse(json);
  if (!detail || !is_bare(row, detail.value()) || reasoning_part.empty()) {
    out.raw(json);
    return false;
  }
  out.open_object();
  for (const auto& [key, value] : detail.value().members()) {
    if (key != row.text_key) out.value(key, value);
  }
  out.text(row.text_key, reasoning_part);
  out.close_object();
  return true;
}

// The member that a list of details came in, by their types.
std::string_view kind_of(const json::Value& details) {
  for (const json::Value detail : details.items()) {
    if (detail["type"].string().ends_with("thinking")) return blocks_kind;
  }
  return details_kind;
}

// The reasoning as the only detail.
void write_plain_detail(JsonBuilder& out, std::string_view reasoning_part,
                        std::string_view format) {
  out.open_array(details_kind);
  out.open_object();
  out.text("type", "reasoning.text");
  out.text("id", "reasoning-text-0");
  out.text("format", format);
  out.raw("index", "0");
  out.text("text", reasoning_part);
  out.close_object();
  out.close_array();
}

// Details come as states, or in one piece where only AG-UI's encrypted value survived.
void write_details(JsonBuilder& out, const Message& message, std::string_view reasoning_part) {
  bool has_state = false;
  for (const DetailRow& row : detail_rows) {
    if (message.metadata.find(provider, row.kind) == nullptr) continue;
    has_state = true;
    std::string_view words = words_of_bare(row, message, reasoning_part);
    out.open_array(row.kind);
    for (const message::ProviderState& state : message.metadata.provider_state) {
      if (state.provider == provider && state.kind == row.kind) {
        if (write_detail(out, row, state.json, words)) words = {};
      }
    }
    out.close_array();
  }
  if (has_state || !message.encrypted_value) return;
  json::Document document(message::depth_limit);
  const auto details = document.parse(*message.encrypted_value);
  if (details && details.value().is_array()) out.value(kind_of(details.value()), details.value());
}

// Copilot's servers take the words back beside what signs them, which is among the further members.
bool write_opaque_words(JsonBuilder& out, const Message& message, std::string_view words) {
  if (message.metadata.find(provider, further_kind) == nullptr) return false;
  const FurtherMembers further(message.metadata, provider);
  if (!further["reasoning_opaque"].is_string()) return false;
  if (!words.empty() && !further[opaque_words].exists()) out.text(opaque_words, words);
  return true;
}

bool has_details(const Message& message) {
  return message.metadata.find(provider, details_kind) != nullptr ||
         message.metadata.find(provider, blocks_kind) != nullptr ||
         message.encrypted_value.value_or("").starts_with('[');
}

}  // namespace

void add_reasoning(ReasoningPart& reasoning_part, const Message& reasoning) {
  reasoning_part.text.append(message::text_of(reasoning.content));
  const std::string value = reasoning.encrypted_value.value_or("");
  reasoning_part.is_unsigned = reasoning_part.is_unsigned || value.empty();
  if (value.starts_with(R"({"mistral":)")) reasoning_part.mistral = value;
  for (const std::string_view kind : reasoning_kinds) {
    if (reasoning.metadata.find(provider, kind) != nullptr) reasoning_part.member = kind;
  }
}

bool is_unnamed(const ReasoningPart& reasoning_part) {
  return reasoning_part.is_unsigned && !reasoning_part.text.empty();
}

void write_mistral_content(JsonBuilder& out, const Message& message,
                           const ReasoningPart& reasoning_part) {
  out.open_array("content");
  out.open_object();
  out.text("type", "thinking");
  out.open_array("thinking");
  out.open_object();
  out.text("type", "text");
  out.text("text", reasoning_part.text);
  out.close_object();
  out.close_array();
  json::Document document(message::depth_limit);
  if (const auto value = document.parse(reasoning_part.mistral)) {
    for (const auto& [key, member] : value.value()["mistral"].members()) out.value(key, member);
  }
  out.close_object();
  if (const std::string text = message::text_of(message.content); !text.empty()) {
    out.open_object();
    out.text("type", "text");
    out.text("text", text);
    out.close_object();
  }
  out.close_array();
}

bool write_reasoning_part(JsonBuilder& out, const Message& message,
                          const ReasoningPart& reasoning_part, const OpenAiWriteOptions& options) {
  if (options.mistral_reasoning) return true;
  if (write_opaque_words(out, message, reasoning_part.text)) return true;
  if (!options.details_format.empty() && !has_details(message)) {
    if (!reasoning_part.text.empty())
      write_plain_detail(out, reasoning_part.text, options.details_format);
    return true;
  }
  const bool goes_back = !reasoning_part.text.empty() && options.details_format.empty();
  const std::string_view member =
      reasoning_part.member.empty() ? "" : options.only_member.value_or(reasoning_part.member);
  if (!member.empty() && (goes_back || options.always_reasoning))
    out.text(member, reasoning_part.text.empty() ? options.no_reasoning : reasoning_part.text);
  if (!options.only_member) write_details(out, message, reasoning_part.text);
  return !member.empty() || (!options.only_member && has_details(message));
}

}  // namespace millrace::format::openai
