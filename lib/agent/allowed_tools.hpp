// Which tools an agent may call, where its configuration lists them by name.
#pragma once

#include "base/json_tree.hpp"

namespace millrace::agent {

// Whether the list has the name of a call `{identifier, apiName}`: "identifier____apiName", or the
// tool's own name. Null lists nothing and allows all; what is no list allows none.
// Source: `allowedToolNames` of LobeHub's GeneralChatAgent, 2026-06.
bool is_allowed_call(const json::Tree& allowed, const json::Tree& call);

// The definitions of tools that the list allows.
json::Tree allowed_tools(const json::Tree& allowed, const json::Tree& tools);

}  // namespace millrace::agent
