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

}  // namespace

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
    for (const Tree& entry : part["metadata"]["millrace"]["providerState"].items()) {
      blocks_.insert(json::canonical_json(entry));
    }
  }
}

}  // namespace millrace::message
