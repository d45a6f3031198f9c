// Price cards, the table of model cards, and the books of a run.

#include "model/usage/cost.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "model/usage/cards.hpp"
#include "model/usage/usage_counter.hpp"
#include "support/golden.hpp"

using namespace millrace;
using model::ModelUsage;
using model::Tokens;

namespace {

// The cost in the words of the golden file.
std::string worded(const std::string& card_json, const std::string& usage_json,
                   const std::string& options_json) {
  json::Document card_document;
  json::Document usage_document;
  json::Document options_document;
  const auto card_value = card_document.parse(card_json);
  const auto usage_value = usage_document.parse(usage_json);
  const auto options_value = options_document.parse(options_json);
  if (!card_value || !usage_value || !options_value) return "no JSON\n";
  const auto card = model::read_price_card(card_value.value());
  if (!card) return "error " + std::string(card.error().code_name()) + "\n";
  const auto cost = model::compute_chat_cost(card.value(), model::read_usage(usage_value.value()),
                                             model::read_cost_options(options_value.value()));
  if (!cost) return "error " + std::string(cost.error().code_name()) + "\n";
  if (!cost.value()) return "unknown\n";
  std::ostringstream out;
  out << "credits " << cost.value()->credits << "\n";
  for (const model::CostLine& line : cost.value()->lines) {
    out << line.unit->name << " " << line.quantity << " x " << line.rate << " = " << line.credits;
    out << (line.key.empty() ? "" : " (" + line.key + ")") << "\n";
  }
  for (const model::CostIssue& issue : cost.value()->issues) {
    out << "issue " << issue.unit->name << ": " << issue.reason << "\n";
  }
  return out.str();
}

std::string value_of(const Result<std::string>& result) {
  EXPECT_TRUE(result.ok()) << (result ? "" : result.error().message);
  return result ? result.value() : "";
}

std::string with(const std::string& totals, const std::string& members) {
  return totals.substr(0, totals.size() - 1) + "," + members + "}";
}

}  // namespace

TEST(ChatCost, PricesWhatStaysInTheCacheForAnHour) {
  const std::string card =
      R"({"units":[{"name":"textInput_cacheWrite","strategy":"lookup","lookup":)"
      R"({"pricingParams":["ttl"],"prices":{"5m":2,"1h":4}}}]})";
  const std::string usage = R"({"inputWriteCacheTokens":10,"inputWriteCacheLongTokens":3})";
  const std::string split =
      "credits 26\ntextInput_cacheWrite 7 x 2 = 14 (5m)\ntextInput_cacheWrite 3 x 4 = 12 (1h)\n";
  EXPECT_EQ(worded(card, usage, "{}"), split);
  // The provider's counts are what it bills, whatever time the caller asked for.
  EXPECT_EQ(worded(card, usage, R"({"parameters":{"ttl":"1h"}})"), split);
  const std::string all = R"({"inputWriteCacheTokens":10,"inputWriteCacheLongTokens":10})";
  EXPECT_EQ(worded(card, all, "{}"), "credits 40\ntextInput_cacheWrite 10 x 4 = 40 (1h)\n");
  EXPECT_EQ(worded(card, R"({"inputWriteCacheTokens":10})", R"({"parameters":{"ttl":"1h"}})"),
            "credits 40\ntextInput_cacheWrite 10 x 4 = 40 (1h)\n");
}

TEST(ChatCost, NamesWhatThePriceLeavesOut) {
  json::Document document;
  const auto reported = document.parse(
      R"({"input_tokens":1,"output_tokens":1,"speed":"fast","service_tier":"standard",)"
      R"("cache_creation":{"ephemeral_1h_input_tokens":5},"cache_creation_input_tokens":5,)"
      R"("server_tool_use":{"web_search_requests":2,"web_fetch_requests":0}})");
  ASSERT_TRUE(reported);
  ModelUsage usage = model::read_vendor_usage("anthropic", reported.value());
  EXPECT_EQ(usage.unpriced,
            (std::vector<std::string>{"speed", "server_tool_use.web_search_requests"}));
  ModelUsage tiered = usage;
  model::note_unpriced("anthropic", "claude-sonnet-5-5", "standard", usage);
  EXPECT_EQ(usage.unpriced.size(), 2U);
  // The card of this model has no price for an hour.
  model::note_unpriced("anthropic", "claude-haiku-5-5", "priority", tiered);
  EXPECT_EQ(tiered.unpriced,
            (std::vector<std::string>{"speed", "server_tool_use.web_search_requests",
                                      "service_tier", "inputWriteCacheLongTokens"}));
  std::string json;
  model::write_json(json, usage);
  EXPECT_NE(json.find(R"("unpriced":["speed","server_tool_use.web_search_requests"])"),
            std::string::npos);
}

// Anthropic's advisor is another model, whose tokens are in none of the answer's counts.
TEST(ChatCost, HoldsWhatOtherModelsOfTheAnswerCost) {
  const auto priced = [](std::string_view advisor) {
    json::Document document;
    const auto reported = document.parse(
        R"({"input_tokens":4727,"output_tokens":3391,"iterations":[)"
        R"({"type":"message","input_tokens":1051,"output_tokens":35},{"type":"advisor_message","model":")" +
        std::string(advisor) +
        R"(","input_tokens":2728,"output_tokens":3880},)"
        R"({"type":"message","input_tokens":3676,"output_tokens":3356}]})");
    ModelUsage usage = model::read_vendor_usage("anthropic", reported.value());
    EXPECT_EQ(usage.unpriced, std::vector<std::string>{"iterations.advisor_message"});
    usage.cost = model::known_cost("anthropic", "claude-sonnet-4-6", usage);
    model::price_other_models("anthropic", "claude-sonnet-4-6", reported.value(), usage);
    return usage;
  };
  const ModelUsage known = priced("claude-opus-4-7");
  EXPECT_DOUBLE_EQ(known.cost.value_or(0), 0.065046 + 0.11064);
  EXPECT_TRUE(known.unpriced.empty());
  const ModelUsage unknown = priced("claude-of-tomorrow");
  EXPECT_DOUBLE_EQ(unknown.cost.value_or(0), 0.065046);
  EXPECT_EQ(unknown.unpriced, std::vector<std::string>{"iterations.advisor_message"});
}

// Usage whose counts hold those of one iteration, of a type and of a model.
ModelUsage usage_with(const std::string& type, const std::string& model) {
  json::Document document;
  const auto reported =
      document.parse(R"({"input_tokens":4727,"output_tokens":3391,"iterations":[{"type":")" + type +
                     R"(","model":")" + model + R"(","input_tokens":4727,"output_tokens":3391}]})");
  EXPECT_TRUE(reported);
  ModelUsage usage = model::read_vendor_usage("anthropic", reported.value());
  usage.cost = model::known_cost("anthropic", "claude-sonnet-4-6", usage);
  model::price_other_models("anthropic", "claude-sonnet-4-6", reported.value(), usage);
  return usage;
}

TEST(ChatCost, OfAFallbackIsThatOfTheModelThatAnswered) {
  const ModelUsage known = usage_with("fallback_message", "claude-opus-4-7");
  EXPECT_DOUBLE_EQ(known.cost.value_or(0), 4727 * 5e-6 + 3391 * 25e-6);
  EXPECT_TRUE(known.unpriced.empty());
  const ModelUsage unknown = usage_with("fallback_message", "claude-of-tomorrow");
  EXPECT_DOUBLE_EQ(unknown.cost.value_or(0), 0.065046);
  EXPECT_EQ(unknown.unpriced, std::vector<std::string>{"iterations.fallback_message"});
}

// The counts of the answer may hold those of a type that nobody knows yet.
TEST(ChatCost, AddsNoIterationThatTheCountsMayHold) {
  const ModelUsage usage = usage_with("message_of_tomorrow", "claude-opus-4-7");
  EXPECT_DOUBLE_EQ(usage.cost.value_or(0), 0.065046);
  EXPECT_EQ(usage.unpriced, std::vector<std::string>{"iterations.message_of_tomorrow"});
}

TEST(ChatCost, FollowsTheFormula) {
  std::size_t cases = 0;
  for (const test::GoldenCase& golden : test::golden_cases("model/cost.md")) {
    SCOPED_TRACE(golden.name);
    const std::string* options = golden.block("options");
    EXPECT_EQ(
        worded(*golden.block("card"), *golden.block("usage"), options == nullptr ? "{}" : *options),
        *golden.block("cost"));
    ++cases;
  }
  EXPECT_GT(cases, 15U);
}

TEST(ChatCost, IsToldAsJson) {
  json::Document document;
  const auto value = document.parse(
      R"({"units":[{"name":"textInput","rate":2.5},{"name":"textOutput","strategy":"lookup",)"
      R"("lookup":{"pricingParams":["a"],"prices":{"x":1}}}]})");
  const auto card = model::read_price_card(value.value());
  ASSERT_TRUE(card.ok());
  ModelUsage usage;
  usage[Tokens::total_input] = 300;
  usage[Tokens::total_output] = 5;
  const auto cost = model::compute_chat_cost(card.value(), usage);
  ASSERT_TRUE(cost.ok() && cost.value());
  EXPECT_EQ(model::cost_json(*cost.value()),
            R"({"totalCost":0.00075,"totalCredits":750,"breakdown":[{"unit":{"name":"textInput",)"
            R"("unit":"millionTokens"},"quantity":300,"rate":2.5,"credits":750,"cost":0.00075},)"
            R"({"unit":{"name":"textOutput","unit":"millionTokens"},"quantity":5,"rate":0,)"
            R"("credits":0,"cost":0}],)"
            R"("issues":[{"unit":{"name":"textOutput","unit":"millionTokens"},)"
            R"("reason":"The card has no price for ''."}]})");
}

TEST(ModelCards, AreWellFormedAndFoundByVersion) {
  std::set<std::string> names;
  for (const model::ModelCard& card : model::model_cards()) {
    SCOPED_TRACE(card.model);
    json::Document document;
    const auto value = document.parse(model::card_json(card));
    ASSERT_TRUE(value.ok());
    const auto prices = model::read_price_card(value.value()["pricing"]);
    ASSERT_TRUE(prices.ok());
    EXPECT_GE(prices.value().units.size(), 3U);
    EXPECT_TRUE(card.source.starts_with("https://"));
    EXPECT_TRUE(names.insert(std::string(card.provider) + "/" + std::string(card.model)).second);
    EXPECT_EQ(model::find_card(card.provider, card.model), &card);
  }
  EXPECT_GE(names.size(), 20U);
  const auto model_of = [](std::string_view provider, std::string_view name) {
    const model::ModelCard* card = model::find_card(provider, name);
    return card == nullptr ? std::string_view("none") : card->model;
  };
  EXPECT_EQ(model_of("openai", "gpt-4.1-nano-2025-04-14"), "gpt-4.1-nano");
  EXPECT_EQ(model_of("anthropic", "claude-sonnet-4-5-20250929"), "claude-sonnet-4-5");
  EXPECT_EQ(model_of("anthropic", "claude-sonnet-4-5-latest"), "claude-sonnet-4-5");
  EXPECT_EQ(model_of("anthropic", "claude-mythos-5"), "claude-mythos-5");
  EXPECT_EQ(model_of("openai", "gpt-4o-audio-preview"), "none");
  EXPECT_EQ(model_of("openai", "gpt-5-pro"), "none");
  EXPECT_EQ(model_of("openrouter", "gpt-4o"), "none");
}

TEST(ModelCards, NeverPriceWhatIsUnknown) {
  ModelUsage usage;
  EXPECT_FALSE(model::known_cost("openai", "gpt-4o", usage).has_value());
  usage.source = model::UsageSource::reported;
  EXPECT_FALSE(model::known_cost("openai", "gpt-4o", usage).has_value());
  usage[Tokens::total_input] = 1000;
  usage[Tokens::total_output] = 100;
  EXPECT_EQ(model::known_cost("openai", "gpt-4o", usage), 0.0035);
  EXPECT_FALSE(model::known_cost("openai", "unheard-of", usage).has_value());
  usage.cost = 0.5;
  EXPECT_EQ(model::known_cost("openai", "unheard-of", usage), 0.5);
}

TEST(UsageCounter, AddsCallsOfModelsToolsAndHumans) {
  std::string totals = value_of(model::accumulate_llm(
      R"({"provider":"p","model":"m","modelUsage":{"totalInputTokens":10,"totalOutputTokens":4,)"
      R"("totalTokens":14},"processingTimeMs":120.5})"));
  EXPECT_EQ(totals,
            R"({"usage":{"llm":{"apiCalls":1,"processingTimeMs":120.5,"tokens":{"input":10,)"
            R"("output":4,"total":14}},"tools":{"totalCalls":0,"totalTimeMs":0,"byTool":[]},)"
            R"("humanInteraction":{"approvalRequests":0,"promptRequests":0,"selectRequests":0,)"
            R"("totalWaitingTimeMs":0}}})");
  const std::string call =
      R"("provider":"p","model":"m","now":"T","modelUsage":{"totalInputTokens":1,)"
      R"("totalOutputTokens":1,"totalTokens":2,"inputTextTokens":1,"cost":0.25})";
  totals = value_of(model::accumulate_llm(with(totals, call)));
  totals = value_of(model::accumulate_llm(with(totals, call)));
  totals = value_of(model::accumulate_tool(with(
      totals, R"("toolName":"t","executionTime":30,"success":false,"toolCost":0.5,"now":"U")")));
  totals = value_of(model::accumulate_tool(
      with(totals, R"("toolName":"t","executionTime":10,"success":true,"now":"V")")));
  totals = value_of(
      model::accumulate_human(with(totals, R"("kind":"approval","waitingTimeMs":1000,"now":"W")")));
  EXPECT_EQ(
      totals,
      R"({"usage":{"llm":{"apiCalls":3,"processingTimeMs":120.5,"tokens":{"input":12,"output":6,)"
      R"("total":18}},"tools":{"totalCalls":2,"totalTimeMs":40,"byTool":[{"name":"t","calls":2,)"
      R"("errors":1,"totalTimeMs":40}]},"humanInteraction":{"approvalRequests":1,)"
      R"("promptRequests":0,"selectRequests":0,"totalWaitingTimeMs":1000}},"cost":{"total":1,)"
      R"("currency":"USD","calculatedAt":"U","llm":{"total":0.5,"currency":"USD","byModel":[)"
      R"({"id":"p/m","provider":"p","model":"m","totalCost":0.5,"usage":{"inputTextTokens":2,)"
      R"("totalInputTokens":2,"totalOutputTokens":2,"totalTokens":4,"cost":0.5)"
      R"(}}]},"tools":{"total":0.5,"currency":"USD","byTool":[{"name":"t",)"
      R"("calls":1,"totalCost":0.5,"currency":"USD"}]}}})");
}

TEST(UsageCounter, ReadsTheMapsOfOlderStates) {
  const std::string totals = value_of(model::accumulate_tool(
      R"({"usage":{"tools":{"totalCalls":1,"byTool":{"t":{"calls":1,"errors":1}}}},"toolName":"t"})"));
  EXPECT_NE(totals.find(R"("byTool":[{"name":"t","calls":2,"errors":1,"totalTimeMs":0}])"),
            std::string::npos);
}

TEST(UsageCounter, RefusesWhatItCannotBook) {
  for (const char* json : {"{", "{}", R"({"provider":"p"})"}) {
    EXPECT_FALSE(model::accumulate_llm(json).ok()) << json;
  }
  EXPECT_FALSE(model::accumulate_tool("{}").ok());
  EXPECT_FALSE(model::accumulate_human(R"({"kind":"guess"})").ok());
}
