#include "model/usage/cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace millrace::model {
namespace {

constexpr double credits_per_dollar = 1'000'000;
// A product such as 300 * 0.1 lies a little above what it is; this is no reason for another credit.
constexpr double rounding = 1e-6;

// How long what was written stays in a cache.
constexpr std::string_view ttl = "ttl";
constexpr std::string_view short_ttl = "5m";
constexpr std::string_view hour_ttl = "1h";
constexpr std::string_view cache_write = "textInput_cacheWrite";
constexpr std::string_view token_unit = "millionTokens";

using Count = std::optional<std::int64_t>;

bool has_unit(const PriceCard& card, std::string_view name) {
  return std::any_of(card.units.begin(), card.units.end(),
                     [&](const PriceUnit& unit) { return unit.name == name; });
}

// ---- Quantities

std::int64_t sum(const ModelUsage& usage, std::initializer_list<Tokens> tokens) {
  std::int64_t total = 0;
  for (const Tokens one : tokens) total += usage[one].value_or(0);
  return total;
}

// What the text price is for, where nothing is cached: text, what has no price of its own, and what
// the provider counted in the total alone.
Count uncached_input(const PriceCard& card, const ModelUsage& usage) {
  const Count total = usage[Tokens::total_input];
  const std::int64_t tool = usage[Tokens::input_tool].value_or(0);
  const std::int64_t media =
      sum(usage, {Tokens::input_image, Tokens::input_audio, Tokens::input_video});
  Count text = usage[Tokens::input_text];
  if (!text && media == 0) {
    if (total) return total;
    return tool > 0 ? Count(tool) : std::nullopt;
  }
  std::int64_t quantity = text.value_or(0);
  const std::int64_t known = quantity + media + tool;
  // Some providers count audio and images among the text; what has a price of its own is paid once.
  const std::int64_t twice = total && known > *total ? known - *total : 0;
  for (const auto& [unit, tokens] :
       {std::pair{"imageInput", Tokens::input_image}, std::pair{"audioInput", Tokens::input_audio},
        std::pair{"videoInput", Tokens::input_video}}) {
    if (!has_unit(card, unit)) quantity += usage[tokens].value_or(0);
  }
  if (total && *total > known) quantity += *total - known;
  return std::max<std::int64_t>(0, quantity - std::min(twice, media)) + tool;
}

template <Tokens tokens, Tokens cached>
Count not_cached(const PriceCard& /*card*/, const ModelUsage& usage) {
  const Count all = usage[tokens];
  if (!all) return all;
  return std::max<std::int64_t>(0, *all - usage[cached].value_or(0));
}

// What is paid at prices of its own and counted among the tokens that were not in the cache. Images
// and videos are known to be among them only where a part of them was in it.
std::int64_t paid_elsewhere(const PriceCard& card, const ModelUsage& usage) {
  std::int64_t total = 0;
  const auto add = [&](std::string_view unit, const Count& tokens) {
    if (has_unit(card, unit)) total += tokens.value_or(0);
  };
  add("audioInput", not_cached<Tokens::input_audio, Tokens::input_cached_audio>(card, usage));
  if (usage[Tokens::input_cached].value_or(0) == 0) return total;
  add("imageInput", not_cached<Tokens::input_image, Tokens::input_cached_image>(card, usage));
  add("videoInput", not_cached<Tokens::input_video, Tokens::input_cached_video>(card, usage));
  return total;
}

bool reports_cached_text(const ModelUsage& usage) {
  return usage[Tokens::input_text] && usage[Tokens::input_cached_text];
}

Count text_input(const PriceCard& card, const ModelUsage& usage) {
  const std::int64_t tool = usage[Tokens::input_tool].value_or(0);
  if (const Count miss = usage[Tokens::input_cache_miss]) {
    return std::max<std::int64_t>(0, *miss - paid_elsewhere(card, usage)) + tool;
  }
  if (!reports_cached_text(usage)) return uncached_input(card, usage);
  const auto text = not_cached<Tokens::input_text, Tokens::input_cached_text>(card, usage);
  return text.value_or(0) + tool;
}

Count cache_read(const PriceCard& card, const ModelUsage& usage) {
  Count cached = usage[Tokens::input_cached];
  if (!cached) return cached;
  for (const auto& [unit, tokens] :
       {std::pair{"imageInput_cacheRead", Tokens::input_cached_image},
        std::pair{"audioInput_cacheRead", Tokens::input_cached_audio}}) {
    if (has_unit(card, unit)) *cached -= usage[tokens].value_or(0);
  }
  return std::max<std::int64_t>(0, *cached);
}

template <Tokens tokens>
Count plain(const PriceCard& /*card*/, const ModelUsage& usage) {
  return usage[tokens];
}

// Videos are priced by the token or by the second; only tokens are counted here.
Count generated_video(const PriceCard& card, const ModelUsage& usage) {
  const bool by_token =
      std::any_of(card.units.begin(), card.units.end(), [](const PriceUnit& unit) {
        return unit.name == "videoGeneration" && unit.unit == token_unit;
      });
  return by_token ? usage[Tokens::output_video] : std::nullopt;
}

// An answer of images or audio alone has no text: what has a price of its own is paid
// once.
Count text_output(const PriceCard& card, const ModelUsage& usage) {
  const std::int64_t generated = sum(usage, {Tokens::output_text, Tokens::output_reasoning});
  Count total = usage[Tokens::total_output];
  if (generated > 0) return generated;
  if (!total) return usage[Tokens::output_text];
  if (has_unit(card, "imageOutput")) *total -= usage[Tokens::output_image].value_or(0);
  if (has_unit(card, "audioOutput")) *total -= usage[Tokens::output_audio].value_or(0);
  *total -= generated_video(card, usage).value_or(0);
  return std::max<std::int64_t>(0, *total);
}

struct Quantity {
  std::string_view unit;
  Count (*of)(const PriceCard& card, const ModelUsage& usage);
};
constexpr std::array<Quantity, 11> quantities{{
    {"textInput", text_input},
    {"textInput_cacheRead", cache_read},
    {"textInput_cacheWrite", plain<Tokens::input_write_cache>},
    {"textOutput", text_output},
    {"imageInput", not_cached<Tokens::input_image, Tokens::input_cached_image>},
    {"imageInput_cacheRead", plain<Tokens::input_cached_image>},
    {"imageOutput", plain<Tokens::output_image>},
    {"videoInput", not_cached<Tokens::input_video, Tokens::input_cached_video>},
    {"videoGeneration", generated_video},
    {"audioInput", not_cached<Tokens::input_audio, Tokens::input_cached_audio>},
    {"audioOutput", plain<Tokens::output_audio>},
}};

Count quantity_of(const PriceUnit& unit, const PriceCard& card, const ModelUsage& usage) {
  if (unit.name == "audioInput_cacheRead") return usage[Tokens::input_cached_audio];
  const auto* row = std::find_if(quantities.begin(), quantities.end(),
                                 [&](const Quantity& q) { return q.unit == unit.name; });
  return row == quantities.end() ? std::nullopt : row->of(card, usage);
}

// ---- Rates

// Callers that count by themselves may leave the total out.
std::int64_t total_input(const ModelUsage& usage) {
  if (const Count total = usage[Tokens::total_input]) return *total;
  const std::int64_t by_cache =
      sum(usage, {Tokens::input_cache_miss, Tokens::input_cached, Tokens::input_write_cache});
  const std::int64_t by_kind = sum(
      usage, {Tokens::input_text, Tokens::input_image, Tokens::input_audio, Tokens::input_video});
  return std::max(by_cache, by_kind) + usage[Tokens::input_tool].value_or(0);
}

// The whole quantity is charged at the rate of the tier in which the call's input lies.
std::optional<double> tier_rate(const PriceUnit& unit, const ModelUsage& usage) {
  const auto input = static_cast<double>(total_input(usage));
  for (const PriceUnit::Tier& tier : unit.tiers) {
    if (!tier.up_to || input <= *tier.up_to) return tier.rate;
  }
  return std::nullopt;
}

std::string lookup_key(const PriceUnit& unit, const CostOptions& options) {
  std::string key;
  for (const std::string& parameter : unit.parameters) {
    if (!key.empty()) key.push_back('_');
    const auto value = options.parameters.find(parameter);
    if (value != options.parameters.end()) {
      key.append(value->second);
    } else if (parameter == ttl) {
      key.append(short_ttl);
    }
  }
  return key;
}

// The rate of a unit for this call, its key in `line`; nothing with the reason in `reason`.
std::optional<double> rate_of(const PriceUnit& unit, const ModelUsage& usage,
                              const CostOptions& options, CostLine& line, std::string& reason) {
  switch (unit.strategy) {
    case PriceUnit::Strategy::fixed: return unit.rate;
    case PriceUnit::Strategy::tiered: {
      const auto rate = tier_rate(unit, usage);
      if (!rate) reason = "No tier is high enough for this input.";
      return rate;
    }
    case PriceUnit::Strategy::lookup: break;
  }
  line.key = lookup_key(unit, options);
  const auto price = unit.prices.find(line.key);
  if (price != unit.prices.end()) return price->second;
  reason = "The card has no price for '" + line.key + "'.";
  return std::nullopt;
}

struct Pricing {
  const PriceCard& card;
  const ModelUsage& usage;
  const CostOptions& options;
};

void add_line(ChatCost& cost, const Pricing& pricing, const PriceUnit& unit,
              std::int64_t quantity) {
  CostLine line{&unit, quantity, 0, {}, 0};
  std::string reason;
  const auto rate = rate_of(unit, pricing.usage, pricing.options, line, reason);
  if (!rate && quantity == 0) return;
  if (!rate) cost.issues.push_back({&unit, std::move(reason)});
  line.rate = rate.value_or(0);
  double credits = static_cast<double>(quantity) * line.rate;
  if (pricing.card.yuan) credits /= pricing.options.yuan_per_dollar;
  line.credits = static_cast<std::int64_t>(std::ceil(std::min(credits, 9e15) - rounding));
  cost.credits += line.credits;
  cost.lines.push_back(std::move(line));
}

// What stays in a cache for a short time and for an hour, where the usage has both counts: each is
// billed at its own price, whatever time the caller asked for. False without a price for an hour.
bool add_timed_writes(ChatCost& cost, const Pricing& pricing, const PriceUnit& unit,
                      std::int64_t quantity) {
  const auto& long_writes = pricing.usage[Tokens::input_write_cache_long];
  const std::int64_t hour = std::min(long_writes.value_or(0), quantity);
  CostOptions timed = pricing.options;
  timed.parameters.insert_or_assign(std::string(ttl), std::string(hour_ttl));
  const bool is_lookup = unit.name == cache_write && unit.strategy == PriceUnit::Strategy::lookup;
  if (hour <= 0 || !is_lookup || !unit.prices.contains(lookup_key(unit, timed))) return false;
  CostOptions brief = pricing.options;
  brief.parameters.insert_or_assign(std::string(ttl), std::string(short_ttl));
  if (quantity > hour) add_line(cost, {pricing.card, pricing.usage, brief}, unit, quantity - hour);
  add_line(cost, {pricing.card, pricing.usage, timed}, unit, hour);
  return true;
}

}  // namespace

bool has_hour_price(const PriceUnit& unit) {
  return unit.name == cache_write && unit.strategy == PriceUnit::Strategy::lookup &&
         unit.parameters.size() == 1 && unit.parameters.front() == ttl &&
         unit.prices.contains(hour_ttl);
}

double ChatCost::dollars() const {
  return static_cast<double>(credits) / credits_per_dollar;
}

Result<std::optional<ChatCost>> compute_chat_cost(const PriceCard& card, const ModelUsage& usage,
                                                  const CostOptions& options) {
  const bool cached = usage[Tokens::input_cached].value_or(0) > 0;
  const bool is_split = usage[Tokens::input_cache_miss] || reports_cached_text(usage);
  if (cached && !is_split && has_unit(card, "textInput")) {
    return make_error(Errc::invalid_argument, "The usage has inputCachedTokens " +
                                                  std::to_string(*usage[Tokens::input_cached]) +
                                                  ", but no inputCacheMissTokens; give both.");
  }
  const bool mixed = cached && !usage[Tokens::input_cached_audio] &&
                     usage[Tokens::input_audio].value_or(0) > 0 && has_unit(card, "audioInput");
  if (mixed) return std::optional<ChatCost>();
  ChatCost cost;
  const Pricing pricing{card, usage, options};
  for (const PriceUnit& unit : card.units) {
    const Count quantity = quantity_of(unit, card, usage);
    if (!quantity || *quantity < 0) continue;
    if (unit.strategy == PriceUnit::Strategy::fixed && unit.unit != token_unit) {
      return make_error(Errc::invalid_argument, "The price of '" + unit.name + "' is for '" +
                                                    unit.unit + "'; tokens have one for '" +
                                                    std::string(token_unit) + "'.");
    }
    if (!add_timed_writes(cost, pricing, unit, *quantity)) add_line(cost, pricing, unit, *quantity);
  }
  return std::optional<ChatCost>(std::move(cost));
}

}  // namespace millrace::model
