// The models that the probes report: those of registered agents, and those that the host names.
#pragma once

#include "api/api_context.hpp"
#include "base/json_tree.hpp"

namespace millrace::api {

// The agent that answers chats has `chat_model`, another one `<name>_model`, and the fallbacks and
// sub-agents follow it. What the host reports under one of these names is in its place.
// Shape: {name: {"model_name", "api_url", "api_key"?, ...}}: model/payload/switches.hpp,
// "context_window_tokens"?, and the host's own members.
json::Tree models_of(const ApiContext& context);

}  // namespace millrace::api
