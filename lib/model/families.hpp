// What families of models take, whoever serves them: read from the model's name.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::model {

enum class Trait : std::uint8_t {
  no_sampling,            // temperature, top_p, penalties and logprobs are refused
  no_penalties,           // penalties are refused
  no_stop,                // stop sequences are refused
  completion_tokens,      // the limit of the answer is max_completion_tokens
  one_sampling,           // temperature or top_p, not both
  no_system,              // system prompts go as developer messages
  no_stream,              // answers come in one piece
  no_prefill,             // the last message must not be the assistant's
  reasons,                // takes an effort
  adaptive_thinking,      // decides itself how much it thinks
  adaptive_only,          // takes no budget of thoughts
  always_thinks,          // its thinking cannot be switched off
  no_effort,              // takes no effort, although others of its vendor do
  thinking_level,         // Gemini 3: a level instead of a budget
  thinking_budget,        // Gemini 2.5: a budget
  no_minimal_level,       // Gemini: the lowest level is `low`
  no_system_instruction,  // Gemma: a system prompt is said by the user
  image_output,           // answers with images, too
  fixed_sampling,         // Kimi K2.5: one temperature a mode
  responses_only,         // served by the Responses API alone
  high_effort_only,       // effort `high` is the only one
  cache_key,              // takes prompt_cache_key
  short_call_ids,         // ids of calls are nine letters and digits
  no_schema,              // Claude: no constrained decoding, for answers and for tools
  no_bedrock_schema,      // the same, on Bedrock only: it checks fields by an older list
  thoughts_back,          // thinks only where each of its answers comes back with its reasoning
};

class Traits {
 public:
  [[nodiscard]] constexpr bool has(Trait trait) const {
    return ((bits_ >> static_cast<unsigned>(trait)) & 1U) != 0;
  }
  constexpr void add(std::uint32_t bits) { bits_ |= bits; }

 private:
  std::uint32_t bits_ = 0;
};

// A gateway's prefix ("openai/", "anthropic/claude...") and a variant (":free") do not matter.
Traits traits_of(std::string_view model);

}  // namespace millrace::model
