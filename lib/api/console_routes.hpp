// The page at `/`: the built files of console/, as they lie in a folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/router.hpp"

namespace millrace::api {

// Reads the folder once: `index.html`, and the files of its folder `console`, whose names have a
// hash of their content. None for "" and for a folder without a page.
std::vector<http::Route> console_routes(const std::string& folder);

// The page needs no key: it holds nothing that belongs to anyone.
bool is_console_path(std::string_view path);

}  // namespace millrace::api
