#include "model/body/bedrock_makers.hpp"

#include <array>

namespace millrace::model {
namespace {

using format::BedrockTurns;

using enum BedrockDemand;
constexpr auto nothing = BedrockThinking::none;

constexpr BedrockTurns user_first{.user_first = true};
constexpr BedrockTurns lone_results{.user_first = true, .lone_results = true};

// The longest name that fits counts alone.
// Sources: https://github.com/pydantic/pydantic-ai/issues/6081 and what pydantic-ai's
// providers/bedrock.py notes of each maker, tried at Bedrock (2026-07); for demands also Amazon's
// API reference, ToolChoice, and langchain-aws' supports_tool_choice_values; for schemas Amazon's
// user guide, "Get validated JSON results from models", and its list as models.dev has it
// (https://github.com/anomalyco/models.dev/pull/1326).
constexpr std::array makers{
    BedrockMaker{"claude",
                 {.no_files_beside = true},
                 certain,
                 true,
                 BedrockThinking::claude,
                 BedrockTopK::root},
    BedrockMaker{"ai21.", user_first},
    BedrockMaker{"amazon.", user_first},
    BedrockMaker{"amazon.nova", user_first, certain, false, nothing, BedrockTopK::inference_config},
    BedrockMaker{"amazon.nova-2", user_first, certain, false, BedrockThinking::nova,
                 BedrockTopK::inference_config},
    BedrockMaker{"cohere.", user_first},
    BedrockMaker{"deepseek.", user_first, any, true},
    BedrockMaker{"deepseek.r1", user_first},
    BedrockMaker{"google.", user_first},
    BedrockMaker{"google.gemma-3-12b", user_first, none, true},
    BedrockMaker{"google.gemma-3-27b", user_first, none, true},
    BedrockMaker{"meta.llama", lone_results},
    BedrockMaker{"minimax.", user_first},
    BedrockMaker{"minimax.minimax-m2", user_first, none, true},
    BedrockMaker{"mistral.", lone_results},
    BedrockMaker{"mistral.magistral-small", lone_results, none, true},
    BedrockMaker{"mistral.ministral-3", lone_results, none, true},
    BedrockMaker{"mistral.mistral-large", lone_results, any},
    BedrockMaker{"mistral.mistral-large-3", lone_results, any, true},
    BedrockMaker{"mistral.voxtral", lone_results, none, true},
    BedrockMaker{"moonshot", {}, certain, true},
    BedrockMaker{"nvidia.", user_first},
    BedrockMaker{"nvidia.nemotron-nano", user_first, none, true},
    BedrockMaker{"openai.", user_first, none, true, BedrockThinking::openai},
    BedrockMaker{"qwen.", {}},
    BedrockMaker{"qwen.qwen3", {}, none, true, BedrockThinking::qwen},
    BedrockMaker{"writer.", {.user_first = true, .lone_results = true, .no_status = true}},
    BedrockMaker{"zai.", {}, certain, true},
};
constexpr BedrockMaker any_maker{"", user_first, certain, true, nothing, BedrockTopK::root};

}  // namespace

const BedrockMaker& bedrock_maker(std::string_view sent, std::string_view named) {
  const BedrockMaker* best = &any_maker;
  for (const BedrockMaker& maker : makers) {
    const bool fits = sent.find(maker.name) != std::string_view::npos ||
                      named.find(maker.name) != std::string_view::npos;
    if (fits && maker.name.size() > best->name.size()) best = &maker;
  }
  return *best;
}

const BedrockMaker& bedrock_maker(const Draft& draft) {
  return bedrock_maker(draft.model, draft.payload.model);
}

// Bedrock checks Claude's fields by lists of its own, which know no constrained decoding for the
// newest models.
bool bedrock_takes_schemas(const BedrockMaker& maker, Traits traits) {
  return maker.schemas && !traits.has(Trait::no_schema) && !traits.has(Trait::no_bedrock_schema);
}

}  // namespace millrace::model
