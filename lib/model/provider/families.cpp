#include "model/provider/families.hpp"

#include <array>
#include <string>

#include "base/ascii.hpp"

namespace millrace::model {
namespace {

template <class... Flags>
constexpr std::uint64_t bits(Flags... flags) {
  return ((std::uint64_t{1} << static_cast<unsigned>(flags)) | ... | 0U);
}

struct Family {
  std::string_view name;
  std::uint64_t traits;
  Efforts efforts = {};
};

using enum Trait;
constexpr Efforts low_to_high(Effort::low, Effort::high);
constexpr Efforts low_to_xhigh(Effort::low, Effort::xhigh);
constexpr Efforts medium_only(Effort::medium, Effort::medium);
constexpr Efforts medium_to_xhigh(Effort::medium, Effort::xhigh);
constexpr Efforts none_to_high = low_to_high.with(Effort::none);
constexpr Efforts none_to_xhigh = low_to_xhigh.with(Effort::none);
constexpr Efforts none_to_max = none_to_xhigh.with(Effort::max);
constexpr std::uint64_t o_series =
    bits(no_sampling, no_stop, completion_tokens, no_system, reasons, cache_key);
constexpr std::uint64_t gpt_5 = bits(no_sampling, no_stop, completion_tokens, reasons, cache_key);
constexpr std::uint64_t gpt_5_5 = gpt_5 | bits(samples_without_thinking);
constexpr std::uint64_t gpt_5_1 = gpt_5_5 | bits(thinking_off_by_default);
constexpr Efforts low_or_high = Efforts(Effort::low, Effort::low).with(Effort::high);
constexpr std::uint64_t grok_reasoning = bits(no_penalties, no_stop);
constexpr std::uint64_t grok_4 = grok_reasoning | bits(rejects_effort);
constexpr std::uint64_t claude_4 = bits(no_effort, no_schema);
constexpr std::uint64_t claude_4_5 = bits(one_sampling, no_effort);
constexpr std::uint64_t claude_4_6 = bits(one_sampling, adaptive_thinking, no_prefill);
constexpr std::uint64_t claude_4_7 =
    bits(no_sampling, adaptive_thinking, adaptive_only, no_prefill, no_bedrock_schema);
constexpr std::uint64_t claude_5 = claude_4_7 | bits(high_without_thinking);
constexpr std::uint64_t claude_5_5 =
    claude_4_7 | bits(always_thinking, no_demands, bound_reasoning);
constexpr std::uint64_t sonnet_5_5 =
    claude_5 | bits(interleaved_thinking, no_demands, bound_reasoning);
constexpr std::uint64_t haiku_5_5 = claude_5 | bits(bound_reasoning);
constexpr std::uint64_t kimi_k2 = bits(fixed_sampling, no_demands, one_answer, switch_only);

// The longest name that fits counts alone.
// Sources: the vendors' model pages; OpenAI's API reference and guide of reasoning, also for the
// efforts of its models; xAI's guide of reasoning and the tests of AI SDK's xai package, also for
// Grok 4.5 and 4.6; the efforts that xAI's list of models names for each (2026-10); Kimi's
// parameter reference and guides of thinking, AI SDK's moonshotai package,
// https://github.com/UKGovernmentBEIS/inspect_ai/pull/5152 for its tool choices (2026-11).
constexpr std::array families{
    Family{"o1", o_series, low_to_high},
    Family{"o1-pro", o_series | bits(responses_only), low_to_high},
    Family{"o3", o_series, low_to_high},
    Family{"o3-pro", o_series | bits(responses_only), low_to_high},
    Family{"o3-deep-research", o_series | bits(responses_only), medium_only},
    Family{"o4-mini", o_series, low_to_high},
    Family{"o4-mini-deep-research", o_series | bits(responses_only), medium_only},
    Family{"gpt-5", gpt_5, Efforts(Effort::minimal, Effort::high)},
    Family{"gpt-5-pro", gpt_5 | bits(responses_only), Efforts(Effort::high, Effort::high)},
    Family{"gpt-5-codex", gpt_5 | bits(responses_only), low_to_high},
    Family{"gpt-5.1", gpt_5_1, none_to_high},
    Family{"gpt-5.1-chat", gpt_5, medium_only},
    Family{"gpt-5.1-codex", gpt_5 | bits(responses_only), low_to_high},
    Family{"gpt-5.1-codex-max", gpt_5 | bits(responses_only), low_to_xhigh},
    Family{"gpt-5.2", gpt_5_1, none_to_xhigh},
    Family{"gpt-5.2-chat", gpt_5, medium_only},
    Family{"gpt-5.2-codex", gpt_5 | bits(responses_only), low_to_xhigh},
    Family{"gpt-5.2-pro", gpt_5 | bits(responses_only), medium_to_xhigh},
    Family{"gpt-5.3-chat", gpt_5, medium_only},
    Family{"gpt-5.3-codex", gpt_5 | bits(responses_only), low_to_xhigh},
    Family{"gpt-5.4", gpt_5_1, none_to_xhigh},
    Family{"gpt-5.4-pro", gpt_5 | bits(responses_only), medium_to_xhigh},
    Family{"gpt-5.5", gpt_5_5, none_to_xhigh},
    Family{"gpt-5.5-pro", gpt_5 | bits(responses_only), medium_to_xhigh},
    Family{"gpt-5.6", gpt_5_5, none_to_max},
    Family{"gpt-oss", 0, low_to_high},
    Family{"gpt-5-chat", bits(completion_tokens, cache_key)},
    Family{"gpt-5-search-api", bits(no_sampling, completion_tokens, cache_key)},
    Family{"codex-mini-latest", gpt_5 | bits(responses_only)},
    Family{"computer-use-preview", bits(responses_only)},
    Family{"gpt-4o-search-preview", bits(no_sampling)},
    Family{"gpt-4o-mini-search-preview", bits(no_sampling)},
    Family{"gpt-4", bits(cache_key)},
    Family{"gpt-4o", bits(cache_key)},
    Family{"claude-2", claude_4},
    Family{"claude-instant", claude_4},
    Family{"claude-3", claude_4},
    Family{"claude-3-5", claude_4},
    Family{"claude-3-7", claude_4},
    Family{"claude-sonnet-4", claude_4},
    Family{"claude-opus-4", claude_4},
    Family{"claude-opus-4-1", claude_4_5 | bits(no_bedrock_schema)},
    Family{"claude-opus-4.1", claude_4_5 | bits(no_bedrock_schema)},
    Family{"claude-opus-4-5", bits(one_sampling)},
    Family{"claude-opus-4.5", bits(one_sampling)},
    Family{"claude-sonnet-4-5", claude_4_5},
    Family{"claude-sonnet-4.5", claude_4_5},
    Family{"claude-haiku-4-5", claude_4_5},
    Family{"claude-haiku-4.5", claude_4_5},
    Family{"claude-4.5-opus", bits(one_sampling)},
    Family{"claude-4.5-sonnet", claude_4_5},
    Family{"claude-4.5-haiku", claude_4_5},
    Family{"claude-opus-4-6", claude_4_6},
    Family{"claude-opus-4.6", claude_4_6},
    Family{"claude-sonnet-4-6", claude_4_6},
    Family{"claude-sonnet-4.6", claude_4_6},
    Family{"claude-opus-4-7", claude_4_7},
    Family{"claude-opus-4.7", claude_4_7},
    Family{"claude-opus-4-8", claude_4_7},
    Family{"claude-opus-4.8", claude_4_7},
    Family{"claude-opus-5", claude_5},
    Family{"claude-sonnet-5", claude_4_7},
    Family{"claude-fable-5", claude_4_7 | bits(always_thinking)},
    Family{"claude-mythos-5", claude_4_7 | bits(always_thinking)},
    Family{"claude-mythos-5-1", claude_5_5},
    Family{"claude-mythos-5.1", claude_5_5},
    Family{"claude-opus-5-5", claude_5_5},
    Family{"claude-opus-5.5", claude_5_5},
    Family{"claude-sonnet-5-5", sonnet_5_5},
    Family{"claude-sonnet-5.5", sonnet_5_5},
    Family{"claude-haiku-5-5", haiku_5_5},
    Family{"claude-haiku-5.5", haiku_5_5},
    Family{"claude-fable-5-1", claude_5_5},
    Family{"claude-fable-5.1", claude_5_5},
    Family{"claude-fable-5-2", claude_5_5},
    Family{"claude-fable-5.2", claude_5_5},
    Family{"gemini-3", bits(thinking_level)},
    Family{"gemini-3-pro-image", bits(thinking_level, image_output)},
    Family{"gemini-3-pro", bits(thinking_level, no_minimal_level)},
    Family{"gemini-3.1-pro", bits(thinking_level, no_minimal_level)},
    Family{"gemini-3.7-flash", bits(thinking_level, no_minimal_level)},
    Family{"gemini-3.7-flash-lite", bits(thinking_level)},
    Family{"gemini-2.5", bits(thinking_budget, no_penalties)},
    Family{"gemini-2.5-pro", bits(thinking_budget, no_penalties, always_thinking)},
    Family{"gemma", bits(no_system_instruction)},
    Family{"gemma-4", 0},
    Family{"gemini-2.5-flash-image", bits(image_output)},
    Family{"gemini-2.0-flash-preview-image-generation", bits(image_output)},
    Family{"grok", grok_reasoning},
    Family{"grok-beta", bits(rejects_effort)},
    Family{"grok-vision-beta", bits(rejects_effort)},
    Family{"grok-2", bits(rejects_effort)},
    Family{"grok-2-vision", bits(rejects_effort)},
    Family{"grok-3", bits(rejects_effort)},
    Family{"grok-3-mini", grok_reasoning | bits(reasons), low_or_high},
    Family{"grok-4", grok_4},
    Family{"grok-4-fast-non-reasoning", bits(rejects_effort)},
    Family{"grok-4-1-fast-non-reasoning", bits(rejects_effort)},
    Family{"grok-4.20-non-reasoning", bits(rejects_effort)},
    Family{"grok-4.20-multi-agent", grok_reasoning, low_to_xhigh},
    Family{"grok-4.20-0309-non-reasoning", bits(rejects_effort)},
    Family{"grok-4.3", grok_reasoning, none_to_xhigh},
    Family{"grok-4.5", grok_reasoning, low_to_high},
    Family{"grok-4.6", grok_reasoning, low_to_xhigh},
    Family{"grok-4.7", grok_reasoning, low_to_xhigh},
    Family{"grok-build", grok_4},
    Family{"grok-code-fast-1", grok_4},
    Family{"mistral", bits(mistral_rules)},
    Family{"ministral", bits(mistral_rules)},
    Family{"magistral", bits(mistral_rules)},
    Family{"devstral", bits(mistral_rules)},
    Family{"codestral", bits(mistral_rules)},
    Family{"pixtral", bits(mistral_rules)},
    Family{"mixtral", bits(mistral_rules)},
    Family{"open-mistral", bits(mistral_rules)},
    Family{"open-mixtral", bits(mistral_rules)},
    Family{"deepseek-reasoner", bits(reasoning_back)},
    Family{"deepseek-v4", bits(reasoning_back)},
    Family{"deepseek-flash", bits(reasoning_back)},
    Family{"kimi-k2.5", kimi_k2},
    Family{"kimi-k2.6", kimi_k2},
    Family{"kimi-k2.7", kimi_k2 | bits(always_thinking)},
    Family{"kimi-k3", bits(no_sampling, always_thinking, one_answer),
           low_or_high.with(Effort::max)},
};

// True when `name` stands in `model` as whole words, not behind a longer name's dash.
bool names(std::string_view model, std::string_view name) {
  for (std::size_t at = model.find(name); at != std::string_view::npos;
       at = model.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || (!is_ascii_alphanumeric(model[at - 1]) && model[at - 1] != '-');
    if (begins && (end == model.size() || !is_ascii_alphanumeric(model[end]))) return true;
  }
  return false;
}

}  // namespace

Effort Efforts::nearest(Effort wanted) const {
  Effort best = wanted;
  unsigned least = effort_names.size();
  for (unsigned at = 0; at < effort_names.size(); ++at) {
    const unsigned away = at > index(wanted) ? at - index(wanted) : index(wanted) - at;
    if (!has(static_cast<Effort>(at)) || away > least) continue;
    least = away;
    best = static_cast<Effort>(at);
  }
  return best;
}

Traits traits_of(std::string_view model) {
  const std::string lower = lowered(model);
  const Family* best = nullptr;
  for (const Family& family : families) {
    const bool longer = best == nullptr || family.name.size() > best->name.size();
    if (longer && names(lower, family.name)) best = &family;
  }
  return best == nullptr ? Traits() : Traits(best->traits, best->efforts);
}

}  // namespace millrace::model
