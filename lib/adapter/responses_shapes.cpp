// The events of OpenAI's Responses API, and a response in one piece.
// Source: openai-node 7.57.0, `ResponseStreamEvent` and `Response`.
#include <array>

#include "adapter/record_shape.hpp"

namespace millrace::adapter::shapes {
namespace {

// Further members of parts and items go back with them, or are named by the adapter.
constexpr std::array response_part_fields{text("type"), text("text"), objects("annotations"),
                                          list("logprobs"), text("refusal")};
constexpr Shape response_part_words{{}, response_part_fields, Unknown::passed_on};
constexpr std::array response_part_variants{
    Variant{"output_text", &response_part_words}, Variant{"refusal", &response_part_words},
    Variant{"summary_text", &response_part_words}, Variant{"reasoning_text", &response_part_words}};
constexpr std::array response_other_part_fields{text("type")};
constexpr Shape response_part{"part", response_other_part_fields, Unknown::passed_on,
                              "type", response_part_variants,     {}};
constexpr std::array response_piece_fields{text("type"), text("text")};
constexpr Shape response_summary{"summary", response_piece_fields, Unknown::passed_on};

constexpr std::array response_message_fields{
    text("type"),
    text("id"),
    text("status"),
    text("role"),
    Field{"content", text_type | list_type, object_type, &response_part},
    text("phase")};
constexpr Shape response_message{{}, response_message_fields, Unknown::passed_on};
constexpr std::array response_reasoning_fields{text("type"),
                                               text("id"),
                                               text("status"),
                                               list("summary", response_summary),
                                               list("content", response_summary),
                                               text("encrypted_content")};
constexpr Shape response_reasoning{{}, response_reasoning_fields, Unknown::passed_on};
constexpr std::array response_call_fields{text("type"), text("id"),        text("status"),
                                          text("name"), text("arguments"), text("call_id"),
                                          text("input")};
constexpr Shape response_call{{}, response_call_fields, Unknown::passed_on};
constexpr std::array response_item_variants{
    Variant{"message", &response_message}, Variant{"reasoning", &response_reasoning},
    Variant{"function_call", &response_call}, Variant{"custom_tool_call", &response_call},
    Variant{"mcp_call", &response_call}};
constexpr std::array response_item_fields{text("type"), text("id"), text("status"),
                                          text("call_id")};
constexpr Shape response_item{"item", response_item_fields,   Unknown::passed_on,
                              "type", response_item_variants, {}};

// Further members of a response are facts of the answer.
constexpr std::array response_fields{text("type"),
                                     text("id"),
                                     text("object"),
                                     number("created_at"),
                                     text("status"),
                                     text("model"),
                                     list("output", response_item),
                                     map("usage"),
                                     text("service_tier"),
                                     map("incomplete_details")};
constexpr Shape response_whole{"response", response_fields, Unknown::passed_on};

constexpr std::array response_delta_fields{
    text("type"),          whole("content_index"), text("delta"),
    text("item_id"),       list("logprobs"),       raw("obfuscation"),
    whole("output_index"), whole("summary_index"), number("sequence_number"),
    text("call_id"),       text("response_id"),    text("name")};
constexpr Shape response_delta{{}, response_delta_fields, Unknown::named, {}, {}, {}, "delta"};

// The item at its end has the parts.
constexpr std::array response_event_fields{text("type"),
                                           number("sequence_number"),
                                           object("response", response_whole),
                                           text("item_id"),
                                           whole("output_index"),
                                           object("item", response_item),
                                           whole("content_index"),
                                           whole("summary_index"),
                                           object("part", response_part),
                                           text("text"),
                                           list("logprobs"),
                                           text("refusal"),
                                           text("arguments"),
                                           text("input"),
                                           map("annotation"),
                                           whole("annotation_index"),
                                           text("delta"),
                                           text("code"),
                                           raw("obfuscation"),
                                           text("call_id"),
                                           text("response_id"),
                                           text("name"),
                                           raw("agent")};
constexpr Shape response_event{{}, response_event_fields};
// Further members of the last event are facts, and those of an unfinished image go with it.
constexpr Shape response_report{{}, response_event_fields, Unknown::passed_on};
constexpr Shape response_image{{}, response_other_part_fields, Unknown::passed_on};

constexpr std::array response_records{
    Variant{"response.output_text.delta", &response_delta},
    Variant{"response.function_call_arguments.delta", &response_delta},
    Variant{"response.reasoning_summary_text.delta", &response_delta},
    Variant{"response.reasoning_text.delta", &response_delta},
    Variant{"response.refusal.delta", &response_delta},
    Variant{"response.mcp_call_arguments.delta", &response_delta},
    Variant{"response.custom_tool_call_input.delta", &response_delta},
    Variant{"response.audio.transcript.delta", &response_delta},
    Variant{"response.audio.delta", &response_delta},
    Variant{"response.output_text.annotation.added", &response_event},
    Variant{"response.reasoning_summary_part.added", &response_event},
    Variant{"response.output_item.added", &response_event},
    Variant{"response.output_item.done", &response_event},
    Variant{"response.output_text.done", &response_event},
    Variant{"response.refusal.done", &response_event},
    Variant{"response.function_call_arguments.done", &response_event},
    Variant{"response.mcp_call_arguments.done", &response_event},
    Variant{"response.custom_tool_call_input.done", &response_event},
    Variant{"response.reasoning_summary_text.done", &response_event},
    Variant{"response.reasoning_text.done", &response_event},
    Variant{"response.image_generation_call.partial_image", &response_image},
    Variant{"response.created", &response_event},
    Variant{"response.queued", &response_event},
    Variant{"response.in_progress", &response_event},
    Variant{"response.completed", &response_report},
    Variant{"response.done", &response_report},
    Variant{"response.incomplete", &response_event},
    Variant{"response.failed", &response_event},
    Variant{"response.cancelled", &response_event},
    Variant{"response.code_interpreter_call.in_progress", &response_event},
    Variant{"response.code_interpreter_call.interpreting", &response_event},
    Variant{"response.code_interpreter_call.completed", &response_event},
    Variant{"response.code_interpreter_call_code.delta", &response_event},
    Variant{"response.code_interpreter_call_code.done", &response_event},
    Variant{"response.content_part.added", &response_event},
    Variant{"response.content_part.done", &response_event},
    Variant{"response.file_search_call.in_progress", &response_event},
    Variant{"response.file_search_call.searching", &response_event},
    Variant{"response.file_search_call.completed", &response_event},
    Variant{"response.image_generation_call.in_progress", &response_event},
    Variant{"response.image_generation_call.generating", &response_event},
    Variant{"response.image_generation_call.completed", &response_event},
    Variant{"response.mcp_call.in_progress", &response_event},
    Variant{"response.mcp_call.completed", &response_event},
    Variant{"response.mcp_call.failed", &response_event},
    Variant{"response.mcp_list_tools.in_progress", &response_event},
    Variant{"response.mcp_list_tools.completed", &response_event},
    Variant{"response.mcp_list_tools.failed", &response_event},
    Variant{"response.web_search_call.in_progress", &response_event},
    Variant{"response.web_search_call.searching", &response_event},
    Variant{"response.web_search_call.completed", &response_event},
    Variant{"response.audio.done", &response_event},
    Variant{"response.audio.transcript.done", &response_event},
    Variant{"response.reasoning_summary_part.done", &response_event}};
constexpr Shape response_record{"response", response_fields,  Unknown::passed_on,
                                "type",     response_records, "response."};

}  // namespace

void check_responses(const Report& report, std::string_view /*name*/, const json::Value& record) {
  check_record(report, response_record, record);
}

}  // namespace millrace::adapter::shapes
