// What a model is asked by, and which of its settings have an effect: what probes report of it.
#pragma once

#include "base/json_tree.hpp"
#include "model/payload/payload.hpp"
#include "model/provider/config.hpp"

namespace millrace::model {

// A switch is reported where changing it changes the request body, so that each one that is
// reported works. Where no request can be built, the members about it are missing.
// Shape: {"model_name", "provider", "api_url", "max_tokens"?, "api_mode", "stream_enabled",
// "thinking_param_enabled"?, "thinking_enabled"?, "reasoning_enabled"?, "reasoning_effort"?,
// "reasoning_content_replay"?, "prompt_cache_enabled"?}
json::Tree switches_json(const ProviderConfig& config, const ChatPayload& payload);

}  // namespace millrace::model
