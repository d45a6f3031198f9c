// Whether the arguments of a call fit the patterns of a rule, and the security blacklist made of
// such rules.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::agent {

// Answers whether a pattern is found in a text; nothing when the pattern is not valid or takes too
// long. Patterns are written for JavaScript, and so is who answers; without one a pattern never
// matches.
using RegexTest =
    std::function<std::optional<bool>(std::string_view pattern, std::string_view text)>;

// "*" stands for any run of characters, everything else for itself. "name:*" matches `name` alone
// and `name` followed by a colon or a blank.
bool match_pattern(std::string_view pattern, std::string_view value);

// A matcher is a pattern, or `{type, pattern}` with type exact, prefix, wildcard, regex,
// semanticShell or sensitivePath. Any other never matches.
bool matches_argument(const json::Tree& matcher, const json::Tree& value, const RegexTest& regex);

struct BlacklistHit {
  std::string reason;
  bool hard = false;  // policy always
};

// The first rule of `blacklist` that the arguments match; null is the default blacklist.
std::optional<BlacklistHit> check_blacklist(const json::Tree& blacklist, const json::Tree& args,
                                            const RegexTest& regex);

// The text that String(value) gives in JavaScript.
std::string text_of(const json::Tree& value);

// Whether all matchers of a rule fit. A rule whose pattern cannot be tested counts where it asks,
// and does not where it allows.
bool matches_rule(const json::Tree& match, const json::Tree& args, const RegexTest& regex,
                  bool allows);

// "git add:*" lets one command pass, and not what is chained to it.
bool passes_prefix(const json::Tree& match, const json::Tree& args);

}  // namespace millrace::agent
