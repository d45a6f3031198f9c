#include "agent/budget.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/state.hpp"
#include "base/counts.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

std::string text_of_number(double value) {
  return Tree::number(value).to_json();
}

}  // namespace

void add_number(Tree& holder, std::string_view member, double amount) {
  holder.set(member, Tree::number(holder[member].number_or(0) + amount));
}

Tree& entry_of(Tree& list, std::string_view member, std::string_view value) {
  for (Tree& item : list.items()) {
    if (item[member].string() == value) return item;
  }
  Tree made = Tree::object();
  made.set(member, value);
  return list.push(std::move(made));
}

bool is_counted(const Tree& value) {
  const double amount = value.number_or(-1);
  return amount >= 0 && amount <= static_cast<double>(largest_count);
}

void record_price(Tree& state, std::string_view provider, std::string_view model,
                  const Tree& usage) {
  const double price = usage["cost"].number_or(0);
  if (price <= 0) return;
  Tree& cost = state.at("cost");
  Tree& llm = cost.at("llm");
  Tree* list = llm.find("byModel");
  std::string id(provider);
  id.append("/").append(model);
  Tree& entry = entry_of(list != nullptr ? *list : llm.set("byModel", Tree::array()), "id", id);
  entry.set("provider", provider);
  entry.set("model", model);
  add_number(entry, "totalCost", price);
  for (const auto& [name, value] : usage.members()) {
    if (is_counted(value)) add_number(entry.at("usage"), name, value.number_or(0));
  }
  add_number(llm, "total", price);
  add_number(cost, "total", price);
}

void record_attempts(Tree& state, const Tree& attempts, const Tree& usage) {
  for (const Tree& attempt : attempts.items()) {
    const Tree& own = attempt["usage"].is_object() ? attempt["usage"] : usage;
    mark_doubt(state, own);
    record_price(state, attempt["provider"].string(), attempt["model"].string(), own);
  }
}

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

std::optional<Errc> limit_code(std::string_view reason) {
  constexpr std::array limits{Errc::cost_limit_exceeded, Errc::token_limit_exceeded, Errc::timeout};
  const auto* found = std::find_if(limits.begin(), limits.end(),
                                   [&](Errc code) { return row_of(code).code == reason; });
  return found == limits.end() ? std::nullopt : std::optional(*found);
}

std::optional<ReachedLimit> reached_limit(const Tree& state) {
  if (auto reached = reached_tokens(state)) return reached;
  if (state["costLimit"]["onExceeded"].string() != "stop") return std::nullopt;
  auto exceeded = exceeded_cost(state);
  if (!exceeded) return std::nullopt;
  return ReachedLimit{"cost_limit_exceeded", std::move(exceeded->detail)};
}

}  // namespace millrace::agent
