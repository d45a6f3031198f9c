#include "model/provider/families.hpp"

#include <array>
#include <cstddef>
#include <functional>
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
constexpr Efforts low_to_max(Effort::low, Effort::max);
constexpr Efforts medium_only(Effort::medium, Effort::medium);
constexpr Efforts medium_to_xhigh(Effort::medium, Effort::xhigh);
constexpr Efforts none_to_high = low_to_high.with(Effort::none);
constexpr Efforts none_to_xhigh = low_to_xhigh.with(Effort::none);
constexpr Efforts none_to_max = none_to_xhigh.with(Effort::max);
constexpr std::uint64_t o_series =
    bits(no_sampling, no_stop, completion_tokens, no_system, reasons, cache_key);
constexpr std::uint64_t gpt_5 = bits(no_sampling, no_stop, completion_tokens, reasons, cache_key);
constexpr std::uint64_t gpt_5_1 = gpt_5 | bits(samples_without_thinking, thinking_off_by_default);
constexpr std::uint64_t gpt_5_2 = gpt_5_1 | bits(prefers_responses);
constexpr std::uint64_t gpt_5_5 = gpt_5 | bits(samples_without_thinking, prefers_responses);
constexpr std::uint64_t gpt_5_pro = gpt_5 | bits(responses_only, high_by_default);
constexpr std::uint64_t gpt_6 = gpt_5 | bits(prefers_responses);
constexpr Efforts low_or_high = Efforts(Effort::low, Effort::low).with(Effort::high);
constexpr std::uint64_t grok_reasoning = bits(no_penalties, no_stop);
constexpr std::uint64_t grok_4 = grok_reasoning | bits(rejects_effort);
constexpr std::uint64_t claude_4 = bits(no_effort, no_schema);
constexpr std::uint64_t claude_4_5 = bits(one_sampling, no_effort);
constexpr std::uint64_t claude_4_6 = bits(one_sampling, adaptive_thinking, no_prefill);
constexpr std::uint64_t claude_4_7 = bits(no_sampling, adaptive_thinking, adaptive_only, no_prefill,
                                          no_bedrock_schema, display_omitted);
constexpr std::uint64_t sonnet_5 = claude_4_7 | bits(thinking_by_default);
constexpr std::uint64_t claude_4_8 = claude_4_7 | bits(system_turns);
constexpr std::uint64_t claude_5 = sonnet_5 | bits(high_without_thinking, system_turns);
constexpr std::uint64_t mythos_preview = sonnet_5 | bits(always_thinking);
constexpr std::uint64_t fable_5 = mythos_preview | bits(system_turns);
constexpr std::uint64_t claude_5_5 = fable_5 | bits(no_demands, bound_reasoning);
constexpr std::uint64_t sonnet_5_5 =
    claude_5 | bits(interleaved_thinking, no_demands, bound_reasoning);
constexpr std::uint64_t haiku_5_5 = claude_5 | bits(bound_reasoning);
// Of a Claude model by another name: what it takes is that of the newest, but whether it thinks by
// itself is not known.
constexpr std::uint64_t other_claude = claude_4_7 | bits(high_without_thinking);
constexpr std::uint64_t gemini_low = bits(thinking_level, no_minimal_level);
constexpr std::uint64_t kimi_k2 =
    bits(fixed_sampling, no_demands, one_answer, switch_only, cache_key);

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
    Family{"gpt-5-pro", gpt_5_pro, Efforts(Effort::high, Effort::high)},
    Family{"gpt-5-codex", gpt_5 | bits(responses_only), low_to_high},
    Family{"gpt-5.1", gpt_5_1, none_to_high},
    Family{"gpt-5.1-chat", gpt_5, medium_only},
    Family{"gpt-5.1-codex", gpt_5 | bits(responses_only), low_to_high},
    Family{"gpt-5.1-codex-max", gpt_5 | bits(responses_only), low_to_xhigh},
    Family{"gpt-5.2", gpt_5_2, none_to_xhigh},
    Family{"gpt-5.2-chat", gpt_5, medium_only},
    Family{"gpt-5.2-codex", gpt_5 | bits(responses_only), low_to_xhigh},
    Family{"gpt-5.2-pro", gpt_5_pro, medium_to_xhigh},
    Family{"gpt-5.3-chat", gpt_5, medium_only},
    Family{"gpt-5.3-codex", gpt_5 | bits(responses_only), low_to_xhigh},
    Family{"gpt-5.4", gpt_5_2, none_to_xhigh},
    Family{"gpt-5.4-pro", gpt_5_pro, medium_to_xhigh},
    Family{"gpt-5.5", gpt_5_5, none_to_xhigh},
    Family{"gpt-5.5-pro", gpt_5_pro, medium_to_xhigh},
    Family{"gpt-5.6", gpt_5_5, none_to_max},
    Family{"gpt-oss", 0, low_to_high},
    Family{"gpt-5-chat", bits(completion_tokens, cache_key)},
    Family{"gpt-5-image", gpt_5 | bits(image_output)},
    Family{"gpt-5-image-mini", gpt_5 | bits(image_output)},
    Family{"gpt-5-search-api", bits(no_sampling, completion_tokens, cache_key)},
    Family{"codex-mini-latest", gpt_5 | bits(responses_only)},
    Family{"computer-use", bits(auto_truncation)},
    Family{"computer-use-preview", bits(no_sampling, responses_only, auto_truncation)},
    Family{"gpt-4o-search", bits(no_sampling)},
    Family{"gpt-4o-mini-search", bits(no_sampling)},
    Family{"chat-latest", bits(completion_tokens, cache_key)},
    Family{"gpt-4", bits(cache_key)},
    Family{"gpt-4o", bits(cache_key)},
    Family{"claude", other_claude},
    Family{"claude-1", claude_4},
    Family{"claude-v1", claude_4},
    Family{"claude-2", claude_4},
    Family{"claude-v2", claude_4},
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
    Family{"claude-4", claude_4},
    Family{"claude-4.6", claude_4_6},
    Family{"claude-4.7", claude_4_7},
    Family{"claude-4.8", claude_4_8},
    Family{"claude-4.5-opus", bits(one_sampling)},
    Family{"claude-4.5-sonnet", claude_4_5},
    Family{"claude-4.5-haiku", claude_4_5},
    Family{"claude-opus-4-6", claude_4_6},
    Family{"claude-opus-4.6", claude_4_6},
    Family{"claude-sonnet-4-6", claude_4_6},
    Family{"claude-sonnet-4.6", claude_4_6},
    Family{"claude-opus-4-7", claude_4_7},
    Family{"claude-opus-4.7", claude_4_7},
    Family{"claude-opus-4-8", claude_4_8},
    Family{"claude-opus-4.8", claude_4_8},
    Family{"claude-opus-5", claude_5},
    Family{"claude-sonnet-5", sonnet_5},
    Family{"claude-fable-5", fable_5},
    Family{"claude-mythos-preview", mythos_preview},
    Family{"claude-mythos-5", fable_5},
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
    Family{"gemini-pro-latest", gemini_low},
    Family{"gemini-flash-latest", gemini_low},
    Family{"gemini-flash-lite-latest", bits(thinking_level)},
    Family{"gemini-2.5", bits(thinking_budget, no_penalties)},
    Family{"gemini-2.5-pro", bits(thinking_budget, no_penalties, always_thinking)},
    Family{"gemini-2.5-flash-lite", bits(thinking_budget, no_penalties, thinking_off_by_default)},
    Family{"gemma", bits(no_system_instruction)},
    Family{"gemma-4", bits(level_on_request)},
    Family{"gemini-2.5-flash-image", bits(image_output)},
    Family{"gemini-2.0-flash-preview-image-generation", bits(image_output)},
    Family{"gemini-2.0-flash-exp", bits(safety_off)},
    Family{"gemini-2.0-flash-exp-image-generation", 0},
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
    Family{"hy3-preview", bits(reasoning_back)},
    Family{"glm-4-alltools", bits(open_sampling)},
    Family{"minimax-m3", bits(adaptive_thinking, completion_tokens, zero_temperature)},
    Family{"kimi", bits(cache_key)},
    Family{"kimi-k2-thinking", bits(always_thinking, reasoning_back, cache_key)},
    Family{"kimi-k2.5", kimi_k2},
    Family{"kimi-k2.6", kimi_k2 | bits(preserves_thinking)},
    Family{"kimi-k2.7", kimi_k2 | bits(preserves_thinking, always_thinking, reasoning_back)},
    Family{"kimi-k3",
           bits(no_sampling, always_thinking, one_answer, completion_tokens, reasoning_back,
                cache_key),
           low_or_high.with(Effort::max)},
};

// Models by their version, for those that came later than the rows above: `stem`, a version of at
// least this number (506 is 5.6), and behind it `word`. The longest fit counts, of two such the
// first, and a row above before them.
// Sources: the tests of AI SDK's openai and google packages and of LobeHub's model-runtime, for
// the models that came after those of the vendors' pages (2026-11).
struct Pattern {
  std::string_view stem;
  unsigned least;
  std::string_view word;
  std::uint64_t traits;
  Efforts efforts = {};
};

constexpr std::array patterns{
    Pattern{"o", 500, "", o_series, low_to_high},
    Pattern{"o", 100, "-pro", o_series | bits(responses_only), low_to_high},
    Pattern{"o", 100, "-deep-research", o_series | bits(responses_only), medium_only},
    Pattern{"gpt-", 600, "-sol", gpt_6, none_to_max},
    Pattern{"gpt-", 600, "-luna", gpt_6, none_to_max},
    Pattern{"gpt-", 600, "", gpt_6, low_to_max},
    Pattern{"gpt-", 501, "", gpt_5_5, none_to_max},
    Pattern{"gpt-", 501, "-chat", gpt_5, medium_only},
    Pattern{"gpt-", 500, "-pro", gpt_5_pro, medium_to_xhigh},
    Pattern{"gpt-", 500, "-codex", gpt_5 | bits(responses_only), low_to_xhigh},
    Pattern{"gpt-", 500, "-search", bits(no_sampling, completion_tokens, cache_key)},
    Pattern{"gpt-", 400, "-search", bits(no_sampling)},
    Pattern{"claude-opus-", 506, "", claude_5_5},
    Pattern{"claude-sonnet-", 506, "", sonnet_5_5},
    Pattern{"claude-haiku-", 506, "", haiku_5_5},
    Pattern{"claude-fable-", 503, "", claude_5_5},
    Pattern{"claude-mythos-", 502, "", claude_5_5},
    Pattern{"qwen", 307, "-max", bits(preserves_thinking)},
    Pattern{"gemini-", 300, "", bits(thinking_level)},
    Pattern{"gemini-", 300, "-pro", gemini_low},
    Pattern{"gemini-", 300, "-pro-image", bits(thinking_level, image_output)},
    Pattern{"gemini-", 300, "-flash-image", bits(thinking_level, image_output)},
    Pattern{"gemini-", 307, "-flash", gemini_low},
    Pattern{"gemini-", 300, "-flash-lite", bits(thinking_level)},
};

// What a part of a name shows of any model, beside its family's row.
// Sources: Ollama's guide of thinking and vLLM's recipe for gpt-oss; Alibaba Cloud Model Studio's
// guide of deep thinking; Mistral's guide of reasoning; Z.ai's guide of thinking; recorded answers
// of doubao-seed-2.0 in tests of lobehub/lobehub (2026).
struct NamePart {
  std::string_view text;
  std::uint64_t traits;
};
constexpr std::array name_parts{
    NamePart{"gpt-oss", bits(template_levels)},   NamePart{"deepseek-v4", bits(effort_with_switch)},
    NamePart{"-thinking", bits(thinks_by_name)},  NamePart{"glm", bits(clears_reasoning)},
    NamePart{"magistral", bits(reasoning_parts)}, NamePart{"doubao-seed", bits(calls_in_text)},
    NamePart{"doubao_seed", bits(calls_in_text)},
};

// Whether a name may begin here: not inside a word, nor behind a longer name's dash.
bool begins_at(std::string_view model, std::size_t at) {
  return at == 0 || (!is_ascii_alphanumeric(model[at - 1]) && model[at - 1] != '-');
}

bool ends_at(std::string_view model, std::size_t at) {
  return at == model.size() || !is_ascii_alphanumeric(model[at]);
}

// True when `name` stands in `model` as whole words.
bool names(std::string_view model, std::string_view name) {
  for (std::size_t at = model.find(name); at != std::string_view::npos;
       at = model.find(name, at + 1)) {
    if (begins_at(model, at) && ends_at(model, at + name.size())) return true;
  }
  return false;
}

struct Number {
  unsigned value = 0;
  std::size_t end = 0;  // where it began when there is none
};

// A number of one or two digits; the longer ones are dates.
Number short_number(std::string_view model, std::size_t at) {
  Number number{0, at};
  while (number.end < model.size() && is_ascii_digit(model[number.end])) {
    if (number.end - at == 2) return {0, at};
    number.value = number.value * 10 + static_cast<unsigned>(model[number.end++] - '0');
  }
  return ends_at(model, number.end) ? number : Number{0, at};
}

// A version as patterns have it: `5.6`, and Claude's `5-6`.
Number version_at(std::string_view model, std::size_t at) {
  constexpr unsigned major_unit = 100;
  const Number major = short_number(model, at);
  if (major.end == at) return major;
  Number version{major.value * major_unit, major.end};
  if (major.end == model.size() || (model[major.end] != '.' && model[major.end] != '-')) {
    return version;
  }
  const Number minor = short_number(model, major.end + 1);
  if (minor.end == major.end + 1) return version;
  return {version.value + minor.value, minor.end};
}

// How much of `model` is what the pattern names, or 0.
std::size_t fit_of(std::string_view model, const Pattern& pattern) {
  for (std::size_t at = model.find(pattern.stem); at != std::string_view::npos;
       at = model.find(pattern.stem, at + 1)) {
    if (!begins_at(model, at)) continue;
    const std::size_t number_at = at + pattern.stem.size();
    const Number version = version_at(model, number_at);
    if (version.end == number_at || version.value < pattern.least) continue;
    if (pattern.word.empty()) return version.end - at;
    const std::size_t word = model.find(pattern.word, version.end);
    if (word == std::string_view::npos) continue;
    if (ends_at(model, word + pattern.word.size())) return word + pattern.word.size() - at;
  }
  return 0;
}

// What the tables say of a name, which may stand anywhere in it.
Traits look_up(std::string_view model) {
  const std::string lower = lowered(model);
  std::size_t longest = 0;
  Traits best;
  for (const Family& family : families) {
    if (family.name.size() <= longest || !names(lower, family.name)) continue;
    longest = family.name.size();
    best = Traits(family.traits, family.efforts);
  }
  for (const Pattern& pattern : patterns) {
    const std::size_t fit = fit_of(lower, pattern);
    if (fit <= longest) continue;
    longest = fit;
    best = Traits(pattern.traits, pattern.efforts);
  }
  for (const NamePart& part : name_parts) {
    if (lower.find(part.text) != std::string::npos) best.add(part.traits);
  }
  return best;
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
  // A request asks several times, and the next one mostly for the same model.
  struct Known {
    std::string model;
    Traits traits;
  };
  thread_local std::array<Known, 8> known;
  constexpr std::size_t longest = 128;
  Known& place = known[std::hash<std::string_view>()(model) % known.size()];
  if (place.model == model && !model.empty()) return place.traits;
  const Traits traits = look_up(model);
  if (model.size() <= longest) place = {std::string(model), traits};
  return traits;
}

}  // namespace millrace::model
