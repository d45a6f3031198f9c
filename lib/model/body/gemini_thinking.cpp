#include "model/body/gemini_thinking.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "model/body/fields.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;

bool is_off(const Reasoning& reasoning) {
  return is_disabled(reasoning) || reasoning.budget == 0;
}

std::string_view level_of(const Draft& draft, const Reasoning& reasoning) {
  const std::string_view effort = reasoning.effort;
  const std::string_view lowest = draft.is(Trait::no_minimal_level) ? "low" : "minimal";
  if (is_off(reasoning)) {
    draft.note("thinkingLevel", "The model always thinks; the lowest level was taken.");
    return lowest;
  }
  if (effort == "minimal" && effort != lowest) {
    draft.note("thinkingLevel", "The model does not know this level; the nearest was taken.");
    return lowest;
  }
  if (effort == "xhigh" || effort == "max") {
    draft.note("thinkingLevel", "The model does not know this level; the nearest was taken.");
    return "high";
  }
  return effort;
}

// The budgets that a model of Gemini 2.5 takes beside 0 and -1.
// Source: Gemini API, Thinking (2026-11).
struct Budgets {
  std::int64_t least;
  std::int64_t most;
};

Budgets budgets_of(const Draft& draft) {
  if (draft.is(Trait::always_thinking)) return {128, 32'768};
  if (draft.is(Trait::thinking_off_by_default)) return {512, 24'576};
  return {1, 24'576};
}

std::int64_t taken_budget(const Draft& draft, std::int64_t wanted) {
  if (wanted < 0) return wanted;  // the model decides
  const Budgets budgets = budgets_of(draft);
  const std::int64_t taken = std::clamp(wanted, budgets.least, budgets.most);
  if (taken != wanted) {
    draft.note("thinkingBudget", "The budget went to the nearest the model takes.");
  }
  return taken;
}

// Gemini 2.5 has no levels: an effort becomes a budget. Gemini 3 still takes budgets.
std::optional<std::int64_t> budget_of(const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  const bool by_budget = draft.is(Trait::thinking_budget);
  if (is_off(reasoning)) {
    if (!draft.is(Trait::always_thinking)) return 0;
    draft.note("thinking", "The model always thinks; the least budget was taken.");
    return budgets_of(draft).least;
  }
  if (reasoning.budget)
    return by_budget ? taken_budget(draft, *reasoning.budget) : reasoning.budget;
  struct Level {
    std::string_view effort;
    std::int64_t budget;
  };
  constexpr std::array levels{Level{"minimal", 512}, Level{"low", 1024},     Level{"medium", 8192},
                              Level{"high", 24'576}, Level{"xhigh", 24'576}, Level{"max", 24'576}};
  for (const Level& level : levels) {
    if (level.effort == reasoning.effort) return level.budget;
  }
  // -1 leaves it to the model; one that does not think by default needs a budget.
  const bool is_on = reasoning.type == "enabled" && draft.is(Trait::thinking_off_by_default);
  if (reasoning.type == "adaptive" || is_on) return -1;
  return std::nullopt;
}

// What is sent where the payload asks for nothing: reasoning is only sent when it is requested.
void write_usual_thinking(JsonBuilder& out, const Draft& draft) {
  if (draft.is(Trait::level_on_request) || !extra_of(draft.payload, "thinkingConfig").empty()) {
    return;
  }
  out.raw("thinkingConfig", draft.is(Trait::thinking_off_by_default)
                                ? R"({"thinkingBudget":0})"
                                : R"({"includeThoughts":true})");
}

}  // namespace

void write_gemini_thinking(JsonBuilder& out, const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  const bool on_request = draft.is(Trait::level_on_request);
  const bool by_level = draft.is(Trait::thinking_level) || on_request;
  if (!by_level && !draft.is(Trait::thinking_budget)) {
    if (!reasoning.empty()) draft.note("thinking", "The model has no such setting.");
    return;
  }
  if (reasoning.empty()) return write_usual_thinking(out, draft);
  // For a model that cannot stop thinking, a budget of 0 asks for the lowest level.
  const bool is_without = is_disabled(reasoning) || (!on_request && is_off(reasoning));
  const bool has_level = !reasoning.effort.empty() || is_without;
  if (on_request && !has_level) {
    return draft.note("thinking", "The model takes a level: set `reasoning_effort`.");
  }
  out.open_object("thinkingConfig");
  if (by_level && has_level) {
    out.flag("includeThoughts", !is_off(reasoning));
    out.text("thinkingLevel", level_of(draft, reasoning));
    if (!is_off(reasoning) && reasoning.budget) {
      draft.note("thinkingBudget", "The level is sent instead: the model takes one of them.");
    }
  } else {
    const std::optional<std::int64_t> budget = budget_of(draft);
    if (!is_off(reasoning) && reasoning.budget && !reasoning.effort.empty()) {
      draft.note("reasoning_effort", "The budget is sent instead: the model takes one of them.");
    }
    out.flag("includeThoughts", !is_disabled(reasoning) && budget != 0);
    write_integer(out, "thinkingBudget", budget);
  }
  out.close_object();
}

}  // namespace millrace::model
