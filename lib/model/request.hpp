// Canonical messages -> the HTTP request of a streaming model call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "model/providers.hpp"
#include "net/client.hpp"

namespace millrace::model {

// Which model is asked, where and with which key.
struct Target {
  const Provider* provider = nullptr;
  std::string model;
  std::string base_url;
  std::string api_key;
};

// Fills a target from `provider:model`; an empty base URL becomes the provider's own.
// Errors: unknown_provider, invalid_option (no model name), missing_api_key, invalid_url.
Result<Target> make_target(std::string_view model, std::string base_url, std::string api_key);

struct Prompt {
  std::string_view messages_json;         // canonical messages
  std::string_view tools_json;            // AG-UI tools, or "" for none
  std::int64_t max_output_tokens = 4096;  // sent where the provider demands a limit
};

// Builds the request. History that a provider would refuse (a call without a result) is mended
// first; `ids` names the results that are added.
// Errors: invalid_messages, invalid_body (tools), json_too_deep.
Result<net::Request> build_request(const Target& target, const Prompt& prompt, IdSource& ids);

}  // namespace millrace::model
