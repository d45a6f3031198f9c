// What kind of data a file is, by its name.
#pragma once

#include <string_view>

namespace millrace::api {

// "application/octet-stream" for names that tell nothing.
std::string_view media_type_of(std::string_view name);

}  // namespace millrace::api
