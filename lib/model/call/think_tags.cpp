#include "model/call/think_tags.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.hpp"

namespace millrace::model {
namespace {

// Parts of the names of models whose templates have `<think>`, and which servers may hand on as
// text.
// Sources: the chat templates of the models on Hugging Face; langchain-ai/langchainjs,
// `chat_models_reasoning.test.ts` of its package for DeepSeek (2026-11).
constexpr std::array<std::string_view, 14> models{
    "deepseek", "qwen",    "qwq",     "minimax",         "glm-",   "kimi",  "magistral",
    "nemotron", "smollm3", "hunyuan", "phi-4-reasoning", "exaone", "ernie", "r1-distill"};

}  // namespace

bool has_late_think_tags(const ProviderConfig& config, std::string_view model) {
  if (config.quirks.has(Quirk::late_think_tags)) return true;
  const std::string name = lowered(model);
  return std::any_of(models.begin(), models.end(),
                     [&](std::string_view part) { return name.find(part) != name.npos; });
}

}  // namespace millrace::model
