// The OpenAPI document of the Runtime API, made of the table of its routes.
#pragma once

#include <span>
#include <string_view>

#include "api/api_context.hpp"

namespace millrace::api {

// OpenAPI 3.0.3. `server` is the address that clients use.
json::Tree openapi_document(std::span<const ApiRoute> routes, std::string_view version,
                            std::string_view server);

// The JSON Schema of this name as OpenAPI 3.0 has it; null where there is none.
json::Tree openapi_schema(std::string_view name);
// All names, in order.
std::span<const std::string_view> openapi_schema_names();

}  // namespace millrace::api
