#include "model/body/claude.hpp"

#include <algorithm>
#include <array>

#include "message/json_builder.hpp"
#include "model/body/fields.hpp"

namespace millrace::model {
namespace {

constexpr std::int64_t least_budget = 1024;
constexpr std::int64_t usual_limit = 8192;
constexpr std::int64_t thinking_limit = 32'000;

// The kind of thinking, whatever its budget.
std::string type_of(const Draft& draft) {
  const Reasoning& wanted = draft.payload.reasoning;
  std::string type = wanted.type;
  if (type.empty() && wanted.budget) type = *wanted.budget > 0 ? "enabled" : "disabled";
  if (type == "adaptive" && !draft.is(Trait::adaptive_thinking)) {
    draft.note("thinking", "The model does not decide itself; a budget is given.");
    return "enabled";
  }
  if (type == "enabled" && draft.is(Trait::adaptive_only)) {
    if (wanted.budget) draft.note("thinking.budget_tokens", "The model decides itself.");
    return "adaptive";
  }
  if (type == "disabled" && draft.is(Trait::always_thinks)) {
    draft.note("thinking", "The model always thinks; an effort says how much.");
    return {};
  }
  return type;
}

}  // namespace

std::int64_t claude_limit(const Draft& draft) {
  if (draft.payload.max_tokens) return *draft.payload.max_tokens;
  const std::string& type = draft.payload.reasoning->type;
  const bool thinks = type == "enabled" || type == "adaptive" || draft.payload.reasoning->budget ||
                      draft.is(Trait::always_thinks);
  return thinks ? thinking_limit : usual_limit;
}

ClaudeThinking claude_thinking(const Draft& draft, std::int64_t limit) {
  ClaudeThinking thinking{type_of(draft)};
  if (thinking.type != "enabled") return thinking;
  if (limit <= least_budget) {
    draft.note("thinking", "`max_tokens` leaves no room: at least 1024 tokens are thought.");
    return {};
  }
  const std::optional<std::int64_t>& wanted = draft.payload.reasoning->budget;
  thinking.budget = std::clamp(wanted.value_or(least_budget), least_budget, limit - 1);
  if (wanted && thinking.budget != *wanted) {
    draft.note("thinking.budget_tokens", "The budget went to the nearest the model takes.");
  }
  return thinking;
}

void write_claude_thinking(message::JsonBuilder& out, const ClaudeThinking& thinking) {
  if (thinking.type.empty()) return;
  out.open_object("thinking");
  out.text("type", thinking.type);
  if (thinking.type == "enabled") write_integer(out, "budget_tokens", thinking.budget);
  out.close_object();
}

std::string_view claude_effort(const Draft& draft) {
  const std::string& effort = draft.payload.reasoning->effort;
  if (effort.empty()) return {};
  if (draft.is(Trait::no_effort)) {
    draft.note("effort", "The model takes no effort: `thinking` has a budget instead.");
    return {};
  }
  constexpr std::array<std::string_view, 5> efforts{"low", "medium", "high", "xhigh", "max"};
  if (std::find(efforts.begin(), efforts.end(), effort) != efforts.end()) return effort;
  draft.note("effort", "The API begins at `low`.");
  return {};
}

}  // namespace millrace::model
