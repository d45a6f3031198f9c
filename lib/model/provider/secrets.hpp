// What of a provider's settings must not be shown anywhere.
#pragma once

#include <string>
#include <vector>

#include "base/secret_filter.hpp"  // IWYU pragma: export
#include "model/provider/config.hpp"
#include "net/client.hpp"

namespace millrace::model {

// Keys, tokens, secrets of this config, also those that its headers and its query carry under
// telling names.
std::vector<std::string> secrets_of(const ProviderConfig& config);

// What the headers of a request carry under telling names: a token that was exchanged, a signature.
std::vector<std::string> secrets_of(const net::Request& request);

}  // namespace millrace::model
