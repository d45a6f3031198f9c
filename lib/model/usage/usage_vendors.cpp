#include "model/usage/usage_vendors.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "adapter/usage.hpp"
#include "base/ascii.hpp"
#include "base/counts.hpp"

namespace millrace::model {
namespace {

using Count = std::optional<std::int64_t>;

Count member_count(const json::Value& object, std::string_view key) {
  return count_of(object[key]);
}

std::int64_t number(const json::Value& object, std::string_view key) {
  return member_count(object, key).value_or(0);
}

// A zero says nothing that an absent count does not say; of misses it says that all was cached.
void set(ModelUsage& usage, Tokens tokens, Count value) {
  if (value && (*value > 0 || tokens == Tokens::input_cache_miss)) usage[tokens] = value;
}

Count positive(std::int64_t value) {
  return value > 0 ? Count(value) : std::nullopt;
}

// The totals, the last from the others when the provider gave none.
void set_totals(ModelUsage& usage, Count input, Count output, Count total) {
  set(usage, Tokens::total_input, input);
  set(usage, Tokens::total_output, output);
  if (!total && (input || output)) total = input.value_or(0) + output.value_or(0);
  set(usage, Tokens::total, total);
}

struct Modality {
  std::string_view name;
  Tokens input;
  Tokens cached;
  Tokens output;
};
constexpr std::array<Modality, 4> modalities{{
    {"text", Tokens::input_text, Tokens::input_cached_text, Tokens::output_text},
    {"image", Tokens::input_image, Tokens::input_cached_image, Tokens::output_image},
    {"audio", Tokens::input_audio, Tokens::input_cached_audio, Tokens::output_audio},
    {"video", Tokens::input_video, Tokens::input_cached_video, Tokens::output_video},
}};

// [{"modality": "TEXT", <key>: n}, ...]
void set_modalities(ModelUsage& usage, const json::Value& details, std::string_view key,
                    Tokens Modality::*counter) {
  for (const json::Value detail : details.items()) {
    for (const Modality& row : modalities) {
      if (!equal_ignoring_case(detail["modality"].string(), row.name)) continue;
      const std::int64_t before = usage[row.*counter].value_or(0);
      set(usage, row.*counter, before + number(detail, key));
    }
  }
}

// What OpenAI's two APIs share: cached, missed and written input, given what they are called.
void set_openai_cache(ModelUsage& usage, std::int64_t input, Count cached, Count missed,
                      Count written) {
  set(usage, Tokens::input_cached, cached);
  set(usage, Tokens::input_write_cache, written);
  if (!missed && (cached || written)) {
    missed = std::max<std::int64_t>(0, input - cached.value_or(0) - written.value_or(0));
  }
  set(usage, Tokens::input_cache_miss, missed);
}

void set_openai_details(ModelUsage& usage, const json::Value& input, const json::Value& output) {
  set(usage, Tokens::input_audio, member_count(input, "audio_tokens"));
  set(usage, Tokens::input_image, member_count(input, "image_tokens"));
  set(usage, Tokens::input_video, member_count(input, "video_tokens"));
  set(usage, Tokens::output_audio, member_count(output, "audio_tokens"));
  set(usage, Tokens::output_image, member_count(output, "image_tokens"));
  set(usage, Tokens::accepted_prediction, member_count(output, "accepted_prediction_tokens"));
  set(usage, Tokens::rejected_prediction, member_count(output, "rejected_prediction_tokens"));
}

// Whether a total shows that reasoning is in neither of the other counts.
bool is_total_with(std::int64_t reasoning, std::int64_t input, std::int64_t output, Count total) {
  return reasoning > 0 && total == input + output + reasoning;
}

// xAI and servers that follow it count reasoning beside the completion; the total gives it away.
bool reasoning_is_beside(UsageRules rules, std::int64_t prompt, std::int64_t completion,
                         std::int64_t reasoning, Count total) {
  if (reasoning == 0) return false;
  if (total) return is_total_with(reasoning, prompt, completion, total);
  return rules.reasoning_beside || adapter::exceeds_output(reasoning, completion);
}

// Cached tokens that are not in the input, or 0. xAI counts so at times.
std::int64_t cached_beside(std::int64_t input, Count cached, std::int64_t output,
                           std::int64_t reasoning, Count total) {
  const std::int64_t count = cached.value_or(0);
  return adapter::is_cache_beside(input, count, output, reasoning, total) ? count : 0;
}

struct Place {
  std::string_view group;
  std::string_view key;
};

// The count at the first of the places that has one.
Count first_count(const json::Value& usage, std::initializer_list<Place> places) {
  for (const Place& place : places) {
    const json::Value group = place.group.empty() ? usage : usage[place.group];
    if (const Count count = member_count(group, place.key)) return count;
  }
  return std::nullopt;
}

ModelUsage openai_chat(UsageRules rules, const json::Value& v) {
  ModelUsage usage;
  const json::Value in = v["prompt_tokens_details"];
  const json::Value out = v["completion_tokens_details"];
  const std::int64_t citation = number(v, "citation_tokens");
  std::int64_t prompt = number(v, "prompt_tokens");
  const std::int64_t completion = number(v, "completion_tokens");
  const std::int64_t reasoning =
      std::max(number(out, "reasoning_tokens"), number(v, "reasoning_tokens"));
  const Count total = member_count(v, "total_tokens");
  const Count cached =
      first_count(v, {{"", "prompt_cache_hit_tokens"},
                      {"", "num_cached_tokens"},  // Mistral's, as the group in the singular
                      {"prompt_tokens_details", "cached_tokens"},
                      {"prompt_token_details", "cached_tokens"},
                      {"", "cached_tokens"}});
  prompt += cached_beside(prompt, cached, completion, reasoning, total);
  const bool beside = reasoning_is_beside(rules, prompt, completion, reasoning, total);
  set(usage, Tokens::input_text, prompt);
  set(usage, Tokens::input_citation, citation);
  set_openai_details(usage, in, out);
  Count written = member_count(in, "cache_write_tokens");
  if (!written) written = member_count(in, "cache_creation_tokens");
  // Alibaba's explicit caches, and Claude on GitHub Copilot.
  if (!written) written = member_count(in, "cache_creation_input_tokens");
  set_openai_cache(usage, prompt + citation, cached, member_count(v, "prompt_cache_miss_tokens"),
                   written);
  set(usage, Tokens::output_reasoning, reasoning);
  const std::int64_t other = number(out, "audio_tokens") + number(out, "image_tokens");
  const std::int64_t inside = beside ? 0 : reasoning;
  set(usage, Tokens::output_text, positive(completion - inside - other));
  const std::int64_t output = completion + (beside ? reasoning : 0);
  set_totals(usage, prompt + citation, output, total ? Count(*total + citation) : std::nullopt);
  return usage;
}

ModelUsage openai_responses(UsageRules, const json::Value& v) {
  ModelUsage usage;
  const json::Value in = v["input_tokens_details"];
  const json::Value out = v["output_tokens_details"];
  const std::int64_t output = number(v, "output_tokens");
  const std::int64_t cached = number(in, "cached_tokens");
  const std::int64_t reasoning = number(out, "reasoning_tokens");
  const Count total = member_count(v, "total_tokens");
  std::int64_t input = number(v, "input_tokens");
  input += cached_beside(input, cached, output, reasoning, total);
  const Count written = member_count(in, "cache_write_tokens");
  set(usage, Tokens::input_text,
      in["image_tokens"].exists() ? member_count(in, "text_tokens") : input);
  set_openai_details(usage, in, out);
  set_openai_cache(usage, input, cached,
                   std::max<std::int64_t>(0, input - cached - written.value_or(0)), written);
  set(usage, Tokens::output_reasoning, reasoning);
  const std::int64_t other = number(out, "audio_tokens") + number(out, "image_tokens");
  const bool beside = is_total_with(reasoning, input, output, total);
  set(usage, Tokens::output_text, positive(output - (beside ? 0 : reasoning) - other));
  set_totals(usage, input, output + (beside ? reasoning : 0), total);
  return usage;
}

// Tokens read from and written to the cache are not part of the input count.
ModelUsage beside_cache(const json::Value& v, std::string_view input_key, std::string_view read_key,
                        std::string_view write_key, std::string_view output_key) {
  ModelUsage usage;
  const Count miss = member_count(v, input_key);
  const std::int64_t read = number(v, read_key);
  const std::int64_t written = number(v, write_key);
  const Count output = member_count(v, output_key);
  set(usage, Tokens::input_cache_miss, miss);
  set(usage, Tokens::input_cached, read);
  set(usage, Tokens::input_write_cache, written);
  set(usage, Tokens::output_text, output);
  Count input;
  if (miss || read > 0 || written > 0) input = miss.value_or(0) + read + written;
  set_totals(usage, input, output, std::nullopt);
  return usage;
}

ModelUsage anthropic(UsageRules, const json::Value& v) {
  ModelUsage usage = beside_cache(v, "input_tokens", "cache_read_input_tokens",
                                  "cache_creation_input_tokens", "output_tokens");
  const std::int64_t reasoning_parts = number(v["output_tokens_details"], "thinking_tokens");
  if (reasoning_parts > 0) {
    set(usage, Tokens::output_reasoning, reasoning_parts);
    set(usage, Tokens::output_text, positive(number(v, "output_tokens") - reasoning_parts));
  }
  set(usage, Tokens::input_write_cache_long,
      member_count(v["cache_creation"], "ephemeral_1h_input_tokens"));
  return usage;
}

ModelUsage bedrock(UsageRules, const json::Value& v) {
  return beside_cache(v, "inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens",
                      "outputTokens");
}

// `input_tokens` stands in the Responses API, in Anthropic's and in others' that add a total.
ModelUsage input_tokens(UsageRules rules, const json::Value& v) {
  const bool responses = v["total_tokens"].exists() || v["input_tokens_details"].is_object() ||
                         v["output_tokens_details"]["reasoning_tokens"].exists();
  return responses ? openai_responses(rules, v) : anthropic(rules, v);
}

// What Google's two APIs share. Thoughts and tool prompts are beside the other counts.
struct GoogleCounts {
  Count input, cached, tool, output, reasoning_parts, total;
};
void set_google(ModelUsage& usage, const GoogleCounts& c) {
  if (c.input && c.cached && *c.cached > 0) {
    set(usage, Tokens::input_cached, c.cached);
    set(usage, Tokens::input_cache_miss, std::max<std::int64_t>(0, *c.input - *c.cached));
  }
  set(usage, Tokens::input_tool, c.tool);
  set(usage, Tokens::output_reasoning, c.reasoning_parts);
  if (c.output && !usage[Tokens::output_text]) {
    const std::int64_t other = usage[Tokens::output_image].value_or(0) +
                               usage[Tokens::output_audio].value_or(0) +
                               usage[Tokens::output_video].value_or(0);
    set(usage, Tokens::output_text, positive(*c.output - other));
  }
  Count input = c.input;
  if (input || c.tool) input = input.value_or(0) + c.tool.value_or(0);
  Count output = c.output;
  if (output || c.reasoning_parts) output = output.value_or(0) + c.reasoning_parts.value_or(0);
  set_totals(usage, input, output, c.total);
}

ModelUsage gemini(UsageRules, const json::Value& v) {
  ModelUsage usage;
  constexpr std::string_view key = "tokenCount";
  set_modalities(usage, v["promptTokensDetails"], key, &Modality::input);
  set_modalities(usage, v["cacheTokensDetails"], key, &Modality::cached);
  set_modalities(usage, v["candidatesTokensDetails"], key, &Modality::output);
  set_google(usage,
             {member_count(v, "promptTokenCount"), member_count(v, "cachedContentTokenCount"),
              member_count(v, "toolUsePromptTokenCount"), member_count(v, "candidatesTokenCount"),
              member_count(v, "thoughtsTokenCount"), member_count(v, "totalTokenCount")});
  return usage;
}

ModelUsage gemini_interactions(UsageRules, const json::Value& v) {
  ModelUsage usage;
  constexpr std::string_view key = "tokens";
  set_modalities(usage, v["input_tokens_by_modality"], key, &Modality::input);
  set_modalities(usage, v["cached_tokens_by_modality"], key, &Modality::cached);
  set_modalities(usage, v["output_tokens_by_modality"], key, &Modality::output);
  set_google(usage,
             {member_count(v, "total_input_tokens"), member_count(v, "total_cached_tokens"),
              member_count(v, "total_tool_use_tokens"), member_count(v, "total_output_tokens"),
              member_count(v, "total_thought_tokens"), member_count(v, "total_tokens")});
  return usage;
}

ModelUsage plain(Count input, Count output, Count total) {
  ModelUsage usage;
  set(usage, Tokens::input_text, input);
  set(usage, Tokens::output_text, output);
  set_totals(usage, input, output, total);
  return usage;
}

ModelUsage ollama(UsageRules, const json::Value& v) {
  return plain(member_count(v, "prompt_eval_count"), member_count(v, "eval_count"), std::nullopt);
}

ModelUsage cohere(UsageRules, const json::Value& v) {
  const json::Value tokens = v["tokens"].is_object() ? v["tokens"] : v["billed_units"];
  const Count input = member_count(tokens, "input_tokens");
  ModelUsage usage = plain(input, member_count(tokens, "output_tokens"), std::nullopt);
  const Count cached = member_count(v, "cached_tokens");
  if (input) set_openai_cache(usage, *input, cached, std::nullopt, std::nullopt);
  return usage;
}

ModelUsage langchain(UsageRules, const json::Value& v) {
  const json::Value in = v["input_token_details"];
  const json::Value out = v["output_token_details"];
  const Count input = member_count(v, "input_tokens");
  const Count output = member_count(v, "output_tokens");
  ModelUsage usage = plain(input, std::nullopt, std::nullopt);
  if (input) {
    set_openai_cache(usage, *input, member_count(in, "cache_read"), std::nullopt,
                     member_count(in, "cache_creation"));
  }
  const std::int64_t reasoning = number(out, "reasoning");
  const Count total = member_count(v, "total_tokens");
  const std::int64_t beside =
      is_total_with(reasoning, input.value_or(0), output.value_or(0), total) ? reasoning : 0;
  set(usage, Tokens::output_reasoning, reasoning);
  set(usage, Tokens::output_text, positive(output.value_or(0) + beside - reasoning));
  set_totals(usage, input, output ? Count(*output + beside) : output, total);
  return usage;
}

struct Vendor {
  std::string_view member;
  ModelUsage (*read)(UsageRules rules, const json::Value& reported);
};
// Gateways mix members of several vendors; the first row that fits is what they mean.
constexpr std::array<Vendor, 15> vendors{{
    {"prompt_tokens", openai_chat},
    {"completion_tokens", openai_chat},
    {"promptTokenCount", gemini},
    {"candidatesTokenCount", gemini},
    {"total_input_tokens", gemini_interactions},
    {"prompt_eval_count", ollama},
    {"eval_count", ollama},
    {"inputTokens", bedrock},
    {"outputTokens", bedrock},
    {"tokens", cohere},
    {"billed_units", cohere},
    {"input_token_details", langchain},
    {"output_token_details", langchain},
    {"input_tokens", input_tokens},
    {"output_tokens", input_tokens},
}};

// Whether anything of it counts: what is below zero, or text, was not reported.
bool has_count(const json::Value& reported) {
  return std::any_of(vendors.begin(), vendors.end(), [&](const Vendor& vendor) {
    const json::Value value = reported[vendor.member];
    return value.is_object() || count_of(value);
  });
}

}  // namespace

std::optional<ModelUsage> read_counts(UsageRules rules, const json::Value& reported) {
  for (const Vendor& vendor : vendors) {
    if (reported[vendor.member].is_nothing()) continue;
    ModelUsage usage = vendor.read(rules, reported);
    usage.source = has_count(reported) ? UsageSource::reported : UsageSource::unknown;
    return usage;
  }
  return std::nullopt;
}

ModelUsage read_counts(const event::Usage& usage) {
  ModelUsage result;
  set(result, Tokens::input_text, usage.input_tokens);
  set(result, Tokens::output_reasoning, usage.reasoning_tokens);
  set(result, Tokens::output_text,
      positive(usage.output_tokens.value_or(0) - usage.reasoning_tokens.value_or(0)));
  if (usage.input_tokens) {
    set_openai_cache(result, *usage.input_tokens, usage.cached_input_tokens, std::nullopt,
                     usage.cache_write_input_tokens);
  }
  set_totals(result, usage.input_tokens, usage.output_tokens, usage.total_tokens);
  const bool any = usage.input_tokens || usage.output_tokens || usage.total_tokens;
  result.source = any ? UsageSource::reported : UsageSource::unknown;
  if (any && usage.estimated) result.source = UsageSource::estimated;
  return result;
}

}  // namespace millrace::model
