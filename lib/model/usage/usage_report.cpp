// What a provider reports of the tokens of an answer: their counts, their cost, and what of the
// report the price of tokens leaves out.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "adapter/usage.hpp"
#include "base/counts.hpp"
#include "message/json_builder.hpp"
#include "model/usage/usage.hpp"
#include "model/usage/usage_vendors.hpp"

namespace millrace::model {
namespace {

void add_unpriced(ModelUsage& usage, std::string name) {
  auto& names = usage.unpriced;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

// Whether an iteration of Anthropic's report was made by the model of the request, at its price.
bool is_of_requested_model(const json::Value& iteration) {
  const std::string_view type = iteration["type"].string();
  return type.empty() || type == "message" || type == "compaction";
}

// What price lists have beside tokens, and what multiplies their prices.
void set_unpriced(ModelUsage& usage, const json::Value& v) {
  if (const auto speed = v["speed"].filled_string(); speed && *speed != "standard") {
    usage.unpriced.emplace_back("speed");
  }
  for (const std::string_view list : {"server_tool_use", "server_side_tool_usage_details"}) {
    for (const json::Member& tool : v[list].members()) {
      const bool is_used = count_of(tool.value).value_or(0) > 0;
      if (is_used) usage.unpriced.push_back(std::string(list).append(".").append(tool.key));
    }
  }
  for (const json::Value iteration : v["iterations"].items()) {
    if (!is_of_requested_model(iteration)) add_unpriced(usage, unpriced_iteration(iteration));
  }
  if (v["grounding_tool_count"].size() > 0) usage.unpriced.emplace_back("grounding_tool_count");
}

// What the provider says it cost, in US dollars.
std::optional<double> reported_cost(const json::Value& v) {
  constexpr double dollars_per_tick = 1e-10;
  const json::Value cost = v["cost"];
  auto dollars = cost.number();
  if (!dollars) dollars = cost["total_cost"].number();
  if (const auto ticks = v["cost_in_usd_ticks"].number(); ticks && !dollars) {
    dollars = *ticks * dollars_per_tick;
  }
  return dollars && std::isfinite(*dollars) && *dollars >= 0 ? dollars : std::nullopt;
}

// Those of a provider by its row; another one has none.
UsageRules rules_of(std::string_view provider) {
  const Provider* row = find_provider(provider);
  return row == nullptr ? UsageRules() : usage_rules(row->quirks);
}

}  // namespace

UsageRules usage_rules(Quirks quirks) {
  return {quirks.has(Quirk::reasoning_beside)};
}

ModelUsage read_vendor_usage(std::string_view provider, const json::Value& reported) {
  return read_vendor_usage(rules_of(provider), reported);
}

ModelUsage read_vendor_usage(UsageRules rules, const json::Value& reported) {
  std::optional<ModelUsage> usage = read_counts(rules, reported);
  if (!usage) return {};
  usage->cost = reported_cost(reported);
  if (!usage->cost) set_unpriced(*usage, reported);
  return *std::move(usage);
}

ModelUsage read_raw_usage(std::string_view provider, const json::Value& reported) {
  std::int64_t written = 0;
  for (const json::Value iteration : reported["iterations"].items()) {
    // What a fallback wrote is in the answer's counts, though at another price.
    const bool is_counted =
        is_of_requested_model(iteration) || iteration["type"].string() == "fallback_message";
    if (is_counted) written += count_of(iteration["output_tokens"]).value_or(0);
  }
  // What a run reports holds them already.
  if (count_of(reported["output_tokens"]).value_or(0) >= written)
    return read_vendor_usage(provider, reported);
  json::Document document(message::depth_limit);
  const std::string whole = adapter::with_compactions(reported);
  const auto value = document.parse(whole);
  return read_vendor_usage(provider, value ? value.value() : reported);
}

ModelUsage read_vendor_usage(const event::Usage& usage) {
  return read_vendor_usage(rules_of(usage.provider), usage);
}

ModelUsage read_vendor_usage(UsageRules rules, const event::Usage& usage) {
  json::Document document;
  if (const auto reported = document.parse(usage.json)) {
    ModelUsage result = read_vendor_usage(rules, reported.value());
    const bool is_reported = result.source == UsageSource::reported;
    if (is_reported && !usage.estimated) return result;
    // The input that a report has stays as it is.
    if (is_reported && result[Tokens::total_input] == usage.input_tokens) {
      set_estimated_output(result, usage.output_tokens.value_or(0),
                           usage.reasoning_tokens.value_or(0));
      return result;
    }
  }
  return read_counts(usage);
}

}  // namespace millrace::model
