#include "agent/approval/intervention.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "agent/approval/matchers.hpp"
#include "agent/approval/waiting.hpp"
#include "agent/vendor_calls.hpp"
#include "base/sha256.hpp"
#include "base/utf8.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

// Looser than the checker, on the safe side: part of a text, any "*" and any object matcher count.
bool may_always_apply(const Tree& rule, const Tree& args) {
  const Tree& match = rule["match"];
  return std::all_of(match.members().begin(), match.members().end(), [&](const Tree::Member& row) {
    const Tree* value = args.find(row.first);
    if (value == nullptr) return false;
    if (!row.second.is_string()) return true;
    const std::string_view pattern = row.second.string();
    return pattern.find('*') != std::string_view::npos ||
           text_of(*value).find(pattern) != std::string::npos;
  });
}

bool is_always(const Tree& policy, const Tree& args) {
  if (policy.is_string()) return policy.string() == "always";
  return policy.is_array() &&
         std::any_of(policy.items().begin(), policy.items().end(), [&](const Tree& rule) {
           return rule["policy"].string() == "always" && may_always_apply(rule, args);
         });
}

// The policy of the API, or that of its tool.
const Tree& manifest_policy(const Tree& manifest, std::string_view api) {
  for (const Tree& entry : manifest["api"].items()) {
    if (entry["name"].string() == api && entry.find("humanIntervention") != nullptr) {
      return entry["humanIntervention"];
    }
  }
  return manifest["humanIntervention"];
}

struct Hit {
  bool found = false;
  bool always = false;
};

// Whether a global audit objects, or an audit that is still to be answered. An objection that a
// mode may override does not hide one behind it that none may.
std::optional<Tree> global_audit(const CallFacts& facts, const RegexTest& regex, Hit& hit) {
  const Tree& audits = facts.config["globalInterventionAudits"];
  if (!audits.is_array()) {
    const auto found = check_blacklist(facts.state["securityBlacklist"], facts.args, regex);
    if (found) hit = {true, found->hard};
    return std::nullopt;
  }
  const auto& answers = facts.answers["global"].items();
  for (std::size_t i = 0; i < audits.items().size(); ++i) {
    if (i >= answers.size()) {
      Tree audit = Tree::object();
      audit.set("kind", "global");
      audit.set("index", Tree::integer(static_cast<std::int64_t>(i)));
      return audit;
    }
    if (!answers[i].truthy()) continue;
    hit = {true, audits.items()[i]["policy"].string() != "required"};
    if (hit.always) break;
  }
  return std::nullopt;
}

// A manifest may ask for approval by `{dynamic: {type, policy?, default?}}`.
Assessment assess_dynamic(const Tree& dynamic, const CallFacts& facts) {
  const std::string_view type = dynamic["type"].string();
  const auto& resolvers = facts.config["dynamicInterventionAudits"].items();
  const bool known = std::any_of(resolvers.begin(), resolvers.end(),
                                 [&](const Tree& name) { return name.string() == type; });
  const Tree* answer = facts.answers.find("dynamic");
  if (known && answer == nullptr) {
    Tree audit = Tree::object();
    audit.set("kind", "dynamic");
    audit.set("type", type);
    return {Verdict::audit, std::move(audit)};
  }
  const bool objected = known && answer->truthy();
  const Tree& given = dynamic[objected ? "policy" : "default"];
  const std::string_view policy =
      given.is_string() ? given.string() : std::string_view(objected ? "always" : "never");
  return {policy == "never" ? Verdict::execute : Verdict::require_approval, {}};
}

bool is_allowed(const Tree& state, std::string_view key) {
  const auto& list = state["userInterventionConfig"]["allowList"].items();
  return std::any_of(list.begin(), list.end(),
                     [&](const Tree& entry) { return entry.string() == key; });
}

Verdict by_mode(std::string_view mode, const Tree& policy, const CallFacts& facts,
                const RegexTest& regex) {
  if (mode == "auto-run") return Verdict::execute;
  if (facts.manifest.is_null()) return Verdict::require_approval;
  if (mode == "allow-list") {
    const std::string key =
        tool_key(facts.call["identifier"].string(), facts.call["apiName"].string());
    return is_allowed(facts.state, key) ? Verdict::execute : Verdict::require_approval;
  }
  const Tree no_blacklist = Tree::array();
  return should_intervene(policy, no_blacklist, facts.args, regex) == "never"
             ? Verdict::execute
             : Verdict::require_approval;
}

Assessment assess(const CallFacts& facts, std::string_view mode, const RegexTest& regex) {
  Hit hit;
  if (auto audit = global_audit(facts, regex, hit)) return {Verdict::audit, std::move(*audit)};
  if (mode == "headless") {
    return {hit.found && hit.always ? Verdict::block : Verdict::execute, {}};
  }
  if (hit.found && hit.always) return {Verdict::require_approval, {}};
  const Tree& policy = manifest_policy(facts.manifest, facts.call["apiName"].string());
  if (policy["dynamic"].is_object()) return assess_dynamic(policy["dynamic"], facts);
  if (hit.found || is_always(policy, facts.args)) return {Verdict::require_approval, {}};
  return {by_mode(mode, policy, facts, regex), {}};
}

void sort_keys(const Tree& value, std::vector<const Tree::Member*>& sorted) {
  for (const Tree::Member& member : value.members()) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* left, const auto* right) { return left->first < right->first; });
}

}  // namespace

std::string should_intervene(const Tree& config, const Tree& blacklist, const Tree& args,
                             const RegexTest& regex) {
  if (check_blacklist(blacklist, args, regex)) return "required";
  if (config.is_string()) return std::string(config.string());
  if (!config.is_array()) return config.is_null() ? "never" : "required";
  for (const Tree& rule : config.items()) {
    const Tree& match = rule["match"];
    std::string policy(rule["policy"].string());
    if (!match.is_null() && !matches_rule(match, args, regex, policy == "never")) continue;
    if (policy != "never" || !passes_prefix(match, args)) return policy;
  }
  return "required";
}

std::string tool_key(std::string_view identifier, std::string_view api, std::string_view hash) {
  std::string key(identifier);
  key.append("/").append(api);
  if (!hash.empty()) key.append("#").append(hash);
  return key;
}

std::string hash_arguments(const Tree& args) {
  std::vector<const Tree::Member*> sorted;
  sort_keys(args, sorted);
  std::string text;
  for (const Tree::Member* member : sorted) {
    if (!text.empty()) text.push_back('&');
    text.append(member->first).append("=").append(member->second.to_json());
  }
  std::uint32_t hash = 0;
  for (const char16_t unit : utf8::to_utf16(text)) hash = (hash << 5U) - hash + unit;
  auto rest = static_cast<std::uint64_t>(
      std::abs(static_cast<std::int64_t>(static_cast<std::int32_t>(hash))));
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[rest % 36]);
    rest /= 36;
  } while (rest > 0);
  return digits;
}

std::string approval_hash(std::string_view identifier, std::string_view api,
                          std::string_view arguments) {
  // Each part carries its length, so that no two calls spell the same text.
  std::string text;
  for (const std::string_view part : {identifier, api, arguments}) {
    text.append(std::to_string(part.size())).append(":").append(part);
  }
  return sha256_hex(text);
}

Assessment assess_call(const CallFacts& facts, const RegexTest& regex) {
  const Tree& given = facts.state["userInterventionConfig"]["approvalMode"];
  const std::string_view mode = given.is_string() ? given.string() : std::string_view("manual");
  Assessment assessment = assess(facts, mode, regex);
  // No policy acknowledges the checks of a vendor: a person has to.
  if (assessment.verdict == Verdict::execute && has_pending_checks(facts.call) &&
      !runs_at_client(facts.state, facts.call)) {
    assessment.verdict = mode == "headless" ? Verdict::block : Verdict::require_approval;
  }
  // Where no user can approve, a call is rejected.
  if (mode == "reject" && assessment.verdict == Verdict::require_approval)
    assessment.verdict = Verdict::block;
  return assessment;
}

}  // namespace millrace::agent
