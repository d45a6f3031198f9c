#include "agent/gate.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "agent/approval/blacklist.hpp"
#include "agent/approval/waiting.hpp"
#include "agent/context.hpp"
#include "agent/decision.hpp"
#include "agent/first_context.hpp"
#include "agent/general_agent.hpp"
#include "agent/group.hpp"
#include "agent/history.hpp"
#include "agent/listed_parts.hpp"
#include "agent/provider_rows.hpp"
#include "agent/state.hpp"
#include "agent/tokens.hpp"
#include "base/json_depth.hpp"
#include "base/json_repair.hpp"
#include "base/token_estimate.hpp"
#include "message/vendor_tool.hpp"
#include "schema/schema.hpp"

namespace millrace::agent {
namespace {

using json::Tree;
using Answer = Result<Tree>;

Answer on_match_pattern(const Tree& query, const Surroundings&) {
  return Tree::flag(match_pattern(query["pattern"].string(), query["value"].string()));
}

Answer on_matches_argument(const Tree& query, const Surroundings& around) {
  return Tree::flag(matches_argument(query["matcher"], query["value"], around.regex));
}

Answer on_check_blacklist(const Tree& query, const Surroundings& around) {
  const auto hit = check_blacklist(query["blacklist"], query["args"], around.regex);
  Tree result = Tree::object();
  result.set("blocked", Tree::flag(hit.has_value()));
  if (hit) {
    result.set("reason", hit->reason);
    result.set("policy", hit->hard ? "always" : "required");
  }
  return result;
}

Answer on_should_intervene(const Tree& query, const Surroundings& around) {
  return Tree::text(
      should_intervene(query["config"], query["blacklist"], query["args"], around.regex));
}

Answer on_default_blacklist(const Tree&, const Surroundings&) {
  return Tree::parse(default_blacklist_json());
}

Answer on_hash_arguments(const Tree& query, const Surroundings&) {
  return Tree::text(hash_arguments(query["args"]));
}

// The object that arguments mean which are nearly JSON; null for others.
Answer on_repair_arguments(const Tree& query, const Surroundings&) {
  const auto repaired = json::repair_object(query["text"].string());
  return repaired ? Tree::parse(repaired->json) : Answer(Tree());
}

Answer on_approval_hash(const Tree& query, const Surroundings&) {
  return Tree::text(approval_hash(query["identifier"].string(), query["apiName"].string(),
                                  query["arguments"].string()));
}

Answer on_initial_state(const Tree& query, const Surroundings& around) {
  return initial_state(query["partial"], around.now_ms);
}

Answer on_load_state(const Tree& query, const Surroundings& around) {
  return load_state(query["state"], Tree(), around.now_ms);
}

Answer on_default_usage(const Tree&, const Surroundings&) {
  return default_usage();
}

Answer on_default_cost(const Tree&, const Surroundings& around) {
  return default_cost(around.now_ms);
}

Answer on_decide(const Tree& query, const Surroundings& around) {
  return decide(query["state"], query["context"], query["config"], query["answers"], around.regex);
}

Answer on_check_compression(const Tree& query, const Surroundings&) {
  const Tree& options = query["options"];
  const CompressionCheck check = check_compression(query["messages"], options["tools"], options);
  Tree result = Tree::object();
  result.set("currentTokenCount", Tree::integer(check.tokens));
  result.set("needsCompression", Tree::flag(check.needed));
  result.set("threshold", Tree::integer(check.threshold));
  return result;
}

Answer on_estimate_tokens(const Tree& query, const Surroundings&) {
  return Tree::integer(estimate_tokens(query["text"].string()));
}

Answer on_apply_decision(const Tree& query, const Surroundings& around) {
  return apply_decision(query["state"], query["decision"], around.now_ms, around.ids);
}

Answer on_waiting_status(const Tree& query, const Surroundings&) {
  Tree state = query["state"];
  const auto status = resumed_status(state);
  return Tree::text(status ? name_of(*status) : "");
}

Answer on_first_context(const Tree& query, const Surroundings&) {
  const Tree& state = query["state"];
  FirstContext first = first_context(state);
  Tree context = Tree::object();
  context.set("phase", first.phase);
  if (!first.payload.is_null()) context.set("payload", std::move(first.payload));
  context.set("session", session_of(state));
  return context;
}

Answer on_decide_group(const Tree& query, const Surroundings&) {
  return decide_group(query["config"], query["memory"], query["result"]);
}

Answer on_repair_messages(const Tree& query, const Surroundings& around) {
  return repair_messages(query["messages"], around.ids);
}

Answer on_trim_messages(const Tree& query, const Surroundings&) {
  const auto most = query["most"].integer_or(0);
  return trim_messages(query["messages"], most > 0 ? static_cast<std::size_t>(most) : 0);
}

// The violations as text, "" when the value follows the schema.
Answer on_check_schema(const Tree& query, const Surroundings&) {
  const auto schema = schema::Schema::compile(query["schema"].to_json());
  if (!schema) return schema.error();
  json::Document document(json::data_depth_limit);
  const auto value = document.parse(query["value"].to_json());
  if (!value) return value.error();
  const auto violations = schema.value().validate(value.value());
  if (!violations) return violations.error();
  return Tree::text(schema::describe(violations.value()));
}

Answer on_truncate_turns(const Tree& query, const Surroundings&) {
  return truncate_turns(query["messages"], query["maxTokens"].integer_or(0));
}

Answer on_build_context(const Tree& query, const Surroundings& around) {
  return build_context(query, around.ids);
}

Answer on_listed_parts(const Tree& query, const Surroundings&) {
  return with_listed_parts(query["row"]);
}

// The name of a tool that a vendor defines.
Answer on_vendor_tool_name(const Tree& query, const Surroundings&) {
  auto name = message::vendor_tool_name(query["vendor"]);
  if (!name) return std::move(name).error();
  return Tree::text(std::move(name).value());
}

struct Function {
  std::string_view name;
  Answer (*handler)(const Tree& query, const Surroundings& around);
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
                               Function{"firstContext", on_first_context},
                               Function{"decideGroup", on_decide_group},
                               Function{"repairMessages", on_repair_messages},
                               Function{"trimMessages", on_trim_messages},
                               Function{"checkSchema", on_check_schema},
                               Function{"truncateTurns", on_truncate_turns},
                               Function{"listedParts", on_listed_parts},
                               Function{"vendorToolName", on_vendor_tool_name},
                               Function{"repairArguments", on_repair_arguments},
                               Function{"buildContext", on_build_context}};

}  // namespace

Result<Tree> answer(std::string_view name, const Tree& query, const Surroundings& around) {
  const auto* row = std::find_if(functions.begin(), functions.end(),
                                 [&](const Function& r) { return r.name == name; });
  if (row == functions.end()) {
    return make_error(Errc::invalid_argument,
                      "There is no agent function '" + std::string(name) +
                          "'; use the addon and the JavaScript of one version.");
  }
  return row->handler(query, around);
}

}  // namespace millrace::agent
