// The events of Gemini's Interactions API, and an interaction in one piece.
// Source: @google/genai, `InteractionSSEEvent` and `Interaction` (2026).
#include <array>

#include "adapter/record_shape.hpp"

namespace millrace::adapter::shapes {
namespace {

constexpr std::array turn_text_fields{text("text"), text("type"), list("annotations")};
constexpr Shape turn_text{"text", turn_text_fields};
constexpr std::array turn_text_variants{Variant{"text", &turn_text}};
// Media and whatever else are kept as they are.
constexpr std::array turn_part_fields{text("type")};
constexpr Shape turn_part{"content", turn_part_fields,   Unknown::passed_on,
                          "type",    turn_text_variants, {}};
// What a summary has beside its text is state.
constexpr std::array turn_summary_fields{text("text"), text("type")};
constexpr Shape turn_summary{"summary", turn_summary_fields, Unknown::passed_on};

constexpr std::array turn_output_fields{text("type"), list("content", turn_part), text("text"),
                                        list("annotations"), map("error")};
// Its further members are state.
constexpr Shape turn_output{{}, turn_output_fields, Unknown::passed_on};
constexpr std::array turn_reasoning_fields{text("type"), text("signature"),
                                           list("summary", turn_summary)};
constexpr Shape turn_reasoning{{}, turn_reasoning_fields};
constexpr std::array turn_call_fields{text("type"), text("id"), text("name"),
                                      Field{"arguments", object_type}, text("signature")};
constexpr Shape turn_call{{}, turn_call_fields};
constexpr std::array turn_step_variants{
    Variant{"model_output", &turn_output}, Variant{"text", &turn_output},
    Variant{"thought", &turn_reasoning}, Variant{"function_call", &turn_call}};
// Calls of hosted tools and results are their own state.
constexpr std::array turn_step_fields{text("type"), text("id"),        text("call_id"),
                                      text("name"), text("signature"), flag("is_error")};
constexpr Shape turn_step{"step", turn_step_fields,   Unknown::passed_on,
                          "type", turn_step_variants, {}};

constexpr std::array turn_summary_delta_fields{object("content", turn_summary), text("type")};
constexpr Shape turn_summary_delta{{}, turn_summary_delta_fields};
constexpr std::array turn_signature_fields{text("signature"), text("type")};
constexpr Shape turn_signature{{}, turn_signature_fields};
constexpr std::array turn_arguments_fields{text("arguments"), text("type"), text("id")};
constexpr Shape turn_arguments{{}, turn_arguments_fields};
constexpr std::array turn_annotation_fields{list("annotations"), text("type")};
constexpr Shape turn_annotation{{}, turn_annotation_fields};
constexpr std::array turn_delta_variants{Variant{"text", &turn_text},
                                         Variant{"arguments_delta", &turn_arguments},
                                         Variant{"thought_summary", &turn_summary_delta},
                                         Variant{"thought_signature", &turn_signature},
                                         Variant{"text_annotation", &turn_annotation},
                                         Variant{"text_annotation_delta", &turn_annotation},
                                         Variant{"function_call", &turn_call}};
constexpr Shape turn_delta{"delta", turn_step_fields,    Unknown::passed_on,
                           "type",  turn_delta_variants, {}};

// Further members of an interaction are facts of the answer.
constexpr std::array turn_interaction_fields{
    text("id"),        text("status"),           text("object"),
    text("model"),     list("steps", turn_step), list("outputs", turn_step),
    map("usage"),      text("service_tier"),     text("continuation_token"),
    text("event_type")};
constexpr Shape turn_interaction{"interaction", turn_interaction_fields, Unknown::passed_on};

constexpr std::array turn_delta_record_fields{whole("index"), object("delta", turn_delta),
                                              text("event_type"), text("event_id"),
                                              map("metadata")};
constexpr std::array turn_start_record_fields{whole("index"), object("step", turn_step),
                                              text("event_type"), text("event_id"),
                                              object("content", turn_step)};
constexpr std::array turn_stop_record_fields{whole("index"), text("event_type"), text("event_id"),
                                             map("usage"),   map("step_usage"),  map("metadata")};
constexpr std::array turn_whole_record_fields{object("interaction", turn_interaction),
                                              text("event_type"), text("event_id")};
constexpr std::array turn_status_record_fields{
    text("interaction_id"),     text("status"), text("event_type"), text("event_id"), map("usage"),
    text("continuation_token"), raw("error")};
constexpr Shape turn_delta_record{{}, turn_delta_record_fields};
constexpr Shape turn_start_record{{}, turn_start_record_fields};
constexpr Shape turn_stop_record{{}, turn_stop_record_fields};
constexpr Shape turn_whole_record{{}, turn_whole_record_fields};
constexpr Shape turn_status_record{{}, turn_status_record_fields};

// The names with `content.` are those of the revision before.
constexpr std::array turn_records{Variant{"step.delta", &turn_delta_record},
                                  Variant{"step.start", &turn_start_record},
                                  Variant{"step.stop", &turn_stop_record},
                                  Variant{"content.delta", &turn_delta_record},
                                  Variant{"content.start", &turn_start_record},
                                  Variant{"content.stop", &turn_stop_record},
                                  Variant{"interaction.created", &turn_whole_record},
                                  Variant{"interaction.start", &turn_whole_record},
                                  Variant{"interaction.completed", &turn_whole_record},
                                  Variant{"interaction.complete", &turn_whole_record},
                                  Variant{"interaction.status_update", &turn_status_record}};
constexpr Shape turn_record{
    "interaction", turn_interaction_fields, Unknown::passed_on, "event_type", turn_records, {}};

}  // namespace

void check_interactions(const Report& report, std::string_view /*name*/,
                        const json::Value& record) {
  check_record(report, turn_record, record);
}

}  // namespace millrace::adapter::shapes
