// The table of model cards: limits and prices of the families whose vendors publish them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/usage/cost.hpp"

namespace millrace::model {

// One row of cards.def.
// Lifetime: static.
struct ModelCard {
  std::string_view provider;
  std::string_view model;
  std::int64_t context_tokens;
  std::int64_t max_output_tokens;
  std::string_view pricing;  // JSON, see read_price_card
  std::string_view source;   // where the vendor says so
};

std::span<const ModelCard> model_cards();

// The card of a model or of a dated version of it ("-2025-04-14", "-20250929", "-latest"), or
// nullptr.
const ModelCard* find_card(std::string_view provider, std::string_view model);

// Shape: {"provider", "id", "contextWindowTokens", "maxOutput", "pricing", "source"}
std::string card_json(const ModelCard& card);

// What a call cost in US dollars: what the provider says, else by the card; absent when the model
// has no card or the usage does not say enough. Never 0 for what is unknown.
std::optional<double> known_cost(std::string_view provider, std::string_view model,
                                 const ModelUsage& usage, const CostOptions& options = {});

// Names what of the usage the price of known_cost leaves out; `service_tier` is the provider's word
// for the terms of the answer, or "".
void note_unpriced(std::string_view provider, std::string_view model, std::string_view service_tier,
                   ModelUsage& usage);

// Adds to a known cost of `model` what other models cost that the provider called for the answer,
// such as an advisor, and takes them out of what is unpriced; those without a card stay there. The
// counts hold the tokens of a fallback: they move from the price of `model` to that of the
// fallback.
void price_other_models(std::string_view provider, std::string_view model,
                        const json::Value& reported, ModelUsage& usage,
                        const CostOptions& options = {});

}  // namespace millrace::model
