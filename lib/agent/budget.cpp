#include "agent/budget.hpp"

#include <array>
#include <utility>

namespace millrace::agent {

using json::Tree;

namespace {

std::string text_of_number(double value) {
  return Tree::number(value).to_json();
}

}  // namespace

std::optional<ReachedLimit> reached_tokens(const Tree& state) {
  const double most = state["limits"]["maxTokens"].number_or(0);
  const double used = state["usage"]["llm"]["tokens"]["total"].number_or(0);
  if (most <= 0 || used < most) return std::nullopt;
  return ReachedLimit{"token_limit_exceeded", "Token limit exceeded: " + text_of_number(used) +
                                                  " of " + text_of_number(most)};
}

std::optional<ExceededCost> exceeded_cost(const Tree& state) {
  const Tree& limit = state["costLimit"];
  if (!limit.is_object()) return std::nullopt;
  struct Row {
    std::string_view member;
    double spent;
  };
  const Tree& cost = state["cost"];
  const std::array rows{Row{"maxTotalCost", cost["total"].number_or(0)},
                        Row{"maxLlmCost", cost["llm"]["total"].number_or(0)},
                        Row{"maxToolCost", cost["tools"]["total"].number_or(0)}};
  for (const Row& row : rows) {
    const Tree& most = limit[row.member];
    if (!most.is_number() || row.spent <= most.number_or(0)) continue;
    const std::string currency(limit["currency"].is_string() ? limit["currency"].string() : "USD");
    std::string detail = "Cost limit exceeded: ";
    detail.append(text_of_number(row.spent)).append(" ").append(currency);
    detail.append(" of ").append(most.to_json()).append(" ").append(currency);
    return ExceededCost{row.spent, most, std::move(detail)};
  }
  return std::nullopt;
}

std::optional<ReachedLimit> reached_limit(const Tree& state) {
  if (auto reached = reached_tokens(state)) return reached;
  if (state["costLimit"]["onExceeded"].string() != "stop") return std::nullopt;
  auto exceeded = exceeded_cost(state);
  if (!exceeded) return std::nullopt;
  return ReachedLimit{"cost_limit_exceeded", std::move(exceeded->detail)};
}

}  // namespace millrace::agent
