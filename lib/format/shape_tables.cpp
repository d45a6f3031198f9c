#include "format/shape_tables.hpp"

#include <array>

namespace millrace::format::shapes {
namespace {

using Words = std::string_view;
constexpr std::uint8_t text_or_list = a_string | a_list;
constexpr std::uint8_t text_or_object = a_string | an_object;

// OpenAI's chat and those of its shape.
constexpr std::array<Words, 2> call_types{"function", "custom"};
constexpr std::array<MemberShape, 2> chat_address_members{{{"url"}, {"detail"}}};
constexpr Shape chat_address{an_object, chat_address_members};
constexpr std::array<MemberShape, 2> chat_audio_members{{{"data"}, {"format"}}};
constexpr Shape chat_audio{an_object, chat_audio_members};
constexpr std::array<MemberShape, 3> chat_file_members{{{"file_id"}, {"file_data"}, {"filename"}}};
constexpr Shape chat_file{an_object, chat_file_members};
constexpr std::array<MemberShape, 1> typed_member{{{"type"}}};
constexpr Shape typed{an_object, typed_member};
constexpr std::array<MemberShape, 12> chat_part_members{{
    {"type"},
    {"text", a_string, nullptr, "text", {}, true},
    {"text", a_string, nullptr, "input_text", {}, true},
    {"text", a_string, nullptr, "", {}, true},
    {"refusal", a_string, nullptr, "refusal", {}, true},
    {"image_url", text_or_object, &chat_address, "image_url", {}, true},
    {"input_audio", text_or_object, &chat_audio, "input_audio", {}, true},
    {"file", an_object, &chat_file, "file"},
    {"file_id", a_string, nullptr, "file"},
    {"document_url", a_string, nullptr, "document_url", {}, true},
    {"document_name", a_string, nullptr, "document_url"},
    {"thinking", text_or_list, &typed, "thinking"},
}};
constexpr Shape chat_part{an_object, chat_part_members};
constexpr std::array<MemberShape, 1> name_members{{{"name"}}};
constexpr Shape named{an_object, name_members};
constexpr std::array<MemberShape, 4> chat_call_members{{
    {"id"},
    {"type", a_string, nullptr, every_type, call_types},
    {"function", an_object, &named},
    {"custom", an_object, &named},
}};
constexpr Shape chat_call{an_object, chat_call_members};
constexpr std::array<MemberShape, 13> chat_members{{
    {"role", a_string, nullptr, every_type, {}, true},
    {"id"},
    {"name"},
    {"content", text_or_list, &chat_part},
    {"tool_calls", a_list, &chat_call},
    {"function_call", an_object, &named},
    {"tool_call_id"},
    {"reasoning_content"},
    {"reasoning", text_or_object},
    {"reasoning_details", a_list},
    {"thinking_blocks", a_list},
    {"refusal"},
    {"audio", an_object},
}};

// OpenAI's Responses.
constexpr std::array<MemberShape, 14> item_part_members{{
    {"type", a_string, nullptr, every_type, {}, true},
    {"text", a_string, nullptr, "input_text", {}, true},
    {"text", a_string, nullptr, "output_text", {}, true},
    {"text", a_string, nullptr, "text", {}, true},
    {"text", a_string, nullptr, "summary_text", {}, true},
    {"text", a_string, nullptr, "reasoning_text", {}, true},
    {"refusal", a_string, nullptr, "refusal", {}, true},
    {"image_url", a_string, nullptr, "input_image"},
    {"file_id", a_string},
    {"detail", a_string, nullptr, "input_image"},
    {"file_data", a_string, nullptr, "input_file"},
    {"file_url", a_string, nullptr, "input_file"},
    {"filename", a_string, nullptr, "input_file"},
    {"annotations", a_list, nullptr, "output_text"},
}};
constexpr Shape item_part{an_object, item_part_members};
constexpr std::array<MemberShape, 18> item_members{{
    {"type"},
    {"id"},
    {"role", a_string, nullptr, "message", {}, true},
    {"role", a_string, nullptr, ""},
    {"content", text_or_list, &item_part, "message"},
    {"content", text_or_list, &item_part, ""},
    {"phase", a_string, nullptr, "message"},
    {"content", a_list, &item_part, "reasoning"},
    {"summary", a_list, &item_part, "reasoning"},
    {"encrypted_content", a_string, nullptr, "reasoning"},
    {"call_id"},
    {"name", a_string, nullptr, "function_call"},
    {"name", a_string, nullptr, "custom_tool_call"},
    {"input", a_string, nullptr, "custom_tool_call"},
    {"name", a_string, nullptr, "mcp_call"},
    {"call_id", a_string, nullptr, "function_call_output", {}, true},
    {"call_id", a_string, nullptr, "custom_tool_call_output", {}, true},
    {"result", a_string, nullptr, "image_generation_call"},
}};

// Anthropic's.
constexpr std::array<Words, 3> turn_roles{"user", "assistant", "system"};
constexpr std::array<MemberShape, 5> source_members{
    {{"type"}, {"media_type"}, {"url"}, {"file_id"}, {"data"}}};
constexpr Shape source{an_object, source_members};
constexpr std::array<MemberShape, 17> block_members{{
    {"type", a_string, nullptr, every_type, {}, true},
    {"text", a_string, nullptr, "text", {}, true},
    {"citations", a_list, nullptr, "text"},
    {"thinking", a_string, nullptr, "thinking"},
    {"signature", a_string, nullptr, "thinking"},
    {"id", a_string, nullptr, "tool_use", {}, true},
    {"name", a_string, nullptr, "tool_use", {}, true},
    {"id", a_string, nullptr, "server_tool_use", {}, true},
    {"name", a_string, nullptr, "server_tool_use", {}, true},
    {"id", a_string, nullptr, "mcp_tool_use", {}, true},
    {"name", a_string, nullptr, "mcp_tool_use", {}, true},
    {"tool_use_id", a_string, nullptr, "tool_result", {}, true},
    {"content", text_or_list, &anthropic_block, "tool_result"},
    {"is_error", a_flag, nullptr, "tool_result"},
    {"content", text_or_list, &anthropic_block, "mcp_tool_result"},
    {"source", an_object, &source, "image"},
    {"source", an_object, nullptr, "document"},
}};
constexpr std::array<MemberShape, 3> anthropic_members{{
    {"role", a_string, nullptr, every_type, turn_roles, true},
    {"id"},
    {"content", text_or_list, &anthropic_block},
}};

// Gemini's.
constexpr std::array<MemberShape, 3> inline_members{{{"mimeType"}, {"data"}, {"displayName"}}};
constexpr Shape inline_data{an_object, inline_members};
constexpr std::array<MemberShape, 3> file_members{{{"mimeType"}, {"fileUri"}, {"displayName"}}};
constexpr Shape file_data{an_object, file_members};
constexpr std::array<MemberShape, 3> gemini_call_members{{{"id"}, {"name"}, {"args", an_object}}};
constexpr Shape gemini_call{an_object, gemini_call_members};
constexpr std::array<MemberShape, 3> response_members{{{"id"}, {"name"}, {"response", an_object}}};
constexpr Shape gemini_response{an_object, response_members};
constexpr std::array<MemberShape, 3> code_members{{{"id"}, {"language"}, {"code"}}};
constexpr Shape gemini_code{an_object, code_members};
constexpr std::array<MemberShape, 3> outcome_members{{{"id"}, {"outcome"}, {"output"}}};
constexpr Shape gemini_outcome{an_object, outcome_members};
constexpr std::array<MemberShape, 9> gemini_part_members{{
    {"text"},
    {"thought", a_flag},
    {"thoughtSignature"},
    {"inlineData", an_object, &inline_data},
    {"fileData", an_object, &file_data},
    {"functionCall", an_object, &gemini_call},
    {"functionResponse", an_object, &gemini_response},
    {"executableCode", an_object, &gemini_code},
    {"codeExecutionResult", an_object, &gemini_outcome},
}};
constexpr Shape gemini_part{an_object, gemini_part_members};
constexpr std::array<Words, 4> gemini_roles{"user", "model", "function", "tool"};
constexpr std::array<MemberShape, 3> gemini_members{{
    {"role", a_string, nullptr, every_type, gemini_roles},
    {"id"},
    {"parts", a_list, &gemini_part},
}};
constexpr std::array<MemberShape, 1> gemini_system_members{{{"parts", a_list, &gemini_part}}};

// Amazon Bedrock's.
constexpr std::array<MemberShape, 2> use_members{{{"toolUseId"}, {"name"}}};
constexpr Shape use{an_object, use_members};
constexpr std::array<MemberShape, 3> result_members{
    {{"toolUseId"}, {"content", a_list, &bedrock_block}, {"status"}}};
constexpr Shape result{an_object, result_members};
constexpr std::array<MemberShape, 2> reasoning_text_members{{{"text"}, {"signature"}}};
constexpr Shape reasoning_text{an_object, reasoning_text_members};
constexpr std::array<MemberShape, 2> reasoning_members{
    {{"reasoningText", an_object, &reasoning_text}, {"redactedContent"}}};
constexpr Shape reasoning{an_object, reasoning_members};
constexpr std::array<MemberShape, 8> bedrock_block_members{{
    {"text"},
    {"toolUse", an_object, &use},
    {"toolResult", an_object, &result},
    {"reasoningContent", an_object, &reasoning},
    {"citationsContent", an_object},
    {"image", an_object},
    {"document", an_object},
    {"video", an_object},
}};
constexpr std::array<Words, 2> bedrock_roles{"user", "assistant"};
constexpr std::array<MemberShape, 2> bedrock_members{{
    {"role", a_string, nullptr, every_type, bedrock_roles, true},
    {"content", a_list, &bedrock_block},
}};

// Cohere's.
constexpr std::array<Words, 5> cohere_roles{"user", "assistant", "tool", "system", "developer"};
constexpr std::array<MemberShape, 5> cohere_part_members{{
    {"type"},
    {"text", a_string, nullptr, "text", {}, true},
    {"thinking", a_string, nullptr, "thinking", {}, true},
    {"image_url", an_object, &chat_address, "image_url", {}, true},
    {"document", an_object, nullptr, "document", {}, true},
}};
constexpr Shape cohere_part{an_object, cohere_part_members};
constexpr std::array<MemberShape, 3> plain_call_members{
    {{"id"}, {"type"}, {"function", an_object, &named}}};
constexpr Shape plain_call{an_object, plain_call_members};
constexpr std::array<MemberShape, 6> cohere_members{{
    {"role", a_string, nullptr, every_type, cohere_roles, true},
    {"id"},
    {"content", text_or_list, &cohere_part},
    {"tool_plan"},
    {"tool_calls", a_list, &plain_call},
    {"tool_call_id"},
}};

// Ollama's.
constexpr std::array<Words, 4> ollama_roles{"user", "assistant", "tool", "system"};
constexpr Shape base64{a_string, {}};
constexpr std::array<MemberShape, 8> ollama_members{{
    {"role", a_string, nullptr, every_type, ollama_roles, true},
    {"id"},
    {"content"},
    {"images", a_list, &base64},
    {"thinking"},
    {"tool_calls", a_list, &plain_call},
    {"tool_name"},
    {"tool_call_id"},
}};

// LangGraph's.
constexpr std::array<MemberShape, 2> graph_block_members{
    {{"type"}, {"text", a_string, nullptr, "text", {}, true}}};
constexpr Shape graph_block{text_or_object, graph_block_members};
constexpr std::array<MemberShape, 2> graph_call_members{{{"id"}, {"name"}}};
constexpr Shape graph_call{an_object, graph_call_members};
constexpr std::array<MemberShape, 12> graph_members{{
    {"type"},
    {"role"},
    {"content", text_or_list, &graph_block},
    {"tool_calls", a_list, &graph_call},
    {"invalid_tool_calls", a_list, &graph_call},
    {"tool_call_id"},
    {"name"},
    {"status"},
    {"additional_kwargs", an_object},
    {"kwargs", an_object, &langgraph_message, "constructor"},
    {"data", an_object, &langgraph_message},
    {"id", text_or_list},
}};

}  // namespace

constexpr Shape chat_message{an_object, chat_members};
constexpr Shape response_item{an_object, item_members};
constexpr Shape anthropic_turn{an_object, anthropic_members};
constexpr Shape anthropic_block{an_object, block_members};
constexpr Shape gemini_turn{an_object, gemini_members};
constexpr Shape gemini_system{text_or_object, gemini_system_members};
constexpr Shape bedrock_turn{an_object, bedrock_members};
constexpr Shape bedrock_block{an_object, bedrock_block_members};
constexpr Shape cohere_message{an_object, cohere_members};
constexpr Shape ollama_message{an_object, ollama_members};
constexpr Shape langgraph_message{an_object, graph_members};

}  // namespace millrace::format::shapes
