#include "model/provider/dialects.hpp"

#include <array>

#include "model/body/bodies.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view events = "text/event-stream";
constexpr std::string_view anthropic_headers = "anthropic-version: 2023-06-01";

// In the order of the enum.
// Sources: the API references of OpenAI, Anthropic, Google, Ollama, AWS and Cohere (2026).
constexpr std::array dialect_table{
    DialectRow{Dialect::openai_chat, "openai_chat", "openai_chat", "/chat/completions",
               "/chat/completions", "", events, "/chat/completions", openai_chat_body},
    DialectRow{Dialect::openai_responses, "openai_responses", "openai_responses", "/responses",
               "/responses", "", events, "/chat/completions,/responses", openai_responses_body},
    DialectRow{Dialect::anthropic, "anthropic", "anthropic", "/v1/messages", "/v1/messages",
               anthropic_headers, events, "/v1/messages,/v1", anthropic_body},
    DialectRow{Dialect::vertex_anthropic, "vertex_anthropic", "anthropic",
               "/models/{model}:streamRawPredict", "/models/{model}:rawPredict", "", events, "",
               vertex_anthropic_body},
    DialectRow{Dialect::gemini, "gemini", "gemini",
               "/v1beta/models/{model}:streamGenerateContent?alt=sse",
               "/v1beta/models/{model}:generateContent", "", events, "/v1beta,/v1", gemini_body},
    DialectRow{Dialect::vertex_gemini, "vertex_gemini", "gemini",
               "/models/{model}:streamGenerateContent?alt=sse", "/models/{model}:generateContent",
               "", events, "", gemini_body},
    DialectRow{Dialect::ollama, "ollama", "ollama", "/api/chat", "/api/chat", "",
               "application/x-ndjson", "/api/chat,/api,/v1", ollama_body},
    DialectRow{Dialect::bedrock_converse, "bedrock_converse", "bedrock_converse",
               "/model/{model}/converse-stream", "/model/{model}/converse", "",
               "application/vnd.amazon.eventstream", "", bedrock_converse_body},
    DialectRow{Dialect::cohere, "cohere", "cohere", "/v2/chat", "/v2/chat", "", events,
               "/v2/chat,/v2,/v1", cohere_body},
    DialectRow{Dialect::mistral, "mistral", "mistral", "/chat/completions", "/chat/completions", "",
               events, "/chat/completions", openai_chat_body},
    DialectRow{Dialect::none, "none", "", "", "", "", "", "", nullptr},
};

}  // namespace

std::span<const DialectRow> dialects() {
  return dialect_table;
}

const DialectRow& row_of(Dialect dialect) {
  return dialect_table[static_cast<std::size_t>(dialect)];
}

}  // namespace millrace::model
