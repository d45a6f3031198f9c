// An Error as JSON text, as hosts and reports receive it.
#pragma once

#include <string>

#include "base/error.hpp"

namespace millrace {

// Shape: {"code", "message": string, "detail"?: string, "status"?: number, "retry": "no" | "yes" |
// "later", "retryAfterMs"?: number, "requestId"?: string}.
std::string error_json(const Error& error);

}  // namespace millrace
