// The records of chat completions, as OpenAI and the servers that follow it send them.
// Source: openai-node 7.57.0, `ChatCompletionChunk` and `ChatCompletion`; @mistralai/mistralai;
// recorded answers of Azure, Cerebras, DeepSeek, Groq, Moonshot, Perplexity, Qwen and xAI (2026).
#include <array>

#include "adapter/record_shape.hpp"

namespace millrace::adapter::shapes {
namespace {

// Those of calls that a server adds go back with the call, or are named by the adapter.
constexpr std::array chat_function_fields{text("name"), Field{"arguments", text_type | object_type},
                                          text("input")};
constexpr Shape chat_function{"tool_calls.function", chat_function_fields, Unknown::passed_on};
constexpr Shape chat_custom{"tool_calls.custom", chat_function_fields, Unknown::passed_on};
constexpr std::array chat_call_fields{number("index"),
                                      text("id"),
                                      text("type"),
                                      object("function", chat_function),
                                      map("extra_content"),
                                      object("custom", chat_custom),
                                      text("thoughtSignature")};
constexpr Shape chat_call{"tool_calls", chat_call_fields, Unknown::passed_on};

// Parts of a content are kept as they are.
constexpr std::array chat_piece_fields{text("type"), text("text")};
constexpr Shape chat_piece{"thinking", chat_piece_fields, Unknown::passed_on};
constexpr std::array chat_part_fields{
    text("type"),      text("text"),          flag("closed"),  text_or_list("thinking", chat_piece),
    text("signature"), list("reference_ids"), raw("image_url")};
constexpr Shape chat_part{"content", chat_part_fields, Unknown::passed_on};

constexpr std::array chat_audio_fields{text("id"), text("data"), text("transcript"),
                                       number("expires_at")};
constexpr Shape chat_audio{"audio", chat_audio_fields};
constexpr std::array chat_old_call_fields{text("name"),
                                          Field{"arguments", text_type | object_type}};
constexpr Shape chat_old_call{"function_call", chat_old_call_fields, Unknown::passed_on};

// The last ones are of Groq, Together, Mistral and Moonshot, and hold nothing of the answer.
constexpr std::array chat_delta_fields{
    text("role"),
    text_or_list("content", chat_part),
    text("reasoning_content"),
    text("reasoning"),
    text("reasoning_text"),
    text("reasoning_opaque"),
    text("refusal"),
    Field{"tool_calls", list_type | object_type, object_type, &chat_call},
    objects("reasoning_details"),
    objects("thinking_blocks"),
    object("function_call", chat_old_call),
    object("audio", chat_audio),
    list("images"),
    list("annotations"),
    list("executed_tools"),
    raw("channel"),
    raw("token_id"),
    raw("prefix"),
    raw("index"),
    raw("partial")};
constexpr Shape chat_delta{"delta", chat_delta_fields};
// Further members of a whole message go back with it.
constexpr Shape chat_message{"message", chat_delta_fields, Unknown::passed_on};

constexpr std::array chat_choice_fields{
    whole("index"), object("delta", chat_delta),     raw("logprobs"), text("finish_reason"),
    map("usage"),   object("message", chat_message), list("messages")};
constexpr Shape chat_choice{"choice", chat_choice_fields, Unknown::carried};

// Some have events of their own; `p` and `obfuscation` only pad the record.
constexpr std::array chat_record_fields{text("id"),
                                        text("object"),
                                        number("created"),
                                        text("model"),
                                        text("service_tier"),
                                        text("system_fingerprint"),
                                        list("choices", chat_choice),
                                        map("usage"),
                                        raw("obfuscation"),
                                        raw("p"),
                                        raw("moderation"),
                                        raw("citations"),
                                        raw("search_results"),
                                        raw("web_search"),
                                        raw("search_info"),
                                        raw("error")};
constexpr Shape chat_record{"chunk", chat_record_fields, Unknown::carried};

}  // namespace

// Of an error only the error counts.
void check_chat(const Report& report, std::string_view /*name*/, const json::Value& record) {
  const bool is_answer = record["choices"].exists() || record["usage"].is_object();
  if (is_answer || !record.is_object()) check_record(report, chat_record, record);
}

}  // namespace millrace::adapter::shapes
