#include "model/payload/payload_reasoning.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "model/payload/payload_tools.hpp"
#include "model/provider/families.hpp"

namespace millrace::model {
namespace {

Result<void> read_effort(const json::Value& root, Reasoning& out) {
  struct Place {
    std::string_view name;
    json::Value value;
  };
  for (const auto& [name, value] :
       {Place{"reasoning_effort", root["reasoning_effort"]}, Place{"effort", root["effort"]},
        Place{"reasoning.effort", root["reasoning"]["effort"]},
        Place{"thinking.effort", root["thinking"]["effort"]},
        Place{"thinkingLevel", root["thinkingLevel"]}}) {
    const std::string_view level = value.string();
    // Groq's word for what Qwen does by default.
    if (value.is_nothing() || level == "default") continue;
    if (std::find(effort_names.begin(), effort_names.end(), level) == effort_names.end()) {
      return invalid_member(name, "must be none, minimal, low, medium, high, xhigh, max or default",
                            value);
    }
    if (!out.effort.empty() && out.effort != level) {
      return invalid_member(name, "differs from another effort of the same payload (" + out.effort +
                                      "); give one of them");
    }
    out.effort = level;
  }
  return {};
}

}  // namespace

Result<void> read_reasoning(const json::Value& root, Reasoning& out) {
  MILLRACE_TRY(read_effort(root, out));
  const json::Value thinking = root["thinking"];
  if (const auto type = thinking["type"].filled_string()) {
    constexpr std::array<std::string_view, 5> types{"enabled", "disabled", "adaptive", "auto",
                                                    "between_tools"};
    if (std::find(types.begin(), types.end(), *type) == types.end()) {
      return invalid_member(
          "thinking.type",
          R"(must be "enabled", "disabled", "adaptive", "auto" or "between_tools")",
          thinking["type"]);
    }
    // Volcengine's word for it.
    out.type = *type == "auto" ? "adaptive" : *type;
  }
  out.display = thinking["display"].string();
  if (const json::Value binding = thinking["block_binding"]; binding.is_object()) {
    out.block_binding = binding.to_json();
  }
  out.budget = thinking["budget_tokens"].integer();
  // Cohere's name of it.
  if (const auto budget = thinking["token_budget"].integer()) out.budget = budget;
  if (const json::Value clear = thinking["clear_thinking"]; !clear.is_nothing()) {
    out.clear_thinking = clear.truthy();
  } else if (root["preserveThinking"].is(json::Type::boolean_false)) {
    // LobeHub's word for it; true says besides that reasoning goes back as text.
    out.clear_thinking = true;
    out.drops_earlier = true;
  }
  constexpr std::array<std::string_view, 7> members{
      "type",    "budget_tokens", "token_budget", "clear_thinking",
      "display", "block_binding", "effort"};
  for (const auto& [key, value] : thinking.members()) {
    const bool is_known = std::find(members.begin(), members.end(), key) != members.end();
    if (!is_known && !value.is_null()) out.left_out.emplace_back(key);
  }
  if (const auto budget = root["thinkingBudget"].integer()) out.budget = budget;
  out.summary = root["reasoning"]["summary"].string();
  out.mode = root["reasoning"]["mode"].string();
  constexpr std::array<std::string_view, 3> fields{"effort", "summary", "mode"};
  for (const auto& [key, value] : root["reasoning"].members()) {
    const bool is_field =
        std::find(fields.begin(), fields.end(), std::string_view(key)) != fields.end();
    if (!is_field && !value.is_null()) out.extra.emplace_back(key, value.to_json());
  }
  if (out.type == "disabled") out.budget.reset();
  return {};
}

}  // namespace millrace::model
