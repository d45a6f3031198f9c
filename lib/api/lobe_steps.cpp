#include "api/lobe_steps.hpp"

#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "api/lobe_watch.hpp"
#include "base/utf8.hpp"

namespace millrace::api {
namespace {

using json::Tree;

// Units: bytes. Of a text that is only there to show what was written last.
constexpr std::size_t most_shown = 1800;

std::string shortened(std::string_view text) {
  if (text.size() <= most_shown) return std::string(text);
  std::string_view cut = text.substr(0, most_shown);
  cut.remove_suffix(utf8::unfinished_tail(cut));
  return std::string(cut) + "...";
}

void set_filled(Tree& to, std::string_view name, const Tree& value) {
  if (!value.is_null()) to.set(name, value);
}

// Sums of prices have digits behind those that anything costs.
double price(double value) {
  constexpr double parts = 1e9;
  return std::round(value * parts) / parts;
}

}  // namespace

void LobeSteps::take(const encoder::OperationEvent& event) {
  if (event.type == "step_start") return begin_step();
  if (event.type == "stream_end") return take_answer(parsed_json(event.data));
  if (event.type == "tool_end") return take_result(parsed_json(event.data));
  if (event.type == "step_complete") return end_step(parsed_json(event.data));
  if (event.type == "error") error_type_ = parsed_json(event.data)["errorType"].string();
}

void LobeSteps::begin_step() {
  const Tree& content = step_["content"];
  if (!content.string().empty()) last_content_ = shortened(content.string());
  if (!step_["toolsCalling"].is_null()) last_calls_ = step_["toolsCalling"];
  step_ = Tree::object();
}

void LobeSteps::take_answer(const Tree& data) {
  step_.set("content", data["finalContent"]);
  for (const std::string_view member : {"reasoning", "toolsCalling"}) {
    set_filled(step_, member, data[member]);
  }
  tool_calls_ += static_cast<std::int64_t>(data["toolsCalling"].items().size());
}

void LobeSteps::take_result(const Tree& data) {
  const Tree& call = data["payload"]["toolCalling"];
  const Tree& content = data["result"]["content"];
  Tree result = Tree::object();
  for (const std::string_view member : {"id", "identifier", "apiName"}) {
    result.set(member, call[member]);
  }
  result.set("isSuccess", data["isSuccess"]);
  result.set("output", content.is_string() || content.is_null() ? std::string(content.string())
                                                                : content.to_json());
  result.set("executionTimeMs", data["executionTime"]);
  if (step_["toolsResult"].is_null()) step_.set("toolsResult", Tree::array());
  step_.at("toolsResult").push(std::move(result));
}

void LobeSteps::end_step(const Tree& data) {
  cost_ = total_cost_;
  total_cost_ = data["finalState"]["cost"]["total"].number_or(total_cost_);
}

void LobeSteps::write(Tree& payload, const encoder::OperationEvent& event, const Tree& data,
                      std::int64_t began_ms) const {
  for (const auto& [name, value] : step_.members()) payload.set(name.view(), value);
  const Tree& state = data["finalState"];
  const Tree& tokens = state["usage"]["llm"]["tokens"];
  const bool is_model = data["stepType"].string() == "call_llm";
  set_filled(payload, "executionTimeMs", data["executionTime"]);
  payload.set("elapsedMs", Tree::integer(event.at_ms - began_ms));
  payload.set("thinking", Tree::flag(is_model));
  if (!last_content_.empty()) payload.set("lastLLMContent", last_content_);
  set_filled(payload, "lastToolsCalling", last_calls_);
  if (is_model) payload.set("stepCost", Tree::number(price(total_cost_ - cost_)));
  set_filled(payload, "totalCost", state["cost"]["total"]);
  set_filled(payload, "totalInputTokens", tokens["input"]);
  set_filled(payload, "totalOutputTokens", tokens["output"]);
  set_filled(payload, "totalSteps", state["stepCount"]);
  payload.set("totalToolCalls", Tree::integer(tool_calls_));
}

}  // namespace millrace::api
