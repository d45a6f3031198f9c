#include "run/durable/ledger_rows.hpp"

#include <algorithm>
#include <array>

#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "base/shown.hpp"

namespace millrace::run {

using json::Tree;

namespace {

constexpr std::string_view unknown_code = "tool_outcome_unknown";

}  // namespace

journal::Effect effect_of(const CallIntent& call) {
  if (call.is_agent) return journal::Effect::once;
  static constexpr std::array effects{journal::Effect::read, journal::Effect::idempotent,
                                      journal::Effect::keyed, journal::Effect::once};
  return effects.at(static_cast<std::size_t>(call.effect));
}

// Their numbers grow with what they allow.
journal::Effect stricter(journal::Effect one, journal::Effect other) {
  return std::min(one, other);
}

journal::CallState state_of(const tool::ToolOutcome& outcome) {
  if (!outcome.is_error) return journal::CallState::ok;
  if (outcome.code == unknown_code) return journal::CallState::unknown;
  const bool is_cancelled = outcome.code == row_of(Errc::cancelled).code;
  return is_cancelled ? journal::CallState::cancelled : journal::CallState::error;
}

std::string result_json(const tool::ToolOutcome& outcome) {
  Tree result = Tree::object();
  result.set("content", outcome.content);
  if (outcome.is_error) result.set("isError", Tree::flag(true));
  if (!outcome.code.empty()) result.set("code", outcome.code);
  if (!outcome.details.empty())
    tool::set_details(result.set("details", Tree::object()), outcome.details);
  return result.to_json();
}

tool::ToolOutcome outcome_of(const store::CallRow& row) {
  tool::ToolOutcome outcome;
  const auto parsed = Tree::parse(row.result);
  if (!parsed) return unknown_outcome(row.name);
  const Tree& result = parsed.value();
  outcome.content = result["content"].string();
  outcome.is_error = result["isError"].truthy();
  outcome.code = result["code"].string();
  outcome.details = tool::read_details(result["details"]);
  return outcome;
}

tool::ToolOutcome unknown_outcome(std::string_view name) {
  return {"The process ended while " + shown_text(name) +
              " was at work. Whether the call had an effect is unknown; it was not repeated.",
          true, std::string(unknown_code)};
}

}  // namespace millrace::run
