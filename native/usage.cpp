// What calls used and cost: readers of usage, price cards and the books of a run, as JSON text.
#include <array>

#include "arguments.hpp"
#include "base/token_estimate.hpp"
#include "exports.hpp"
#include "guard.hpp"
#include "model/usage/cards.hpp"
#include "model/usage/cost.hpp"
#include "model/usage/media_cost.hpp"
#include "model/usage/usage.hpp"
#include "model/usage/usage_counter.hpp"

namespace millrace::native {
namespace {

// The text arguments of a call; a missing one is an error.
template <std::size_t count>
Result<std::array<std::string, count>> texts(const Napi::CallbackInfo& info) {
  std::array<std::string, count> result;
  for (std::size_t index = 0; index < count; ++index) {
    auto text = text_at(info, index);
    if (!text) return std::move(text).error();
    result[index] = std::move(text).value();
  }
  return result;
}

Napi::Value text_or_error(Napi::Env env, const Result<std::string>& result) {
  return result ? to_text(env, result.value()) : raise(env, result.error());
}

// modelUsage(provider, reportedJson) -> JSON text of a ModelUsage
Napi::Value model_usage(const Napi::CallbackInfo& info) {
  const auto arguments = texts<2>(info);
  if (!arguments) return raise(info.Env(), arguments.error());
  const auto& [provider, reported] = arguments.value();
  json::Document document;
  const auto value = document.parse(reported);
  if (!value) return raise(info.Env(), value.error());
  std::string out;
  model::write_json(out, model::read_raw_usage(provider, value.value()));
  return to_text(info.Env(), out);
}

// mediaCost(cardJson, workJson) -> JSON text, "" when the cost cannot be known
Napi::Value media_cost(const Napi::CallbackInfo& info) {
  const auto arguments = texts<2>(info);
  if (!arguments) return raise(info.Env(), arguments.error());
  std::array<json::Document, 2> documents;
  const auto first = documents[0].parse(arguments.value()[0]);
  if (!first) return raise(info.Env(), first.error());
  const auto second = documents[1].parse(arguments.value()[1]);
  if (!second) return raise(info.Env(), second.error());
  const auto card = model::read_price_card(first.value());
  if (!card) return raise(info.Env(), card.error());
  const auto work = model::read_media_work(second.value());
  if (!work) return raise(info.Env(), work.error());
  const auto cost = model::compute_media_cost(card.value(), work.value());
  return to_text(info.Env(), cost ? model::media_cost_json(*cost) : std::string());
}

// chatCost(cardJson, usageJson, optionsJson) -> JSON text, "" when the cost cannot be known
Napi::Value chat_cost(const Napi::CallbackInfo& info) {
  const auto arguments = texts<3>(info);
  if (!arguments) return raise(info.Env(), arguments.error());
  std::array<json::Document, 3> documents;
  std::array<json::Value, 3> values;
  for (std::size_t index = 0; index < values.size(); ++index) {
    const auto value = documents[index].parse(arguments.value()[index]);
    if (!value) return raise(info.Env(), value.error());
    values[index] = value.value();
  }
  const auto card = model::read_price_card(values[0]);
  if (!card) return raise(info.Env(), card.error());
  const auto cost = model::compute_chat_cost(card.value(), model::read_usage(values[1]),
                                             model::read_cost_options(values[2]));
  if (!cost) return raise(info.Env(), cost.error());
  return to_text(info.Env(), cost.value() ? model::cost_json(*cost.value()) : "");
}

// knownCost(provider, model, usageJson) -> US dollars | undefined
Napi::Value known_cost(const Napi::CallbackInfo& info) {
  const auto arguments = texts<3>(info);
  if (!arguments) return raise(info.Env(), arguments.error());
  const auto& [provider, name, usage] = arguments.value();
  json::Document document;
  const auto value = document.parse(usage);
  if (!value) return raise(info.Env(), value.error());
  const auto cost = model::known_cost(provider, name, model::read_usage(value.value()));
  if (!cost) return info.Env().Undefined();
  return Napi::Number::New(info.Env(), *cost);
}

// modelCards() -> JSON text of all cards
Napi::Value model_cards(const Napi::CallbackInfo& info) {
  std::string out = "[";
  for (const model::ModelCard& card : model::model_cards()) {
    if (out.size() > 1) out.push_back(',');
    out.append(model::card_json(card));
  }
  return to_text(info.Env(), out + "]");
}

// modelCard(provider, model) -> JSON text, "" when there is none
Napi::Value model_card(const Napi::CallbackInfo& info) {
  const auto arguments = texts<2>(info);
  if (!arguments) return raise(info.Env(), arguments.error());
  const model::ModelCard* card = model::find_card(arguments.value()[0], arguments.value()[1]);
  return to_text(info.Env(), card == nullptr ? "" : model::card_json(*card));
}

// estimateTokens(text, model) -> number
Napi::Value estimate_tokens(const Napi::CallbackInfo& info) {
  const auto arguments = texts<2>(info);
  if (!arguments) return raise(info.Env(), arguments.error());
  const auto tokens = millrace::estimate_tokens(arguments.value()[0], arguments.value()[1]);
  return Napi::Number::New(info.Env(), static_cast<double>(tokens));
}

// countLLM(json), countTool(json), countHuman(json) -> JSON text of usage and cost
template <Result<std::string> (*accumulate)(std::string_view)>
Napi::Value count(const Napi::CallbackInfo& info) {
  const auto json = text_at(info, 0);
  if (!json) return raise(info.Env(), json.error());
  return text_or_error(info.Env(), accumulate(json.value()));
}

}  // namespace

void export_usage(Napi::Env env, Napi::Object exports) {
  set_function<model_usage>(env, exports, "modelUsage");
  set_function<chat_cost>(env, exports, "chatCost");
  set_function<media_cost>(env, exports, "mediaCost");
  set_function<known_cost>(env, exports, "knownCost");
  set_function<model_cards>(env, exports, "modelCards");
  set_function<model_card>(env, exports, "modelCard");
  set_function<estimate_tokens>(env, exports, "estimateTokens");
  set_function<count<model::accumulate_llm>>(env, exports, "countLLM");
  set_function<count<model::accumulate_tool>>(env, exports, "countTool");
  set_function<count<model::accumulate_human>>(env, exports, "countHuman");
}

}  // namespace millrace::native
