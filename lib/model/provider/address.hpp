// Where a chat goes: which dialect, base URL and authentication, and the URL itself.
//
// Base URLs and paths of the tables hold {model}, {deployment}, {api_version}, {region}, {project},
// {location}, {location_host}, {account} and {base_url}; {name:value} has a default.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/payload/payload.hpp"
#include "model/provider/config.hpp"

namespace millrace::model {

// The way to a model of a provider.
struct Way {
  Dialect dialect = Dialect::openai_chat;
  Auth auth = Auth::bearer;
  std::string base_url;   // expanded
  std::string_view path;  // "" for the dialect's
};

// Errors: capability_not_supported (no chat, or not in this `apiMode`), invalid_option (a setting
// that the address needs is missing), invalid_url.
Result<Way> way_to(const ProviderConfig& config, const ChatPayload& payload);

// What the provider calls the model: the payload's or the settings' deployment, or the model's
// name.
std::string deployment_of(const ProviderConfig& config, std::string_view model,
                          std::string_view deployment);

// Fills the placeholders; a value is percent-encoded where it is part of a path.
// Errors: invalid_option names the setting that is missing.
Result<std::string> expand(std::string_view pattern, const ProviderConfig& config,
                           std::string_view model);

// `text` with everything but RFC 3986's unreserved characters percent-encoded.
std::string percent_encoded(std::string_view text);

// `url` without the tails that users copy along ("/v1/messages").
std::string without_tail(std::string url, std::string_view tails);

// Origin and path of `url`, for errors. Where `masks_host`, what the user set up is not told: the
// first name of the host, or a host without a domain, becomes "***".
std::string endpoint_of(std::string_view url, bool masks_host);

}  // namespace millrace::model
