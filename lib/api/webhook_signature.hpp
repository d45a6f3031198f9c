// How receivers know that a webhook is ours.
// Source: Standard Webhooks 1.0, symmetric signatures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace millrace::api {

// The bytes of a secret: "whsec_" and base64 of 24 to 64 bytes.
// Errors: invalid_option; the secret is not shown.
Result<std::string> read_webhook_secret(std::string_view text);

// The value of `webhook-signature`: "v1,<base64>" for each secret, separated by spaces.
// Units: seconds since 1970.
std::string webhook_signature(const std::vector<std::string>& secrets, std::string_view id,
                              std::int64_t timestamp, std::string_view body);

}  // namespace millrace::api
