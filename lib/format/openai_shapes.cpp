#include "format/openai_shapes.hpp"

#include "base/json.hpp"
#include "event/event.hpp"
#include "format/openai_names.hpp"

namespace millrace::format::openai {
namespace {

// Whether the server that the request goes to made it: state of others is gone by then.
bool is_own_answer(const message::Metadata& metadata, const OpenAiWriteOptions& options) {
  return options.own_answers &&
         metadata.find(event::issuer_provider, event::issuer_kind) != nullptr;
}

}  // namespace

bool is_refusal(const message::Message& message, const OpenAiWriteOptions& options) {
  const bool is_taken = options.openai_parts || is_own_answer(message.metadata, options);
  return is_taken && message.metadata.find(provider, refusal_kind) != nullptr;
}

bool is_function_call(const message::Message& message, const OpenAiWriteOptions& options) {
  if (message.tool_calls.size() != 1) return false;
  const message::Metadata& metadata = message.tool_calls[0].metadata;
  const bool is_taken = options.function_calls || is_own_answer(metadata, options);
  return is_taken && metadata.find(provider, function_call_kind) != nullptr;
}

std::string function_of(const message::Message& message, const message::Message* last,
                        const OpenAiWriteOptions& options) {
  if (message.role != message::Role::tool) return {};
  const auto* given = message.metadata.find(provider, function_call_kind);
  if (given != nullptr && options.function_calls) return given->json;
  const bool answers_it = last != nullptr && is_function_call(*last, options) &&
                          last->tool_calls[0].id == message.tool_call_id;
  std::string json;
  if (answers_it) json::append_string(json, last->tool_calls[0].name);
  return json;
}

}  // namespace millrace::format::openai
