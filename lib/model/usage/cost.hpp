// What a model call costs: price cards and LobeHub's formula.
//
// A rate is US dollars (or yuan) for a million tokens, so that tokens times rate is micro-dollars:
// credits. Credits are rounded up for each unit of the card; the cost is their sum.
// Source: LobeHub's model runtime, computeChatCost (2026).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "model/usage/usage.hpp"

namespace millrace::model {

// One price of a card.
struct PriceUnit {
  enum class Strategy : std::uint8_t { fixed, tiered, lookup };
  struct Tier {
    std::optional<double> up_to;  // input tokens; nothing is infinity
    double rate = 0;
  };

  std::string name;  // "textInput", "textOutput", "textInput_cacheRead", ...
  std::string unit;  // "millionTokens" or what users wrote; kept
  Strategy strategy = Strategy::fixed;
  double rate = 0;
  std::vector<Tier> tiers;
  std::vector<std::string> parameters;  // their values joined by _ are the key of a price
  std::map<std::string, double, std::less<>> prices;
};

struct PriceCard {
  bool yuan = false;
  std::vector<PriceUnit> units;
};

// Shape: {"currency"?: "USD" | "CNY", "units": [{"name", "unit"?, "strategy": "fixed", "rate"} |
// {..., "strategy": "tiered", "tiers": [{"upTo": number | "infinity", "rate"}]} |
// {..., "strategy": "lookup", "lookup": {"pricingParams": [string], "prices": {string: number}}}]}.
// A unit without strategy is fixed.
// Errors: invalid_argument.
Result<PriceCard> read_price_card(const json::Value& card);

// Whether it is the price of writing to a cache and has one for an hour in it.
bool has_hour_price(const PriceUnit& unit);

struct CostOptions {
  // Values for lookup prices by parameter; "ttl" of cache writes is "5m" unless it is given.
  std::map<std::string, std::string, std::less<>> parameters;
  double yuan_per_dollar = 7.12;
};

// Shape: {"parameters"?: {string: string | number | boolean}, "yuanPerDollar"?: number}
CostOptions read_cost_options(const json::Value& options);

struct CostLine {
  const PriceUnit* unit = nullptr;
  std::int64_t quantity = 0;
  double rate = 0;
  std::string key;  // of a lookup
  std::int64_t credits = 0;
};
struct CostIssue {
  const PriceUnit* unit = nullptr;
  std::string reason;
};

// Lifetime: of the card.
struct ChatCost {
  std::vector<CostLine> lines;
  std::vector<CostIssue> issues;
  std::int64_t credits = 0;

  [[nodiscard]] double dollars() const;
};

// Nothing when the cost cannot be known: audio and cached input that are not told apart, with a
// price of its own for audio.
// Errors: invalid_argument when cached input is reported without what was not cached.
Result<std::optional<ChatCost>> compute_chat_cost(const PriceCard& card, const ModelUsage& usage,
                                                  const CostOptions& options = {});

// Shape: {"totalCost", "totalCredits": number, "breakdown": [{"unit": {"name", "unit"}, "quantity",
// "rate", "credits", "cost": number, "lookupKey"?: string}], "issues": [{"unit": {"name", "unit"},
// "reason": string}]}
std::string cost_json(const ChatCost& cost);

}  // namespace millrace::model
