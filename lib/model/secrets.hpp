// What must not be shown anywhere, and its removal from what servers echo.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/config.hpp"
#include "net/client.hpp"

namespace millrace::model {

// Keys, tokens, secrets of this config, also those that its headers and its query carry under
// telling names.
std::vector<std::string> secrets_of(const ProviderConfig& config);

// What the headers of a request carry under telling names: a token that was exchanged, a signature.
std::vector<std::string> secrets_of(const net::Request& request);

// The same text with "[redacted]" in the place of each secret.
std::string without_secrets(std::string text, const std::vector<std::string>& secrets);
// The same for all that an error says.
Error without_secrets(Error error, const std::vector<std::string>& secrets);

}  // namespace millrace::model
