// The answer of a provider that refuses a call -> an Error with a stable code.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "net/client.hpp"

namespace millrace::model {

// Bytes of an error body that are read; the rest is not waited for.
inline constexpr std::size_t error_body_limit_bytes = 64UL * 1024UL;

// The provider's own message (from the usual JSON shapes) becomes part of the message, redacted; a
// body that is not JSON, such as a gateway's page, is described, not copied.
Error error_from_response(const net::ResponseHead& head, std::string_view body);

}  // namespace millrace::model
