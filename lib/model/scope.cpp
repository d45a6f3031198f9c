#include "model/scope.hpp"

#include "base/json.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view scope_mark = "mr1.";

void drop_state(message::Metadata& metadata) {
  metadata.provider_state.clear();
}

void drop_state(message::Message& message) {
  drop_state(message.metadata);
  message.encrypted_value.reset();
  for (message::ToolCall& call : message.tool_calls) {
    drop_state(call.metadata);
    call.encrypted_value.reset();
  }
}

}  // namespace

std::string issuer_json(std::string_view provider_id) {
  std::string json;
  json::append_string(json, provider_id);
  return json;
}

std::string issuer_of(const message::Message& message) {
  const message::ProviderState* state = message.metadata.find(issuer_provider, issuer_kind);
  if (state == nullptr) return {};
  json::Document document;
  const auto value = document.parse(state->json);
  return value ? std::string(value.value().string()) : std::string();
}

void drop_foreign_state(message::Messages& messages, std::string_view provider_id) {
  for (message::Message& message : messages) {
    const std::string issuer = issuer_of(message);
    if (!issuer.empty() && issuer != provider_id) drop_state(message);
  }
}

std::string scoped_signature(std::string_view provider_id, std::string_view signature) {
  return std::string(scope_mark).append(provider_id).append(".").append(signature);
}

ScopedSignature read_scoped(std::string_view text) {
  if (!text.starts_with(scope_mark)) return {{}, text};
  const std::string_view rest = text.substr(scope_mark.size());
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return {{}, text};
  return {rest.substr(0, dot), rest.substr(dot + 1)};
}

}  // namespace millrace::model
