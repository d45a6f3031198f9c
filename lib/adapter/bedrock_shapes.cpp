// The events of Amazon Bedrock's ConverseStream, and the answer of Converse.
// Source: @aws-sdk/client-bedrock-runtime, `ConverseStreamOutput` and `ConverseResponse` (2026).
#include <array>

#include "adapter/record_shape.hpp"

namespace millrace::adapter::shapes {
namespace {

// `p` pads an event.
constexpr Field bedrock_padding = text("p");

// The state of a hosted tool's call has all of it.
constexpr std::array bedrock_use_fields{text("toolUseId"), text("name"), raw("input"),
                                        text("type")};
constexpr Shape bedrock_use{"toolUse", bedrock_use_fields};
constexpr Shape bedrock_hosted{"toolUse", bedrock_use_fields, Unknown::passed_on};
constexpr std::array bedrock_use_variants{Variant{"server_tool_use", &bedrock_hosted}};
constexpr Shape bedrock_any_use{"toolUse", bedrock_use_fields,   Unknown::named,
                                "type",    bedrock_use_variants, {}};
constexpr std::array bedrock_result_fields{text("toolUseId"), text("status"), list("content"),
                                           text("type")};
constexpr Shape bedrock_result{"toolResult", bedrock_result_fields, Unknown::passed_on};

constexpr std::array bedrock_piece_fields{text("input")};
constexpr Shape bedrock_piece{"toolUse", bedrock_piece_fields};
constexpr std::array bedrock_reasoning_fields{text("text"), text("signature"),
                                              text("redactedContent")};
constexpr Shape bedrock_reasoning{"reasoningContent", bedrock_reasoning_fields};
constexpr std::array bedrock_delta_fields{text("text"),
                                          object("toolUse", bedrock_piece),
                                          object("reasoningContent", bedrock_reasoning),
                                          list("toolResult"),
                                          map("image"),
                                          map("citation")};
constexpr Shape bedrock_delta{"delta", bedrock_delta_fields, Unknown::named_beside};

constexpr std::array bedrock_start_fields{object("toolUse", bedrock_any_use),
                                          object("toolResult", bedrock_result), map("image")};
constexpr Shape bedrock_start{"start", bedrock_start_fields};

constexpr std::array bedrock_block_delta_fields{whole("contentBlockIndex"),
                                                object("delta", bedrock_delta), bedrock_padding};
constexpr std::array bedrock_block_start_fields{whole("contentBlockIndex"),
                                                object("start", bedrock_start), bedrock_padding};
constexpr std::array bedrock_block_stop_fields{whole("contentBlockIndex"), bedrock_padding};
constexpr std::array bedrock_message_start_fields{text("role"), bedrock_padding};
// Further members of the end are facts of the answer.
constexpr std::array bedrock_message_stop_fields{text("stopReason"), bedrock_padding};
constexpr std::array bedrock_metadata_fields{map("usage"), bedrock_padding};
constexpr Shape bedrock_block_delta{"contentBlockDelta", bedrock_block_delta_fields};
constexpr Shape bedrock_block_start{"contentBlockStart", bedrock_block_start_fields};
constexpr Shape bedrock_block_stop{"contentBlockStop", bedrock_block_stop_fields};
constexpr Shape bedrock_message_start{"messageStart", bedrock_message_start_fields};
constexpr Shape bedrock_message_stop{"messageStop", bedrock_message_stop_fields,
                                     Unknown::passed_on};
constexpr Shape bedrock_metadata{"metadata", bedrock_metadata_fields, Unknown::passed_on};

constexpr std::array bedrock_whole_reasoning_fields{object("reasoningText", bedrock_reasoning),
                                                    text("redactedContent")};
constexpr Shape bedrock_whole_reasoning{"reasoningContent", bedrock_whole_reasoning_fields};
constexpr std::array bedrock_words_fields{text("text")};
constexpr Shape bedrock_words{"citationsContent.content", bedrock_words_fields};
constexpr std::array bedrock_cited_fields{list("content", bedrock_words), list("citations")};
constexpr Shape bedrock_cited{"citationsContent", bedrock_cited_fields};
constexpr std::array bedrock_block_fields{text("text"), object("toolUse", bedrock_any_use),
                                          object("reasoningContent", bedrock_whole_reasoning),
                                          object("toolResult", bedrock_result),
                                          object("citationsContent", bedrock_cited)};
constexpr Shape bedrock_block{"content", bedrock_block_fields, Unknown::named_beside};
constexpr std::array bedrock_message_fields{text("role"), list("content", bedrock_block)};
constexpr Shape bedrock_message{"message", bedrock_message_fields};
constexpr std::array bedrock_output_fields{object("message", bedrock_message)};
constexpr Shape bedrock_output{"output", bedrock_output_fields};

// An event of a frame without a name. One that is unknown is named as an event.
constexpr std::array bedrock_event_fields{object("contentBlockDelta", bedrock_block_delta),
                                          object("contentBlockStart", bedrock_block_start),
                                          object("contentBlockStop", bedrock_block_stop),
                                          object("messageStart", bedrock_message_start),
                                          object("messageStop", bedrock_message_stop),
                                          object("metadata", bedrock_metadata)};
constexpr Shape bedrock_event{"event", bedrock_event_fields, Unknown::named_beside};
// Further members of an answer in one piece are facts.
constexpr std::array bedrock_answer_fields{object("output", bedrock_output), text("stopReason"),
                                           map("usage")};
constexpr Shape bedrock_answer{"answer", bedrock_answer_fields, Unknown::passed_on};

}  // namespace

void check_bedrock(const Report& report, std::string_view name, const json::Value& record) {
  for (const Field& field : bedrock_event_fields) {
    if (field.name == name) return check_record(report, *field.shape, record);
  }
  check_record(report, record["output"].exists() ? bedrock_answer : bedrock_event, record);
}

}  // namespace millrace::adapter::shapes
