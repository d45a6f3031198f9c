// The formats of JSON Schema that are checked when a caller asks for it. Private to this room.
#pragma once

#include <string_view>

namespace millrace::schema {

// Whether the text is of the format; true for a format that is not known here.
// Source: JSON Schema Validation 2020-12, section 7.3.
bool has_format(std::string_view format, std::string_view text);

}  // namespace millrace::schema
