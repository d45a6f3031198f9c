#include "message/known_states.hpp"

#include "base/json_canonical.hpp"

namespace millrace::message {
namespace {

using json::Tree;

std::string key_of(const ProviderState& state) {
  std::string key(state.provider);
  key.append(1, '\0').append(state.kind).append(1, '\0').append(state.json);
  return key;
}

bool is_filled(const Tree& value) {
  return !value.string().empty();
}

}  // namespace

bool names_file(const Tree& part) {
  const std::string_view type = part["type"].string();
  // A result of the host's, whose members client_items.hpp trims.
  if (type == "computer_screenshot") return false;
  if (type == "binary") {
    return is_filled(part["id"]) && !is_filled(part["url"]) && !is_filled(part["data"]);
  }
  return part["source"]["type"].string() == "file" || is_filled(part["file"]["file_id"]) ||
         is_filled(part["file_id"]);
}

bool KnownStates::has(const ProviderState& state) {
  read();
  return !states_.empty() && states_.contains(key_of(state));
}

bool KnownStates::has_citation(std::string_view citation) {
  read();
  return citations_.contains(std::string(citation));
}

bool KnownStates::has_block(const Tree& entry) {
  read();
  return !blocks_.empty() && blocks_.contains(json::canonical_json(entry));
}

bool KnownStates::has_part(const Tree& part) {
  read();
  return !parts_.empty() && parts_.contains(json::canonical_json(part));
}

void KnownStates::read() {
  if (is_read_) return;
  is_read_ = true;
  for (const Message& message : messages_) {
    read_metadata(message.metadata);
    read_parts(message.content);
    for (const ToolCall& call : message.tool_calls) read_metadata(call.metadata);
  }
}

void KnownStates::read_metadata(const Metadata& metadata) {
  for (const ProviderState& state : metadata.provider_state) states_.insert(key_of(state));
  citations_.insert(metadata.citations.begin(), metadata.citations.end());
}

void KnownStates::read_parts(const Content& content) {
  if (content.kind != Content::Kind::parts) return;
  const auto parts = Tree::parse(content.text);
  if (!parts) return;
  for (const Tree& part : parts.value().items()) {
    if (names_file(part)) parts_.insert(json::canonical_json(part));
    for (const Tree& entry : part["metadata"]["millrace"]["providerState"].items()) {
      blocks_.insert(json::canonical_json(entry));
    }
  }
}

}  // namespace millrace::message
