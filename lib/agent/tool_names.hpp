// How LobeHub names the functions of plugins for a model, and which one a model means by a name.
// Source: LobeHub 2026-07.
#pragma once

#include <string>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::agent {

// The name of the plugin and that of its function as one, without its type. Where that is too long
// or has characters that providers reject, hashes of them.
std::string shown_tool_name(std::string_view identifier, std::string_view api);

// A call of LobeHub's shape as a model made it, with the names of the manifest that it means:
// hashes are resolved, and a function without its plugin is that of the only plugin which has one
// of this name and is offered.
json::Tree resolved_call(const json::Tree& state, json::Tree call);

}  // namespace millrace::agent
