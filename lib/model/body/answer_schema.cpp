#include "model/body/answer_schema.hpp"

#include <algorithm>

#include "model/schema/object_schema.hpp"
#include "model/schema/schema_limits.hpp"

namespace millrace::model {

using message::Message;
using message::Messages;
using message::Role;

bool takes_json_schema(const ProviderConfig& config, std::string_view model) {
  return !config.quirks.has(Quirk::no_json_schema) &&
         !applies(config.quirks, Quirk::few_json_schema, model);
}

bool takes_format(const ProviderConfig& config, const ChatPayload& payload) {
  return payload.tools.empty() || !config.quirks.has(Quirk::no_format_with_tools);
}

std::string prompt_schema(const Draft& draft, std::string_view reason) {
  const ResponseFormat& format = draft.payload.response_format;
  if (format.kind != ResponseFormat::Kind::json_schema) return {};
  draft.note("response_format", std::string(reason).append(": the prompt asks for it."));
  constexpr std::string_view beside_tools = "Call tools as you need them. When you call none: ";
  const bool has_tools = !draft.payload.tools.empty();
  return std::string(has_tools ? beside_tools : "").append(schema_instruction(format.schema));
}

Result<AnswerSchema> answer_schema(const Draft& draft, bool takes_schemas) {
  const ResponseFormat& format = draft.payload.response_format;
  if (format.kind != ResponseFormat::Kind::json_schema) return AnswerSchema{};
  if (!takes_schemas) return AnswerSchema{{}, prompt_schema(draft)};
  auto closed = styled_schema(format.schema, SchemaStyle::closed);
  if (!closed) return std::move(closed).error();
  if (!closed.value()) {
    return AnswerSchema{{}, prompt_schema(draft, "The API cannot hold an answer to this schema")};
  }
  if (!is_within_limits(*closed.value())) {
    constexpr std::string_view reason =
        "The schema has more than the 16 unions or 24 optional members that the API takes";
    return AnswerSchema{{}, prompt_schema(draft, reason)};
  }
  return AnswerSchema{std::move(*closed.value()), {}};
}

Messages with_instruction(std::span<const Message> messages, std::string_view instruction) {
  Messages out(messages.begin(), messages.end());
  const auto behind = std::find_if(out.begin(), out.end(), [](const Message& message) {
    return message.role != Role::system && message.role != Role::developer;
  });
  Message prompt;
  prompt.role = Role::system;
  prompt.content = message::Content::of_text(instruction);
  out.insert(behind, std::move(prompt));
  return out;
}

}  // namespace millrace::model
