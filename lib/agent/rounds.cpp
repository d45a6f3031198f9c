#include "agent/rounds.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/state.hpp"
#include "agent/tokens.hpp"
#include "base/shown.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

Tree end_of_rounds(std::string_view reason) {
  Tree made = typed("finish");
  made.set("reason", reason);
  return made;
}

Tree next_round(const Tree& state, const Tree& given) {
  Tree made = typed("call_llm");
  Tree& payload = made.at("payload");
  payload.set("messages", state["messages"]);
  payload.set("tools", Tree::flag(true));
  if (!given["parentMessageId"].is_null()) {
    payload.set("parentMessageId", given["parentMessageId"]);
  }
  return made;
}

Tree round_calls(std::string_view type, const Tree& given) {
  Tree made = typed(type);
  Tree& payload = made.at("payload");
  payload.set("toolsCalling", given["toolsCalling"]);
  if (!given["parentMessageId"].is_null()) {
    payload.set("parentMessageId", given["parentMessageId"]);
  }
  return made;
}

Tree after_turn(const Tree& state, const Tree& given, const RoundRules& rules) {
  const auto& calls = given["toolsCalling"].items();
  if (calls.empty()) {
    const bool repeats = state["toolCallRepeatGuard"]["stoppedByRepeatLimit"].truthy();
    return end_of_rounds(repeats ? "tool_call_repeat_limit" : "completed");
  }
  const bool silent = std::any_of(calls.begin(), calls.end(), [&](const Tree& call) {
    return call["apiName"].string() == rules.silent_tool;
  });
  if (calls.size() == 1 || rules.silent_tool.empty() || !silent) {
    return round_calls("call_tools_batch", given);
  }
  Tree made = round_calls("resolve_blocked_tools", given);
  made.at("payload").set("blockedReason", "silent_conflict");
  made.at("payload").set("blockedContent", rules.silent_conflict);
  return made;
}

bool chose_silence(const Tree& given, const RoundRules& rules) {
  const auto& results = given["toolResults"].items();
  if (results.size() != 1 || rules.silent_tool.empty()) return false;
  const Tree& only = results.front();
  return only["toolCall"]["apiName"].string() == rules.silent_tool && only["isSuccess"].is_true() &&
         only["data"].string() == rules.silent_result;
}

Tree after_tools(const Tree& state, const Tree& given, const RoundRules& rules) {
  if (chose_silence(given, rules)) return end_of_rounds("silent");
  if (state["modelTurns"].integer_or(0) >= rules.most) return end_of_rounds("max_iterations");
  return next_round(state, given);
}

}  // namespace

Result<RoundRules> RoundRules::from(const Tree& rules) {
  RoundRules made;
  made.most = rules["most"].integer_or(0);
  if (made.most < 1) {
    return make_error(Errc::invalid_option,
                      "`rounds.most` of the agent must be a whole number of at least 1, not " +
                          shown_value(rules["most"]) + ".");
  }
  made.most_tokens = rules["mostTokens"].integer_or(0);
  made.silent_tool = rules["silence"]["tool"].string();
  made.silent_result = rules["silence"]["result"].string();
  made.silent_conflict = rules["silence"]["conflict"].string();
  made.unknown_tool = rules["unknownTool"].string();
  made.failed_tool = rules["failedTool"].string();
  return made;
}

Tree decide_round(const Tree& state, const Tree& context, const RoundRules& rules) {
  const std::string_view phase = context["phase"].string();
  const Tree& given = context["payload"];
  if (phase == "llm_result") return after_turn(state, given, rules);
  if (phase == "tools_batch_result") return after_tools(state, given, rules);
  return next_round(state, given);
}

std::string reported_failure(const Tree& error, const RoundRules& rules) {
  if (error["type"].string() == row_of(Errc::tool_not_found).code) return rules.unknown_tool;
  return rules.failed_tool + std::string(error["message"].string());
}

Result<void> check_room(const Tree& messages, const Tree& tools, const RoundRules& rules) {
  if (rules.most_tokens <= 0) return {};
  const std::int64_t tokens = estimate_context_tokens(messages, tools);
  if (tokens <= rules.most_tokens) return {};
  return make_error(Errc::context_window_exceeded,
                    "The conversation has about " + std::to_string(tokens) + " tokens; " +
                        std::to_string(rules.most_tokens) + " are allowed. Shorten it.");
}

}  // namespace millrace::agent
