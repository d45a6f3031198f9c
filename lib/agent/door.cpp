#include "agent/door.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "agent/approval/blacklist.hpp"
#include "agent/approval/waiting.hpp"
#include "agent/context.hpp"
#include "agent/decision.hpp"
#include "agent/general_agent.hpp"
#include "agent/group.hpp"
#include "agent/history.hpp"
#include "agent/provider_rows.hpp"
#include "agent/state.hpp"
#include "agent/tokens.hpp"
#include "base/json_depth.hpp"
#include "base/token_estimate.hpp"
#include "schema/schema.hpp"

namespace millrace::agent {
namespace {

using json::Tree;
using Answer = Result<Tree>;

Answer on_match_pattern(const Tree& question, const Surroundings&) {
  return Tree::flag(match_pattern(question["pattern"].string(), question["value"].string()));
}

Answer on_matches_argument(const Tree& question, const Surroundings& around) {
  return Tree::flag(matches_argument(question["matcher"], question["value"], around.regex));
}

Answer on_check_blacklist(const Tree& question, const Surroundings& around) {
  const auto hit = check_blacklist(question["blacklist"], question["args"], around.regex);
  Tree result = Tree::object();
  result.set("blocked", Tree::flag(hit.has_value()));
  if (hit) {
    result.set("reason", hit->reason);
    result.set("policy", hit->hard ? "always" : "required");
  }
  return result;
}

Answer on_should_intervene(const Tree& question, const Surroundings& around) {
  return Tree::text(
      should_intervene(question["config"], question["blacklist"], question["args"], around.regex));
}

Answer on_default_blacklist(const Tree&, const Surroundings&) {
  return Tree::parse(default_blacklist_json());
}

Answer on_hash_arguments(const Tree& question, const Surroundings&) {
  return Tree::text(hash_arguments(question["args"]));
}

Answer on_approval_hash(const Tree& question, const Surroundings&) {
  return Tree::text(approval_hash(question["identifier"].string(), question["apiName"].string(),
                                  question["arguments"].string()));
}

Answer on_initial_state(const Tree& question, const Surroundings& around) {
  return initial_state(question["partial"], around.now_ms);
}

Answer on_load_state(const Tree& question, const Surroundings& around) {
  return load_state(question["state"], Tree(), around.now_ms);
}

Answer on_default_usage(const Tree&, const Surroundings&) {
  return default_usage();
}

Answer on_default_cost(const Tree&, const Surroundings& around) {
  return default_cost(around.now_ms);
}

Answer on_decide(const Tree& question, const Surroundings& around) {
  return decide(question["state"], question["context"], question["config"], question["answers"],
                around.regex);
}

Answer on_check_compression(const Tree& question, const Surroundings&) {
  const Tree& options = question["options"];
  const CompressionCheck check = check_compression(question["messages"], options["tools"], options);
  Tree result = Tree::object();
  result.set("currentTokenCount", Tree::integer(check.tokens));
  result.set("needsCompression", Tree::flag(check.needed));
  result.set("threshold", Tree::integer(check.threshold));
  return result;
}

Answer on_estimate_tokens(const Tree& question, const Surroundings&) {
  return Tree::integer(estimate_tokens(question["text"].string()));
}

Answer on_apply_decision(const Tree& question, const Surroundings& around) {
  return apply_decision(question["state"], question["decision"], around.now_ms, around.ids);
}

Answer on_waiting_status(const Tree& question, const Surroundings&) {
  Tree state = question["state"];
  const auto status = resumed_status(state);
  return Tree::text(status ? name_of(*status) : "");
}

Answer on_decide_group(const Tree& question, const Surroundings&) {
  return decide_group(question["config"], question["memory"], question["result"]);
}

Answer on_repair_rows(const Tree& question, const Surroundings& around) {
  return repair_rows(question["messages"], around.ids);
}

Answer on_trim_rows(const Tree& question, const Surroundings&) {
  const auto most = question["most"].integer_or(0);
  return trim_rows(question["messages"], most > 0 ? static_cast<std::size_t>(most) : 0);
}

// The violations as text, "" when the value follows the schema.
Answer on_check_schema(const Tree& question, const Surroundings&) {
  const auto schema = schema::Schema::compile(question["schema"].to_json());
  if (!schema) return schema.error();
  json::Document document(json::data_depth_limit);
  const auto value = document.parse(question["value"].to_json());
  if (!value) return value.error();
  const auto violations = schema.value().validate(value.value());
  if (!violations) return violations.error();
  return Tree::text(schema::describe(violations.value()));
}

Answer on_truncate_turns(const Tree& question, const Surroundings&) {
  return truncate_turns(question["messages"], question["maxTokens"].integer_or(0));
}

Answer on_build_context(const Tree& question, const Surroundings& around) {
  return build_context(question, around.ids);
}

struct Function {
  std::string_view name;
  Answer (*handler)(const Tree& question, const Surroundings& around);
};

constexpr std::array functions{Function{"matchPattern", on_match_pattern},
                               Function{"matchesArgument", on_matches_argument},
                               Function{"checkBlacklist", on_check_blacklist},
                               Function{"shouldIntervene", on_should_intervene},
                               Function{"defaultBlacklist", on_default_blacklist},
                               Function{"hashArguments", on_hash_arguments},
                               Function{"approvalHash", on_approval_hash},
                               Function{"initialState", on_initial_state},
                               Function{"loadState", on_load_state},
                               Function{"defaultUsage", on_default_usage},
                               Function{"defaultCost", on_default_cost},
                               Function{"decide", on_decide},
                               Function{"checkCompression", on_check_compression},
                               Function{"estimateTokens", on_estimate_tokens},
                               Function{"applyDecision", on_apply_decision},
                               Function{"waitingStatus", on_waiting_status},
                               Function{"decideGroup", on_decide_group},
                               Function{"repairRows", on_repair_rows},
                               Function{"trimRows", on_trim_rows},
                               Function{"checkSchema", on_check_schema},
                               Function{"truncateTurns", on_truncate_turns},
                               Function{"buildContext", on_build_context}};

}  // namespace

Result<Tree> answer(std::string_view name, const Tree& question, const Surroundings& around) {
  const auto* row = std::find_if(functions.begin(), functions.end(),
                                 [&](const Function& r) { return r.name == name; });
  if (row == functions.end()) {
    return make_error(Errc::invalid_argument,
                      "There is no agent function '" + std::string(name) +
                          "'; use the addon and the JavaScript of one version.");
  }
  return row->handler(question, around);
}

}  // namespace millrace::agent
