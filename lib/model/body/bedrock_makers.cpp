#include "model/body/bedrock_makers.hpp"

#include <array>

namespace millrace::model {
namespace {

using format::BedrockTurns;

constexpr BedrockTurns user_first{.user_first = true};
constexpr BedrockTurns lone_results{.user_first = true, .lone_results = true};

// The longest name that fits counts alone.
// Sources: https://github.com/pydantic/pydantic-ai/issues/6081 and what pydantic-ai's
// providers/bedrock.py notes of each maker, tried at Bedrock (2026-07).
constexpr std::array makers{
    BedrockMaker{"claude", {.no_files_beside = true}},
    BedrockMaker{"meta.llama", lone_results},
    BedrockMaker{"mistral.", lone_results},
    BedrockMaker{"moonshot", {}},
    BedrockMaker{"qwen.", {}},
    BedrockMaker{"writer.", {.user_first = true, .lone_results = true, .no_status = true}},
    BedrockMaker{"zai.", {}},
};
constexpr BedrockMaker any_maker{"", user_first};

}  // namespace

const BedrockMaker& bedrock_maker(const Draft& draft) {
  const BedrockMaker* best = &any_maker;
  for (const BedrockMaker& maker : makers) {
    const bool fits = draft.model.find(maker.name) != std::string_view::npos ||
                      draft.payload.model.find(maker.name) != std::string_view::npos;
    if (fits && maker.name.size() > best->name.size()) best = &maker;
  }
  return *best;
}

}  // namespace millrace::model
