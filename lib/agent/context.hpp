// What a model is sent for a turn, made from an agent's configuration and the conversation. Pure:
// the same input gives the same payload.
//
// Input, all members optional but `messages`:
// - agent `{systemRole, model, provider, plugins: [identifier], params}`
// - messages: rows of the conversation, as AgentState has them
// - tools: definitions of functions; manifests: identifier -> `{identifier, systemRole?}`
// - card `{contextWindowTokens?, maxOutput?, abilities? {functionCall?, vision?}, parameters?: name
//   -> {min?, max?} or false}`: what the model can do; what is absent is taken for granted
// - instructions: [text] for the system message; resources: [{title?, uri?, content}]
// - historyCount: so many of the newest rows, the system's not counted; at least one
// - nowMs, utcOffsetMinutes: give the model the date
// - variables: name -> value, for `{{name}}` in systemRole and instructions
#pragma once

#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

// Shape: {"payload": {"model"?, "provider"?, "messages", "tools"?, parameters}, "dropped": [what
// was left out, "tools", "images", "history" or a parameter's name]}.
// Errors: invalid_argument when `messages` is no array or holds nothing but system rows.
Result<json::Tree> build_context(const json::Tree& input, IdSource& ids);

}  // namespace millrace::agent
