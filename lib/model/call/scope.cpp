#include "model/call/scope.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include "base/json.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view scope_mark = "mr1.";

void drop_state(message::Metadata& metadata) {
  metadata.provider_state.clear();
}

void drop_state(message::ToolCall& call) {
  drop_state(call.metadata);
  call.encrypted_value.reset();
}

void drop_state(message::Message& message) {
  drop_state(message.metadata);
  message.encrypted_value.reset();
  for (message::ToolCall& call : message.tool_calls) drop_state(call);
}

bool is_foreign(const message::Metadata& metadata, std::string_view provider_id) {
  const std::string issuer = issuer_of(metadata);
  return !issuer.empty() && issuer != provider_id;
}

bool is_google_state(std::string_view text) {
  json::Document document(message::depth_limit);
  const auto value = document.parse(text);
  return value && value.value()["google"].is_object();
}

// Those of the message's calls of which the condition is true.
template <class Condition>
void drop_states(message::SharedMessages& messages, std::size_t at, Condition condition) {
  const auto& calls = messages[at].tool_calls;
  if (std::none_of(calls.begin(), calls.end(), condition)) return;
  for (message::ToolCall& call : messages.edit()[at].tool_calls) {
    if (condition(call)) drop_state(call);
  }
}

bool has_google_state(const message::ToolCall& call) {
  const message::ProviderState* extra = call.metadata.find("openai_chat", "extra_content");
  return (extra != nullptr && is_google_state(extra->json)) ||
         (call.encrypted_value && is_google_state(*call.encrypted_value));
}

}  // namespace

std::string issuer_json(std::string_view provider_id) {
  std::string json;
  json::append_string(json, provider_id);
  return json;
}

std::string issuer_of(const message::Metadata& metadata) {
  const message::ProviderState* state = metadata.find(issuer_provider, issuer_kind);
  if (state == nullptr) return {};
  json::Document document;
  const auto value = document.parse(state->json);
  return value ? std::string(value.value().string()) : std::string();
}

void drop_foreign_state(message::SharedMessages& messages, std::string_view provider_id) {
  const auto is_stranger = [&](const message::ToolCall& call) {
    return is_foreign(call.metadata, provider_id);
  };
  for (std::size_t at = 0; at < messages.size(); ++at) {
    if (is_foreign(messages[at].metadata, provider_id)) drop_state(messages.edit()[at]);
    drop_states(messages, at, is_stranger);
  }
}

void drop_unclaimed_signatures(message::SharedMessages& messages) {
  const auto is_unclaimed = [](const message::ToolCall& call) {
    return issuer_of(call.metadata).empty() && has_google_state(call);
  };
  for (std::size_t at = 0; at < messages.size(); ++at) {
    if (!issuer_of(messages[at].metadata).empty()) continue;
    drop_states(messages, at, is_unclaimed);
  }
}

std::string scoped_signature(std::string_view provider_id, std::string_view signature) {
  std::string text(scope_mark);
  text.append(std::to_string(provider_id.size())).append(".");
  return text.append(provider_id).append(".").append(signature);
}

ScopedSignature read_scoped(std::string_view text) {
  const ScopedSignature plain{{}, text};
  if (!text.starts_with(scope_mark)) return plain;
  const std::string_view rest = text.substr(scope_mark.size());
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc() || digits + 2 > rest.size() || length > rest.size() - digits - 2) {
    return plain;
  }
  if (rest[digits] != '.' || rest[digits + 1 + length] != '.') return plain;
  return {rest.substr(digits + 1, length), rest.substr(digits + length + 2)};
}

}  // namespace millrace::model
