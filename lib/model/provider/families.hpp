// What families of models take at every server: read from the model's name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace::model {

enum class Trait : std::uint8_t {
  no_sampling,               // temperature, top_p, penalties and logprobs are refused
  no_penalties,              // penalties are refused
  no_stop,                   // stop sequences are refused
  completion_tokens,         // the limit of the answer is max_completion_tokens
  one_sampling,              // temperature or top_p, not both
  no_system,                 // system prompts go as developer messages
  no_stream,                 // answers come in one piece
  no_prefill,                // the last message must not be the assistant's
  reasons,                   // takes an effort
  adaptive_thinking,         // decides itself how much it thinks
  adaptive_only,             // takes no budget of reasoning
  thinking_by_default,       // Claude: it thinks unless the request disables it
  display_omitted,           // Claude: its reasoning is only sent where `display` requests it
  always_thinking,           // its thinking cannot be switched off
  interleaved_thinking,      // Claude: switched off, it still thinks between calls
  high_without_thinking,     // Claude: it takes no effort above `high` where it shall not think
  bound_reasoning,           // Claude: a signature holds only behind what was before its reasoning
  no_effort,                 // takes no effort, although others of its vendor do
  rejects_effort,            // the same, where its vendor's API refuses the member (xAI)
  no_demands,                // cannot be made to call a tool, at least while it thinks
  thinking_level,            // Gemini 3: a level instead of a budget
  level_on_request,          // Gemma 4: a level, sent only where an effort is given
  thinking_budget,           // Gemini 2.5: a budget
  no_minimal_level,          // Gemini: the lowest level is `low`
  no_system_instruction,     // Gemma: a system prompt is said by the user
  image_output,              // answers with images, too
  fixed_sampling,            // Kimi K2.5: one temperature a mode
  responses_only,            // served by the Responses API alone
  prefers_responses,         // OpenAI: beside tools, it thinks in the Responses API alone
  high_by_default,           // OpenAI: where no effort is given, `high` is
  samples_without_thinking,  // no_sampling holds only while it thinks
  thinking_off_by_default,   // it does not think unless it is told to
  cache_key,                 // takes prompt_cache_key
  mistral_rules,             // ids of calls are nine letters and digits, results are answered
  zero_temperature,          // MiniMax-M3: takes a temperature of 0, which others there refuse
  open_sampling,             // GLM: temperature and top_p lie between 0.01 and 0.99
  preserves_thinking,        // Qwen and Kimi: can be told to keep the reasoning of earlier turns
  no_schema,                 // Claude: no constrained decoding, for answers and for tools
  no_bedrock_schema,         // the same, on Bedrock only: it checks fields by an older list
  one_answer,                // `n` other than 1 is refused
  switch_only,               // Kimi K2: its thinking is switched on or off, there are no efforts
  reasoning_back,            // thinks only where each of its answers comes back with its reasoning
  system_turns,              // Claude: a message of the system may stand amid the conversation
  template_levels,           // gpt-oss: its template takes an effort wherever it is served
  effort_with_switch,        // DeepSeek V4: takes an effort where the server switches reasoning
  thinks_by_name,            // the server cannot switch its thinking off
  clears_reasoning,          // GLM: its template has `clear_thinking`
  reasoning_parts,           // Magistral: reads reasoning in the content of a message
  calls_in_text,             // Doubao Seed: may write its calls in the text of an answer
  safety_off,                // Gemini: its filters are off with `OFF`, not with `BLOCK_NONE`
  auto_truncation,           // OpenAI: its API demands `truncation: 'auto'`
};

// How much a model can be told to think, from nothing to most, in the words of payloads.
enum class Effort : std::uint8_t { none, minimal, low, medium, high, xhigh, max };
inline constexpr std::array<std::string_view, 7> effort_names{"none", "minimal", "low", "medium",
                                                              "high", "xhigh",   "max"};

// The efforts that a model knows.
class Efforts {
 public:
  constexpr Efforts() = default;
  constexpr Efforts(Effort least, Effort most) {
    for (unsigned at = index(least); at <= index(most); ++at) bits_ |= 1U << at;
  }
  [[nodiscard]] constexpr Efforts with(Effort effort) const {
    Efforts more = *this;
    more.bits_ |= 1U << index(effort);
    return more;
  }
  [[nodiscard]] constexpr bool has(Effort effort) const {
    return ((bits_ >> index(effort)) & 1U) != 0;
  }
  // Which ones a model knows is not known.
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  // The known one next to this; of two, the one that thinks more.
  [[nodiscard]] Effort nearest(Effort wanted) const;

 private:
  static constexpr unsigned index(Effort effort) { return static_cast<unsigned>(effort); }
  std::uint32_t bits_ = 0;
};

class Traits {
 public:
  constexpr Traits() = default;
  constexpr Traits(std::uint64_t bits, Efforts efforts) : bits_(bits), efforts_(efforts) {}
  [[nodiscard]] constexpr bool has(Trait trait) const {
    return ((bits_ >> static_cast<unsigned>(trait)) & 1U) != 0;
  }
  [[nodiscard]] constexpr Efforts efforts() const { return efforts_; }
  constexpr void add(std::uint64_t bits) { bits_ |= bits; }

 private:
  std::uint64_t bits_ = 0;
  Efforts efforts_;
};

// A gateway's prefix ("openai/", "anthropic/claude...") and a variant (":free") do not matter.
Traits traits_of(std::string_view model);

}  // namespace millrace::model
