// Whether a tool call may run, has to be asked for, or must not run: policies and the order in
// which they count.
#pragma once

#include <string>
#include <string_view>

#include "agent/approval/matchers.hpp"
#include "base/json_tree.hpp"

namespace millrace::agent {

// `never`, `required` or `always` for a call, from a policy or an ordered list of rules
// `{match?, policy}`. A blacklist hit gives `required`.
std::string should_intervene(const json::Tree& config, const json::Tree& blacklist,
                             const json::Tree& args, const RegexTest& regex);

// "identifier/apiName", or "identifier/apiName#hash".
std::string tool_key(std::string_view identifier, std::string_view api, std::string_view hash = {});

// A short hash of arguments that does not depend on the order of their keys.
std::string hash_arguments(const json::Tree& args);

// SHA-256, in hexadecimal, of exactly what a person is shown of a call: what an approval is bound
// to.
std::string approval_hash(std::string_view identifier, std::string_view api,
                          std::string_view arguments);

enum class Verdict : unsigned char { execute, require_approval, block, audit };

struct Assessment {
  Verdict verdict = Verdict::execute;
  // Of Verdict::audit: what a resolver has to answer, `{kind, index?, type?}`.
  json::Tree audit;
};

// What is known about a call. `answers` holds the resolvers' answers: an array `global` in order,
// and a member `dynamic`; an audit without an answer is asked for.
struct CallFacts {
  const json::Tree& call;
  const json::Tree& args;
  const json::Tree& manifest;  // of the call's tool, or null
  const json::Tree& state;
  const json::Tree& config;
  const json::Tree& answers;
};

// Source: LobeHub's order of policies (state and config as there), 2026.
Assessment assess_call(const CallFacts& facts, const RegexTest& regex);

}  // namespace millrace::agent
