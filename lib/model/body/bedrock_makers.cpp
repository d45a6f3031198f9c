#include "model/body/bedrock_makers.hpp"

#include <algorithm>
#include <array>

#include "model/body/result_media.hpp"

namespace millrace::model {
namespace {

using format::BedrockTurns;

constexpr auto no_demand = BedrockDemand::none;
constexpr auto any_tool = BedrockDemand::any;
constexpr auto certain_tool = BedrockDemand::certain;
constexpr auto no_thinking = BedrockThinking::none;
constexpr auto nowhere = BedrockTopK::nowhere;
constexpr auto documents = BedrockResults::documents;
constexpr auto no_media = BedrockResults::none;

constexpr BedrockTurns user_first{.user_first = true};
constexpr BedrockTurns lone_results{.user_first = true, .lone_results = true};

// The longest name that fits counts alone.
// Sources: https://github.com/pydantic/pydantic-ai/issues/6081 and what pydantic-ai's
// providers/bedrock.py notes of each maker, tried at Bedrock (2026-07); for demands also Amazon's
// API reference, ToolChoice, and langchain-aws' supports_tool_choice_values; for schemas Amazon's
// user guide, "Get validated JSON results from models", and its list as models.dev has it
// (https://github.com/anomalyco/models.dev/pull/1326).
// Columns: name, turns, demand, schemas, thinking, top_k, results.
constexpr std::array makers{
    BedrockMaker{"claude",
                 {.no_files_beside = true},
                 certain_tool,
                 true,
                 BedrockThinking::claude,
                 BedrockTopK::root},
    BedrockMaker{"ai21.", user_first},
    BedrockMaker{"amazon.", user_first},
    BedrockMaker{"amazon.nova", user_first, certain_tool, false, no_thinking,
                 BedrockTopK::inference_config, BedrockResults::images_and_texts},
    BedrockMaker{"amazon.nova-2", user_first, certain_tool, false, BedrockThinking::nova,
                 BedrockTopK::inference_config, BedrockResults::images_and_texts},
    BedrockMaker{"cohere.", user_first},
    BedrockMaker{"deepseek.", user_first, any_tool, true},
    BedrockMaker{"deepseek.r1", user_first},
    BedrockMaker{"google.", user_first},
    BedrockMaker{"google.gemma-3-12b", user_first, no_demand, true},
    BedrockMaker{"google.gemma-3-27b", user_first, no_demand, true},
    BedrockMaker{"meta.llama", lone_results},
    BedrockMaker{"minimax.", user_first},
    BedrockMaker{"minimax.minimax-m2", user_first, no_demand, true},
    BedrockMaker{"mistral.", lone_results, no_demand, false, no_thinking, nowhere, documents},
    BedrockMaker{"mistral.magistral-small", lone_results, no_demand, true, no_thinking, nowhere,
                 documents},
    BedrockMaker{"mistral.ministral-3", lone_results, no_demand, true, no_thinking, nowhere,
                 documents},
    BedrockMaker{"mistral.mistral-large", lone_results, any_tool, false, no_thinking, nowhere,
                 documents},
    BedrockMaker{"mistral.mistral-large-3", lone_results, any_tool, true, no_thinking, nowhere,
                 documents},
    BedrockMaker{"mistral.voxtral", lone_results, no_demand, true, no_thinking, nowhere, documents},
    BedrockMaker{"moonshot", {}, certain_tool, true, no_thinking, nowhere, no_media},
    BedrockMaker{"nvidia.", user_first},
    BedrockMaker{"nvidia.nemotron-nano", user_first, no_demand, true},
    BedrockMaker{"openai.", user_first, no_demand, true, BedrockThinking::openai},
    BedrockMaker{"qwen.", {}, no_demand, false, no_thinking, nowhere, no_media},
    BedrockMaker{"qwen.qwen3", {}, no_demand, true, BedrockThinking::qwen, nowhere, no_media},
    BedrockMaker{"writer.", {.user_first = true, .lone_results = true, .no_status = true}},
    BedrockMaker{"zai.", {}, certain_tool, true},
};
constexpr BedrockMaker any_maker{"",   user_first,  certain_tool,
                                 true, no_thinking, BedrockTopK::root};

// Makers whose models take their reasoning back, which they never sign. Claude requires a
// signature. DeepSeek R1, Nova and models that do not reason reject any ("User messages cannot
// contain reasoning content"). The others are not tried, and an ARN does not name its model.
// Sources: https://github.com/earendil-works/pi/pull/727 (2026-01, all models tried at Bedrock),
// https://github.com/can1357/oh-my-pi/pull/9086 (2026-08, Nova),
// https://github.com/strands-agents/harness-sdk/issues/651 (2025-08, DeepSeek R1),
// https://github.com/maximhq/bifrost/pull/6942 (2026-09, Claude and MiniMax).
constexpr std::array<std::string_view, 4> unsigned_makers{"minimax.", "moonshot", "openai.",
                                                          "qwen."};

bool stays(BedrockResults results, const message::Media& media) {
  using Kind = message::Media::Kind;
  switch (results) {
    case BedrockResults::all: return true;
    case BedrockResults::images_and_texts:
      return media.kind != Kind::document || media.mime_type.starts_with("text/");
    case BedrockResults::documents: return media.kind == Kind::document;
    case BedrockResults::none: break;
  }
  return false;
}

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

bool bedrock_takes_unsigned_reasoning(std::string_view sent, std::string_view named) {
  const std::string_view name = bedrock_maker(sent, named).name;
  return std::any_of(unsigned_makers.begin(), unsigned_makers.end(),
                     [&](std::string_view maker) { return name.starts_with(maker); });
}

const BedrockMaker& bedrock_maker(const Draft& draft) {
  return bedrock_maker(draft.model, draft.payload.model);
}

message::Messages with_bedrock_results(const BedrockMaker& maker,
                                       std::span<const message::Message> messages) {
  return with_media_behind(
      messages, [&](const message::Media& media) { return stays(maker.results, media); });
}

// Bedrock checks Claude's fields by lists of its own, which know no constrained decoding for the
// newest models.
bool bedrock_takes_schemas(const BedrockMaker& maker, Traits traits) {
  return maker.schemas && !traits.has(Trait::no_schema) && !traits.has(Trait::no_bedrock_schema);
}

}  // namespace millrace::model
