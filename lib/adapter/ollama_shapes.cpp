// The records of Ollama's chat and generate.
// Source: ollama-js, `ChatResponse` and `GenerateResponse` (2026).
#include <array>

#include "adapter/record_shape.hpp"

namespace millrace::adapter::shapes {
namespace {

constexpr std::array ollama_function_fields{number("index"), text("name"),
                                            Field{"arguments", object_type | text_type}};
constexpr Shape ollama_function{"tool_calls.function", ollama_function_fields};
constexpr std::array ollama_call_fields{text("id"), object("function", ollama_function),
                                        text("type")};
constexpr Shape ollama_call{"tool_calls", ollama_call_fields};
constexpr std::array ollama_message_fields{text("role"),     text("content"),
                                           text("thinking"), list("tool_calls", ollama_call),
                                           texts("images"),  text("tool_name")};
constexpr Shape ollama_message{"message", ollama_message_fields};

// `completed` and `total` count the steps of an image.
constexpr std::array ollama_record_fields{text("model"),
                                          text("created_at"),
                                          object("message", ollama_message),
                                          text("response"),
                                          text("thinking"),
                                          flag("done"),
                                          text("done_reason"),
                                          number("total_duration"),
                                          number("load_duration"),
                                          number("prompt_eval_count"),
                                          number("prompt_eval_duration"),
                                          number("eval_count"),
                                          number("eval_duration"),
                                          raw("context"),
                                          raw("logprobs"),
                                          text("image"),
                                          raw("images"),
                                          raw("completed"),
                                          raw("total"),
                                          raw("error")};
constexpr Shape ollama_record{"record", ollama_record_fields, Unknown::carried};

}  // namespace

void check_ollama(const Report& report, std::string_view /*name*/, const json::Value& record) {
  check_record(report, ollama_record, record);
}

}  // namespace millrace::adapter::shapes
