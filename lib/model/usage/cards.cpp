#include "model/usage/cards.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace millrace::model {
namespace {

constexpr std::array card_table{
#define MILLRACE_CARD(provider, model, context, output, pricing, source) \
  ModelCard{provider, model, context, output, pricing, source},
#include "model/usage/cards.def"
};

// True for "", "-latest" and a date: "-20250929", "-2025-04-14".
bool is_version(std::string_view suffix) {
  if (suffix.empty() || suffix == "-latest") return true;
  if (suffix.size() != 9 && suffix.size() != 11) return false;
  const bool parted = suffix.size() == 11;
  for (std::size_t i = 0; i < suffix.size(); ++i) {
    const bool dash = i == 0 || (parted && (i == 5 || i == 8));
    const bool digit = suffix[i] >= '0' && suffix[i] <= '9';
    if (dash ? suffix[i] != '-' : !digit) return false;
  }
  return true;
}

}  // namespace

std::span<const ModelCard> model_cards() {
  return card_table;
}

const ModelCard* find_card(std::string_view provider, std::string_view model) {
  const auto* row = std::find_if(card_table.begin(), card_table.end(), [&](const ModelCard& card) {
    return card.provider == provider && model.starts_with(card.model) &&
           is_version(model.substr(card.model.size()));
  });
  return row == card_table.end() ? nullptr : row;
}

std::string card_json(const ModelCard& card) {
  std::string out = "{";
  json::append_member(out, "provider", card.provider);
  json::append_member(out, "id", card.model);
  json::append_member(out, "contextWindowTokens", card.context_tokens);
  json::append_member(out, "maxOutput", card.max_output_tokens);
  json::append_raw_member(out, "pricing", card.pricing);
  json::append_member(out, "source", card.source);
  out.push_back('}');
  return out;
}

void note_unpriced(std::string_view provider, std::string_view model, std::string_view service_tier,
                   ModelUsage& usage) {
  constexpr std::array<std::string_view, 5> usual_tiers{"", "default", "standard", "auto",
                                                        "on_demand"};
  const bool is_usual =
      std::find(usual_tiers.begin(), usual_tiers.end(), service_tier) != usual_tiers.end();
  if (!is_usual) usage.unpriced.emplace_back("service_tier");
  if (usage[Tokens::input_write_cache_long].value_or(0) == 0) return;
  const ModelCard* card = find_card(provider, model);
  json::Document document;
  const auto pricing = document.parse(card == nullptr ? "{}" : card->pricing);
  if (!pricing) return;
  const auto prices = read_price_card(pricing.value());
  const bool is_priced = prices && std::any_of(prices.value().units.begin(),
                                               prices.value().units.end(), has_hour_price);
  if (!is_priced) usage.unpriced.emplace_back(name_of(Tokens::input_write_cache_long));
}

void price_other_models(std::string_view provider, std::string_view model,
                        const json::Value& reported, ModelUsage& usage,
                        const CostOptions& options) {
  std::vector<std::string> priced;
  std::vector<std::string> left;
  for (const json::Value iteration : reported["iterations"].items()) {
    const bool is_fallback = iteration["type"].string() == "fallback_message";
    if (!is_fallback && !is_of_other_model(iteration)) continue;
    const ModelUsage counts = read_vendor_usage(provider, iteration);
    auto cost = known_cost(provider, iteration["model"].string(), counts, options);
    const auto counted =
        is_fallback ? known_cost(provider, model, counts, options) : std::optional(0.0);
    if (cost) cost = counted ? std::optional(*cost - *counted) : std::nullopt;
    if (cost && usage.cost) *usage.cost += *cost;
    (cost ? priced : left).push_back(unpriced_iteration(iteration));
  }
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::erase_if(usage.unpriced,
                [&](const std::string& name) { return has(priced, name) && !has(left, name); });
}

std::optional<double> known_cost(std::string_view provider, std::string_view model,
                                 const ModelUsage& usage, const CostOptions& options) {
  if (usage.cost) return usage.cost;
  const ModelCard* card = find_card(provider, model);
  if (card == nullptr || usage.source == UsageSource::unknown) return std::nullopt;
  json::Document document;
  const auto pricing = document.parse(card->pricing);
  if (!pricing) return std::nullopt;
  const auto prices = read_price_card(pricing.value());
  if (!prices) return std::nullopt;
  const auto cost = compute_chat_cost(prices.value(), usage, options);
  if (!cost || !cost.value() || cost.value()->lines.empty() || !cost.value()->issues.empty()) {
    return std::nullopt;
  }
  return cost.value()->dollars();
}

}  // namespace millrace::model
