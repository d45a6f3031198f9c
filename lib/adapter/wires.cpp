#include "adapter/wires.hpp"

#include <algorithm>
#include <array>

#include "adapter/ag_ui.hpp"
#include "adapter/anthropic.hpp"
#include "adapter/bedrock_converse.hpp"
#include "adapter/cohere.hpp"
#include "adapter/gemini.hpp"
#include "adapter/gemini_interactions.hpp"
#include "adapter/langgraph.hpp"
#include "adapter/ollama.hpp"
#include "adapter/openai_chat.hpp"
#include "adapter/openai_responses.hpp"

namespace millrace::adapter {
namespace {

template <class T>
std::unique_ptr<Adapter> make(const Services& services) {
  return std::make_unique<T>(services);
}

// Doubao's Seed models write calls into their text at times.
std::unique_ptr<Adapter> make_seed(const Services& services) {
  return std::make_unique<OpenAiChat>(services, TaggedText::Calls::seed);
}

constexpr std::array table{
    Wire{"ag_ui", FramingKind::sse_records, done_payload, false, true, "Failed to parse SSE event",
         make<AgUi>, nullptr},
    Wire{"anthropic", FramingKind::sse_records, done_payload, true, false,
         "Failed to parse Anthropic SSE event", make<Anthropic>, shapes::check_anthropic},
    Wire{"bedrock_converse", FramingKind::aws_event_stream, "", true, false,
         "Failed to parse Bedrock event", make<BedrockConverse>, shapes::check_bedrock},
    Wire{"cohere", FramingKind::sse_records, done_payload, true, false,
         "Failed to parse Cohere event", make<Cohere>, shapes::check_cohere},
    Wire{"gemini", FramingKind::sse_records, done_payload, true, false,
         "Failed to parse Gemini chunk", make<Gemini>, shapes::check_gemini},
    Wire{"gemini_interactions", FramingKind::sse_records, done_payload, true, false,
         "Failed to parse Interactions event", make<GeminiInteractions>,
         shapes::check_interactions},
    Wire{"langgraph", FramingKind::sse_blocks, "", false, false,
         "Failed to parse LangGraph SSE data", make<LangGraph>, shapes::check_langgraph},
    Wire{"mistral", FramingKind::sse_records, done_payload, true, false,
         "Failed to parse Mistral chunk", make<OpenAiChat>, shapes::check_chat},
    Wire{"ollama", FramingKind::ndjson, "", false, false, "Failed to parse Ollama record",
         make<Ollama>, shapes::check_ollama},
    Wire{"openai_chat", FramingKind::sse_records, done_payload, true, false,
         "Failed to parse OpenAI SSE event", make<OpenAiChat>, shapes::check_chat},
    Wire{"openai_chat_ndjson", FramingKind::ndjson, "", false, false,
         "Failed to parse OpenAI NDJSON chunk", make<OpenAiChat>, shapes::check_chat},
    Wire{seed_chat_wire, FramingKind::sse_records, done_payload, true, false,
         "Failed to parse OpenAI SSE event", make_seed, shapes::check_chat},
    Wire{"openai_responses", FramingKind::sse_records, done_payload, true, false,
         "Failed to parse OpenAI Responses SSE event", make<OpenAiResponses>,
         shapes::check_responses},
};

}  // namespace

std::span<const Wire> wires() {
  return table;
}

const Wire* find_wire(std::string_view name) {
  const auto* row =
      std::find_if(table.begin(), table.end(), [&](const Wire& wire) { return wire.name == name; });
  return row == table.end() ? nullptr : row;
}

}  // namespace millrace::adapter
