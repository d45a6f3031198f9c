// The records of Anthropic's Messages API.
// Source: @anthropic-ai/sdk, `RawMessageStreamEvent` and `Message` (2026).
#include <array>

#include "adapter/record_shape.hpp"

namespace millrace::adapter::shapes {
namespace {

// Further members of blocks go back with them, or are named by the adapter.
constexpr std::array claude_text_fields{text("type"), text("text"), list("citations")};
constexpr Shape claude_text{"text", claude_text_fields, Unknown::passed_on};
constexpr std::array claude_thinking_fields{text("type"), text("thinking"), text("signature")};
constexpr Shape claude_thinking{"thinking", claude_thinking_fields, Unknown::passed_on};
constexpr std::array claude_block_variants{Variant{"text", &claude_text},
                                           Variant{"thinking", &claude_thinking}};
constexpr std::array claude_block_fields{
    text("type"),        text("id"),   text("name"),       Field{"input", object_type},
    text("tool_use_id"), text("data"), text("server_name")};
constexpr Shape claude_block{"content_block", claude_block_fields,   Unknown::passed_on,
                             "type",          claude_block_variants, {}};

constexpr std::array claude_delta_fields{
    text("type"),      text("text"),    text("partial_json"),      text("thinking"),
    text("signature"), map("citation"), number("estimated_tokens")};
constexpr std::array claude_compaction_fields{text("type"), text("content")};
constexpr Shape claude_compaction{"delta", claude_compaction_fields, Unknown::passed_on};
constexpr std::array claude_delta_variants{Variant{"compaction_delta", &claude_compaction}};
constexpr Shape claude_delta{"delta", claude_delta_fields,   Unknown::named,
                             "type",  claude_delta_variants, {}};

// What else a message and its end have are facts of the answer.
constexpr std::array claude_message_fields{
    text("id"),
    text("type"),
    text("role"),
    text("model"),
    map("usage"),
    text("stop_reason"),
    text("stop_sequence"),
    Field{"content", text_type | list_type, object_type, &claude_block},
    map("stop_details"),
    map("container"),
    map("context_management")};
constexpr Shape claude_message{"message", claude_message_fields, Unknown::passed_on};
constexpr std::array claude_end_fields{text("stop_reason"), text("stop_sequence"),
                                       map("stop_details"), map("container")};
constexpr Shape claude_end{"delta", claude_end_fields, Unknown::passed_on};

constexpr std::array claude_delta_record_fields{text("type"), whole("index"),
                                                object("delta", claude_delta)};
constexpr std::array claude_start_record_fields{text("type"), whole("index"),
                                                object("content_block", claude_block)};
constexpr std::array claude_stop_record_fields{text("type"), whole("index")};
constexpr std::array claude_message_start_fields{text("type"), object("message", claude_message)};
constexpr std::array claude_message_delta_fields{text("type"), object("delta", claude_end),
                                                 map("usage"), map("context_management")};
// Amazon Bedrock puts its counts into the last record.
constexpr std::array claude_message_stop_fields{text("type"),
                                                carried("amazon-bedrock-invocationMetrics")};
constexpr Shape claude_delta_record{{}, claude_delta_record_fields};
constexpr Shape claude_start_record{{}, claude_start_record_fields};
constexpr Shape claude_stop_record{{}, claude_stop_record_fields};
constexpr Shape claude_message_start{{}, claude_message_start_fields};
constexpr Shape claude_message_delta{{}, claude_message_delta_fields, Unknown::passed_on};
constexpr Shape claude_message_stop{{}, claude_message_stop_fields};
constexpr Shape claude_ping{{}, claude_stop_record_fields};

constexpr std::array claude_records{Variant{"content_block_delta", &claude_delta_record},
                                    Variant{"content_block_start", &claude_start_record},
                                    Variant{"content_block_stop", &claude_stop_record},
                                    Variant{"message_start", &claude_message_start},
                                    Variant{"message_delta", &claude_message_delta},
                                    Variant{"message_stop", &claude_message_stop},
                                    Variant{"ping", &claude_ping},
                                    Variant{"message", &claude_message}};
constexpr std::array claude_record_fields{text("type")};
constexpr Shape claude_record{"record", claude_record_fields, Unknown::passed_on,
                              "type",   claude_records,       {}};

}  // namespace

void check_anthropic(const Report& report, std::string_view /*name*/, const json::Value& record) {
  check_record(report, claude_record, record);
}

}  // namespace millrace::adapter::shapes
