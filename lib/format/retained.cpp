#include "format/retained.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::JsonBuilder;

// Members that hold words, and those whose insides are no words of the block itself.
constexpr std::array<std::string_view, 7> word_members{"title",   "source",   "context",  "text",
                                                       "content", "thinking", "tool_name"};
constexpr std::array<std::string_view, 7> silent_members{
    "citations", "annotations",    "cache_control", "metadata",
    "signature", "speechMetadata", "partMetadata"};

template <std::size_t Size>
bool is_one_of(const std::array<std::string_view, Size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_words(std::string& out, std::string_view words) {
  if (words.empty()) return;
  if (!out.empty()) out.push_back('\n');
  out.append(words);
}

void collect_words(std::string& out, const json::Value& value) {
  for (const json::Value item : value.items()) {
    item.is_string() ? add_words(out, item.string()) : collect_words(out, item);
  }
  for (const auto& [key, member] : value.members()) {
    if (is_one_of(silent_members, key)) continue;
    if (member.is_string()) {
      if (is_one_of(word_members, key)) add_words(out, member.string());
    } else if (key == "json") {
      add_words(out, raw(member));
    } else {
      collect_words(out, member);
    }
  }
}

// Appends an object without the member at `path`, or with another string there.
void write_object(JsonBuilder& out, std::string_view own_key, const json::Value& object,
                  std::span<const std::string_view> path,
                  const std::optional<std::string_view>& bytes) {
  own_key.empty() ? out.open_object() : out.open_object(own_key);
  const bool is_holder = path.size() == 1;
  for (const auto& [key, value] : object.members()) {
    if (key != path.front()) {
      out.value(key, value);
    } else if (!is_holder) {
      write_object(out, key, value, path.subspan(1), bytes);
    }
  }
  if (is_holder && bytes) out.text(path.front(), *bytes);
  out.close_object();
}

// The texts of these lengths in bytes that `text` was joined from; none when they are not of it.
std::vector<std::string_view> parted(const json::Value& lengths, std::string_view text) {
  std::vector<std::string_view> texts;
  for (const json::Value item : lengths.items()) {
    const std::int64_t length = item.integer().value_or(-1);
    if (length < 0 || static_cast<std::size_t>(length) > text.size()) return {};
    texts.push_back(text.substr(0, static_cast<std::size_t>(length)));
    text.remove_prefix(static_cast<std::size_t>(length));
    // A piece begins with a whole character.
    constexpr unsigned char mask = 0xC0;
    constexpr unsigned char inner = 0x80;
    if (!text.empty() && (static_cast<unsigned char>(text.front()) & mask) == inner) return {};
  }
  if (!text.empty()) return {};
  return texts;
}

}  // namespace

std::string words_of(const json::Value& block) {
  const json::Value text = block["text"];
  if (text.is_string() && block["title"].is_nothing() && block["context"].is_nothing()) {
    return std::string(text.string());
  }
  std::string words;
  collect_words(words, block);
  return words;
}

std::string words_of_list(const json::Value& list) {
  if (list.is_string()) return std::string(list.string());
  std::string words;
  for (const json::Value item : list.items()) {
    words.append(item.is_string() ? std::string(item.string()) : words_of(item));
  }
  return words;
}

bool has_more_than(const json::Value& object, std::initializer_list<std::string_view> members) {
  for (const auto& [key, value] : object.members()) {
    const bool is_known = std::find(members.begin(), members.end(), key) != members.end();
    if (!is_known && !value.is_null()) return true;
  }
  return false;
}

std::string block_member(std::string_view provider, std::string_view block_json) {
  std::string out = R"("millrace":{"providerState":[{)";
  json::append_member(out, "provider", provider);
  json::append_member(out, "kind", block_kind);
  json::append_raw_member(out, "state", block_json);
  return out + "}]}";
}

void write_stand_in(JsonBuilder& out, std::string_view provider, const json::Value& block) {
  out.open_object();
  out.text("type", "text");
  out.text("text", words_of(block));
  out.open_object("metadata");
  out.members(block_member(provider, block.to_json(json::Surrogates::keep)));
  out.close_object();
  out.close_object();
}

json::Value held_block(const json::Value& part, std::string_view provider) {
  const json::Value states = part["metadata"]["millrace"]["providerState"];
  for (const json::Value state : states.items()) {
    const bool is_block = state["kind"].string() == block_kind;
    if (is_block && state["provider"].string() == provider) return state["state"];
  }
  return {};
}

json::Value stand_in_block(const json::Value& part, std::string_view provider) {
  if (part["type"].string() != "text") return {};
  const json::Value block = held_block(part, provider);
  if (!block.is_object() || words_of(block) != part["text"].string()) return {};
  return block;
}

void write_with_bytes(JsonBuilder& out, const json::Value& block,
                      std::span<const std::string_view> path, std::string_view bytes) {
  write_object(out, {}, block, path, bytes);
}

std::string without_bytes(const json::Value& block, std::span<const std::string_view> path) {
  JsonBuilder out;
  write_object(out, {}, block, path, std::nullopt);
  return out.take();
}

void keep_list(message::Metadata& metadata, std::string_view provider, const json::Value& list) {
  if (list.size() == 0) return;
  std::string lengths = "[";
  for (const json::Value item : list.items()) {
    if (!item["text"].is_string()) return;
    if (lengths.size() > 1) lengths.push_back(',');
    lengths.append(std::to_string(item["text"].string().size()));
  }
  metadata.add(provider, list_kind, lengths + "]");
}

std::vector<std::string_view> listed_texts(const message::Metadata& metadata,
                                           std::string_view provider, std::string_view text) {
  const auto* state = metadata.find(provider, list_kind);
  if (state == nullptr) return {};
  json::Document document;
  const auto lengths = document.parse(state->json);
  return lengths ? parted(lengths.value(), text) : std::vector<std::string_view>();
}

bool write_list(JsonBuilder& out, std::string_view key, const message::Metadata& metadata,
                std::string_view provider, std::string_view text) {
  const auto texts = listed_texts(metadata, provider, text);
  if (texts.empty()) return false;
  out.open_array(key);
  for (const std::string_view piece : texts) message::write_text_part(out, piece);
  out.close_array();
  return true;
}

}  // namespace millrace::format
