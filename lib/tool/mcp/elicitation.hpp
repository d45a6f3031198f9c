// Forms that a server asks a person to fill in.
#pragma once

#include <string>
#include <string_view>

namespace millrace::mcp {

// An accepted answer with the schema's defaults for what the person left out; any other answer, and
// text that is no object, as it is.
// Source: Model Context Protocol 2025-11-25, "Elicitation", default values.
std::string with_form_defaults(std::string_view schema_json, std::string_view result_json);

}  // namespace millrace::mcp
