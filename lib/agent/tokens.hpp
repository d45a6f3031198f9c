// How much of a model's window a conversation takes: an estimate without a vocabulary.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"

namespace millrace::agent {

// Content, tool calls, reasoning and call ids of one row; what the provider reported for an
// assistant's answer counts before the estimate.
std::int64_t estimate_message_tokens(const json::Tree& message);

// All rows and the definitions of the tools.
std::int64_t estimate_context_tokens(const json::Tree& messages, const json::Tree& tools);

// Tokens of rows that grow from turn to turn: those of rows that are the same as before are not
// counted again.
// Thread: any, one at a time.
class RetainedTokens {
 public:
  // The tokens of a row.
  using Measure = std::int64_t (*)(const json::Tree& row);
  explicit RetainedTokens(Measure measure) : measure_(measure) {}

  std::int64_t of(const json::Tree& rows);

 private:
  struct Counted {
    json::Tree row;
    std::int64_t up_to = 0;  // tokens of the rows up to and with this one
  };
  Measure measure_;
  std::vector<Counted> counted_;
};

// What is kept of a conversation for the checks of its size.
struct ContextTokens {
  ContextTokens();
  RetainedTokens estimated;
  RetainedTokens most;  // no estimate is more
};

struct CompressionCheck {
  std::int64_t tokens = 0;
  std::int64_t threshold = 0;
  bool needed = false;
};

// Whether the context passes the share of the window at which it is compressed. `options` may hold
// maxWindowToken (128000), thresholdRatio (0.5) and driftMultiplier (1.25), or
// countedTokens: what a vocabulary counted, which replaces the estimate. Where a summary is among
// the messages, or hasExistingSummary says so, recompressionThresholdRatio holds (0.65, or
// thresholdRatio where that is more).
CompressionCheck check_compression(const json::Tree& messages, const json::Tree& tools,
                                   const json::Tree& options, ContextTokens* retained = nullptr);

// False when the texts are too short for a compression, whatever their content: to count their
// tokens costs more than the rest of a step.
bool may_need_compression(const json::Tree& messages, const json::Tree& tools,
                          const json::Tree& options, ContextTokens* retained = nullptr);

}  // namespace millrace::agent
