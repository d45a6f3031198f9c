#include "run/stored_members.hpp"

namespace millrace::run {

using json::Tree;

std::string with_notes(std::string text, const Tree& notes) {
  for (const Tree& note : notes.items()) {
    if (!text.empty()) text.append("\n\n");
    text.append(note.string());
  }
  return text;
}

void prepare_for_model(Tree& message) {
  if (message["content"].is_string() && !message["notes"].items().empty()) {
    message.set("content", with_notes(std::string(message["content"].string()), message["notes"]));
  }
  leave_out_stored_members(message);
}

Tree as_state_message(Tree message) {
  const Tree attachments = message["attachments"];
  prepare_for_model(message);
  if (!attachments.items().empty()) message.set("attachments", attachments);
  return message;
}

void leave_out_stored_members(Tree& message) {
  for (const std::string_view name : stored_members) message.erase(name);
}

}  // namespace millrace::run
