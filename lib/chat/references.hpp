// What a client sends as a message: text, attachments, and references to earlier messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"

namespace millrace::chat {

// The references of a message that have an id or a text.
// Shape: [{kind, source_message_id?, selected_text?}]; what is given may spell the members
// `message_id` and `quote` as well.
json::Tree read_references(const json::Tree& given);

// The text with each reference quoted before it: "> <label> message:<id>" and the selected text,
// each line behind "> ".
std::string quote_references(const json::Tree& references, std::string_view text,
                             std::string_view label = "引用");

struct MessageInput {
  std::string text;  // trimmed, without references
  std::vector<std::string> attachment_ids;
  json::Tree references = json::Tree::array();
  // Attachment ids that are malformed or were given before.
  std::size_t ignored_attachments = 0;
  bool is_structured = false;  // it was no string

  [[nodiscard]] bool is_text_only() const {
    return attachment_ids.empty() && references.items().empty();
  }
  // As the conversation and the agent have it.
  [[nodiscard]] std::string stored_text() const { return quote_references(references, text); }
};

// Shape: a string, or {text?, attachment_ids?, references?}. Nothing for a message that has none of
// them, which a client's error names "message is required".
std::optional<MessageInput> read_message(const json::Tree& given);

// `true`, numbers other than 0, and 1, true, yes and on in any case.
bool is_loosely_true(const json::Tree& value);
bool is_loosely_true(std::string_view text);

}  // namespace millrace::chat
