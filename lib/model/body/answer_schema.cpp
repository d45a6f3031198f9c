#include "model/body/answer_schema.hpp"

#include <algorithm>

#include "model/object_schema.hpp"

namespace millrace::model {

using message::Message;
using message::Messages;
using message::Role;

Result<AnswerSchema> answer_schema(const Draft& draft, bool takes_schemas) {
  const ResponseFormat& format = draft.payload.response_format;
  if (format.kind != ResponseFormat::Kind::json_schema) return AnswerSchema{};
  if (takes_schemas) {
    auto closed = styled_schema(format.schema, SchemaStyle::closed);
    if (!closed) return std::move(closed).error();
    if (closed.value()) return AnswerSchema{std::move(*closed.value()), {}};
  }
  draft.note("response_format", takes_schemas
                                    ? "The API cannot hold an answer to this schema: the prompt "
                                      "asks for it."
                                    : "The model takes no schema here: the prompt asks for it.");
  return AnswerSchema{{}, schema_instruction(format.schema)};
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
