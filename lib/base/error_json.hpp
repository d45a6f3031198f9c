// An Error as JSON text, as hosts and reports receive it, and as clients do.
#pragma once

#include <string>

#include "base/error.hpp"

namespace millrace {

// Shape: {"code", "message": string, "detail"?: string, "status"?: number, "retry": "no" | "yes" |
// "later", "retryAfterMs"?: number, "requestId"?: string}.
std::string error_json(const Error& error);

// The error as clients may read it. `message` is for everybody; `detail` of a failed connection,
// store or tool holds addresses and paths of this machine, which are for the host program and its
// log alone.
Error for_clients(Error error);

}  // namespace millrace
