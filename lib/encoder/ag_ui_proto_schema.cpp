#include "encoder/ag_ui_proto_schema.hpp"

#include <algorithm>
#include <array>

namespace millrace::encoder::proto {
namespace {

using enum Kind;

template <std::size_t size>
constexpr Shape shape(const std::array<Field, size>& fields) {
  return {std::span<const Field>(fields)};
}

#define MILLRACE_SHAPE(name, ...)                                   \
  constexpr auto name##_fields = std::to_array<Field>(__VA_ARGS__); \
  constexpr Shape name = shape(name##_fields)

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
MILLRACE_SHAPE(base,
               {{2, "timestamp", integer}, {3, "rawEvent", value}, {4, "metadata", structure}});

// --- messages and what they hold

MILLRACE_SHAPE(text_part, {{1, "text"}, {2, "id"}, {3, "metadata", value}});
MILLRACE_SHAPE(media_part, {{1, "source", source}, {2, "metadata", value}, {3, "id"}});
MILLRACE_SHAPE(known_source, {{1, "value"}, {2, "mimeType"}});
MILLRACE_SHAPE(file_source, {{1, "value"}, {2, "provider"}, {3, "mimeType"}});
MILLRACE_SHAPE(function, {{1, "name"}, {2, "arguments"}});
MILLRACE_SHAPE(tool_call, {{1, "id"},
                           {2, "type"},
                           {3, "function", message, &function},
                           {4, "metadata", structure},
                           {5, "encryptedValue"}});
MILLRACE_SHAPE(one_message, {{1, "id"},
                             {2, "role"},
                             {3, "content"},
                             {4, "name"},
                             {5, "toolCalls", message, &tool_call},
                             {6, "toolCallId"},
                             {7, "error"},
                             {8, "content", parts},
                             {9, "metadata", structure},
                             {10, "subagentRunId"},
                             {11, "encryptedValue"},
                             {12, "activityType"},
                             {13, "content", structure}});
MILLRACE_SHAPE(patch_step, {{1, "op", patch}, {2, "path"}, {3, "from"}, {4, "value", value}});
MILLRACE_SHAPE(usage, {{1, "provider"},
                       {2, "model"},
                       {3, "inputTokens", integer},
                       {4, "outputTokens", integer},
                       {5, "totalTokens", integer},
                       {6, "reasoningTokens", integer},
                       {7, "cachedInputTokens", integer},
                       {8, "cacheWriteInputTokens", integer}});
MILLRACE_SHAPE(interrupt, {{1, "id"},
                           {2, "reason"},
                           {3, "message"},
                           {4, "toolCallId"},
                           {5, "responseSchema", value},
                           {6, "expiresAt"},
                           {7, "metadata", value},
                           {8, "subagentRunId"}});
MILLRACE_SHAPE(
    tool, {{1, "name"}, {2, "description"}, {3, "parameters", value}, {4, "metadata", structure}});
MILLRACE_SHAPE(context, {{1, "description"}, {2, "value"}});
MILLRACE_SHAPE(
    resume, {{1, "interruptId"}, {2, "status"}, {3, "payload", value}, {4, "metadata", structure}});
MILLRACE_SHAPE(run_input, {{1, "threadId"},
                           {2, "runId"},
                           {3, "parentRunId"},
                           {4, "state", value},
                           {5, "messages", message, &one_message},
                           {6, "tools", message, &tool},
                           {7, "context", message, &context},
                           {8, "forwardedProps", value},
                           {9, "resume", message, &resume},
                           {10, "protocolVersion"}});

// --- events

MILLRACE_SHAPE(text_start, {{2, "messageId"}, {3, "role"}, {4, "name"}, {5, "subagentRunId"}});
MILLRACE_SHAPE(text_content, {{2, "messageId"}, {3, "delta"}, {4, "subagentRunId"}});
MILLRACE_SHAPE(text_end, {{2, "messageId"}, {3, "subagentRunId"}});
MILLRACE_SHAPE(text_chunk,
               {{2, "messageId"}, {3, "role"}, {4, "delta"}, {5, "name"}, {6, "subagentRunId"}});
MILLRACE_SHAPE(call_start, {{2, "toolCallId"},
                            {3, "toolCallName"},
                            {4, "parentMessageId"},
                            {5, "subagentRunId"}});
MILLRACE_SHAPE(call_args, {{2, "toolCallId"}, {3, "delta"}, {4, "subagentRunId"}});
MILLRACE_SHAPE(call_end, {{2, "toolCallId"}, {3, "subagentRunId"}});
MILLRACE_SHAPE(call_chunk, {{2, "toolCallId"},
                            {3, "toolCallName"},
                            {4, "parentMessageId"},
                            {5, "delta"},
                            {6, "subagentRunId"}});
MILLRACE_SHAPE(call_result, {{2, "subagentRunId"},
                             {3, "messageId"},
                             {4, "toolCallId"},
                             {5, "content"},
                             {6, "role"},
                             {7, "content", parts}});
MILLRACE_SHAPE(state_snapshot, {{2, "snapshot", value}, {3, "subagentRunId"}});
MILLRACE_SHAPE(state_delta, {{2, "delta", message, &patch_step}, {3, "subagentRunId"}});
MILLRACE_SHAPE(messages_snapshot, {{2, "messages", message, &one_message}});
MILLRACE_SHAPE(activity_snapshot, {{2, "subagentRunId"},
                                   {3, "messageId"},
                                   {4, "activityType"},
                                   {5, "content", structure},
                                   {6, "replace", flag}});
MILLRACE_SHAPE(activity_delta, {{2, "subagentRunId"},
                                {3, "messageId"},
                                {4, "activityType"},
                                {5, "patch", message, &patch_step}});
MILLRACE_SHAPE(raw, {{2, "event", value}, {3, "source"}, {4, "subagentRunId"}});
MILLRACE_SHAPE(custom, {{2, "name"}, {3, "value", value}, {4, "subagentRunId"}});
MILLRACE_SHAPE(run_started, {{2, "threadId"},
                             {3, "runId"},
                             {4, "parentRunId"},
                             {5, "input", message, &run_input},
                             {6, "protocolVersion"}});
MILLRACE_SHAPE(run_finished, {{2, "threadId"},
                              {3, "runId"},
                              {4, "result", value},
                              {5, "outcome.type"},
                              {6, "outcome.interrupts", message, &interrupt},
                              {7, "usage", message, &usage},
                              {8, "outcome.pendingToolCallIds", texts}});
MILLRACE_SHAPE(run_error, {{2, "code"}, {3, "message"}, {4, "usage", message, &usage}});
MILLRACE_SHAPE(step, {{2, "stepName"}, {3, "subagentRunId"}});
MILLRACE_SHAPE(reasoning, {{2, "subagentRunId"}, {3, "messageId"}});
MILLRACE_SHAPE(reasoning_start, {{2, "subagentRunId"}, {3, "messageId"}, {4, "role"}});
MILLRACE_SHAPE(reasoning_content, {{2, "subagentRunId"}, {3, "messageId"}, {4, "delta"}});
MILLRACE_SHAPE(reasoning_encrypted,
               {{2, "subagentRunId"}, {3, "subtype"}, {4, "entityId"}, {5, "encryptedValue"}});
MILLRACE_SHAPE(subagent_started, {{2, "subagentRunId"},
                                  {3, "name"},
                                  {4, "description"},
                                  {5, "parentSubagentRunId"},
                                  {6, "parentToolCallId"},
                                  {7, "parentMessageId"}});
MILLRACE_SHAPE(subagent_finished, {{2, "subagentRunId"},
                                   {3, "result", value},
                                   {4, "outcome.type"},
                                   {5, "outcome.interruptIds", texts}});
MILLRACE_SHAPE(subagent_error, {{2, "subagentRunId"}, {3, "message"}, {4, "code"}});
// NOLINTEND(cppcoreguidelines-macro-usage)
#undef MILLRACE_SHAPE

// The number of a type and the field of its event differ.
constexpr auto events = std::to_array<EventShape>({
    {"TEXT_MESSAGE_START", 1, 0, &text_start},
    {"TEXT_MESSAGE_CONTENT", 2, 1, &text_content},
    {"TEXT_MESSAGE_END", 3, 2, &text_end},
    {"TOOL_CALL_START", 4, 3, &call_start},
    {"TOOL_CALL_ARGS", 5, 4, &call_args},
    {"TOOL_CALL_END", 6, 5, &call_end},
    {"STATE_SNAPSHOT", 7, 6, &state_snapshot},
    {"STATE_DELTA", 8, 7, &state_delta},
    {"MESSAGES_SNAPSHOT", 9, 8, &messages_snapshot},
    {"RAW", 10, 9, &raw},
    {"CUSTOM", 11, 10, &custom},
    {"RUN_STARTED", 12, 11, &run_started},
    {"RUN_FINISHED", 13, 12, &run_finished},
    {"RUN_ERROR", 14, 13, &run_error},
    {"STEP_STARTED", 15, 14, &step},
    {"STEP_FINISHED", 16, 15, &step},
    {"TEXT_MESSAGE_CHUNK", 17, 19, &text_chunk},
    {"TOOL_CALL_CHUNK", 18, 20, &call_chunk},
    {"SUBAGENT_STARTED", 19, 16, &subagent_started},
    {"SUBAGENT_FINISHED", 20, 17, &subagent_finished},
    {"SUBAGENT_ERROR", 21, 18, &subagent_error},
    {"TOOL_CALL_RESULT", 22, 21, &call_result},
    {"ACTIVITY_SNAPSHOT", 23, 22, &activity_snapshot},
    {"ACTIVITY_DELTA", 24, 23, &activity_delta},
    {"REASONING_START", 25, 24, &reasoning},
    {"REASONING_MESSAGE_START", 26, 25, &reasoning_start},
    {"REASONING_MESSAGE_CONTENT", 27, 26, &reasoning_content},
    {"REASONING_MESSAGE_END", 28, 27, &reasoning},
    {"REASONING_MESSAGE_CHUNK", 29, 28, &reasoning_content},
    {"REASONING_END", 30, 29, &reasoning},
    {"REASONING_ENCRYPTED_VALUE", 31, 30, &reasoning_encrypted},
});

constexpr auto part_types = std::to_array<Choice>({{"text", 1, &text_part},
                                                   {"image", 2, &media_part},
                                                   {"audio", 3, &media_part},
                                                   {"video", 4, &media_part},
                                                   {"document", 5, &media_part}});
constexpr auto source_types = std::to_array<Choice>(
    {{"data", 1, &known_source}, {"url", 2, &known_source}, {"file", 3, &file_source}});

template <class Rows>
auto find_row(const Rows& rows, std::string_view type) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.type == type; });
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace

const Shape& base_shape() {
  return base;
}

const EventShape* find_event(std::string_view type) {
  return find_row(events, type);
}

const Choice* find_part(std::string_view type) {
  return find_row(part_types, type);
}

const Choice* find_source(std::string_view type) {
  return find_row(source_types, type);
}

}  // namespace millrace::encoder::proto
