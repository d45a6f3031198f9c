// Paths on a command line as the places they lead to, read as text: what the blacklist compares.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace millrace::agent {

using Names = std::span<const std::string_view>;

bool is_one_of(Names names, std::string_view name);

// The path without its folder.
std::string_view last_part(std::string_view path);

// "of=/dev/sda", "--file=/etc/shadow" and "@/etc/passwd" name a path, too.
std::string_view path_in(std::string_view word);

// Where a path leads when it is used in the command's folder, the home directory spelled "~".
// Everything inside a folder is the folder.
std::string place_of(std::string_view path, std::string_view directory = {});

bool is_glob(std::string_view place);

// Whether a place is the file, or a pattern (with *, ? and [...]) that the file fits.
bool fits_file(std::string_view place, std::string_view file);
bool names_one_of(Names files, std::string_view place);

// The home directory of somebody, or the folder of all of them.
bool is_home(std::string_view place);

// Whether the last parts of a place are `tail`.
bool ends_with_path(std::string_view place, std::string_view tail);

}  // namespace millrace::agent
