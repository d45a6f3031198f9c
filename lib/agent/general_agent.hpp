// The deciding half of a chat agent: what to do next, from the state and what just happened.
#pragma once

#include "agent/approval/intervention.hpp"
#include "agent/tokens.hpp"
#include "base/json_tree.hpp"

namespace millrace::agent {

// Gives `{instructions}`: one instruction or a list of them; or `{audit}`: a question that a
// resolver of the host has to answer first, to be put into `answers` under the index of the call.
// Source: LobeHub's GeneralChatAgent, 2026; `config` as there, resolvers by name. With `kept`, the
// tokens of rows that were counted for an earlier decision are not counted again.
json::Tree decide(const json::Tree& state, const json::Tree& context, const json::Tree& config,
                  const json::Tree& answers, const RegexTest& regex,
                  ContextTokens* retained = nullptr);

}  // namespace millrace::agent
