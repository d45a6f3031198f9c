// Small files that their user alone can read, beside a store.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::api {

// Nothing where there is none, or it is larger than 4 MiB. Tools of this process cannot read it
// from then on.
std::optional<std::string> read_private_file(const std::string& path);
// Whole or not at all. False where it cannot be written.
bool write_private_file(const std::string& path, std::string_view text);
// The same, unless the file is there; false then as well.
bool make_private_file(const std::string& path, std::string_view text);

}  // namespace millrace::api
