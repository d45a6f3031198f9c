// The records of Cohere's chat of version 2.
// Source: cohere-ai, `V2ChatStreamResponse` and `V2ChatResponse` (2026).
#include <array>

#include "adapter/record_shape.hpp"

namespace millrace::adapter::shapes {
namespace {

constexpr std::array cohere_content_fields{text("text"), text("thinking"), text("type")};
constexpr Shape cohere_content{"content", cohere_content_fields};
constexpr std::array cohere_function_fields{text("arguments"), text("name")};
constexpr Shape cohere_function{"tool_calls.function", cohere_function_fields};
constexpr std::array cohere_call_fields{object("function", cohere_function), text("id"),
                                        text("type")};
constexpr Shape cohere_call{"tool_calls", cohere_call_fields};

// In pieces the content, a call and a citation are objects, in one piece lists of these.
constexpr std::array cohere_message_fields{
    Field{"content", object_type | list_type, object_type, &cohere_content}, text("tool_plan"),
    Field{"tool_calls", object_type | list_type, object_type, &cohere_call},
    Field{"citations", object_type | list_type, object_type}, text("role")};
constexpr Shape cohere_message{"message", cohere_message_fields};
constexpr std::array cohere_delta_fields{object("message", cohere_message)};
constexpr Shape cohere_delta{"delta", cohere_delta_fields};
constexpr std::array cohere_end_fields{text("finish_reason"), map("usage"), text("error")};
constexpr Shape cohere_end{"delta", cohere_end_fields, Unknown::passed_on};

constexpr std::array cohere_piece_fields{
    text("type"), whole("index"), object("delta", cohere_delta), raw("logprobs"), text("id")};
constexpr std::array cohere_message_end_fields{text("type"), text("id"),
                                               object("delta", cohere_end)};
constexpr Shape cohere_piece{{}, cohere_piece_fields};
// Further members of the first record and the last are facts of the answer.
constexpr Shape cohere_start{{}, cohere_piece_fields, Unknown::passed_on};
constexpr Shape cohere_message_end{{}, cohere_message_end_fields, Unknown::passed_on};

constexpr std::array cohere_records{
    Variant{"content-delta", &cohere_piece},    Variant{"tool-call-delta", &cohere_piece},
    Variant{"tool-plan-delta", &cohere_piece},  Variant{"content-start", &cohere_piece},
    Variant{"content-end", &cohere_piece},      Variant{"tool-call-start", &cohere_piece},
    Variant{"tool-call-end", &cohere_piece},    Variant{"citation-start", &cohere_piece},
    Variant{"citation-end", &cohere_piece},     Variant{"message-start", &cohere_start},
    Variant{"message-end", &cohere_message_end}};
// An answer in one piece has no type.
constexpr std::array cohere_answer_fields{
    text("type"),          text("id"),
    text("finish_reason"), Field{"message", object_type | text_type, any_type, &cohere_message},
    map("usage"),          raw("logprobs")};
constexpr Shape cohere_record{"answer", cohere_answer_fields, Unknown::passed_on,
                              "type",   cohere_records,       {}};

}  // namespace

void check_cohere(const Report& report, std::string_view /*name*/, const json::Value& record) {
  check_record(report, cohere_record, record);
}

}  // namespace millrace::adapter::shapes
