#include "chat/references.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "chat/ids.hpp"
#include "chat/text.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

std::string_view either(const Tree& item, std::string_view key, std::string_view other) {
  const std::string_view text = item[key].string();
  return json::trim(text).empty() ? item[other].string() : text;
}

}  // namespace

Tree read_references(const Tree& given) {
  Tree references = Tree::array();
  for (const Tree& item : given.items()) {
    const std::string id =
        reduced_id(either(item, "source_message_id", "message_id"), message_id_limit);
    const std::string_view text = either(item, "selected_text", "quote");
    const bool has_text = !json::trim(text).empty();
    if (id.empty() && !has_text) continue;
    const std::string_view kind = json::trim(item["kind"].string());
    Tree reference = Tree::object();
    reference.set("kind", kind.empty() ? "message" : kind);
    if (!id.empty()) reference.set("source_message_id", id);
    if (has_text) reference.set("selected_text", text);
    references.push(std::move(reference));
  }
  return references;
}

std::string quote_references(const Tree& references, std::string_view text,
                             std::string_view label) {
  std::string out;
  for (const Tree& reference : references.items()) {
    out.append("> ").append(label);
    const std::string_view id = reference["source_message_id"].string();
    if (!id.empty()) out.append(" message:").append(id);
    const std::string_view selected = json::trim(reference["selected_text"].string());
    if (!selected.empty()) {
      for_each_line(selected, [&](std::string_view line) { out.append("\n> ").append(line); });
    }
    out.append("\n\n");
  }
  out.append(text);
  return std::string(json::trim(out));
}

std::optional<MessageInput> read_message(const Tree& given) {
  MessageInput input;
  if (given.is_string()) {
    input.text = json::trim(given.string());
  } else {
    input.is_structured = true;
    input.text = json::trim(given["text"].string());
    input.references = read_references(given["references"]);
    for (const Tree& item : given["attachment_ids"].items()) {
      const std::string_view id = json::trim(item.string());
      const bool is_new = std::find(input.attachment_ids.begin(), input.attachment_ids.end(), id) ==
                          input.attachment_ids.end();
      if (is_attachment_id(id) && is_new) {
        input.attachment_ids.emplace_back(id);
      } else {
        ++input.ignored_attachments;
      }
    }
  }
  if (input.text.empty() && input.is_text_only()) return std::nullopt;
  return input;
}

bool is_loosely_true(std::string_view text) {
  const std::string word = lowered(json::trim(text));
  return word == "1" || word == "true" || word == "yes" || word == "on";
}

bool is_loosely_true(const Tree& value) {
  if (value.is_string()) return is_loosely_true(value.string());
  return (value.is_number() || value.is_true()) && value.truthy();
}

}  // namespace millrace::chat
