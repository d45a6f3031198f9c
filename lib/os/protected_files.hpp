// Files of this process that its own tools must leave alone: who can write a store of runs can
// approve what waits for the user there.
#pragma once

#include <string>
#include <string_view>

namespace millrace::os {

// Protects a file by its name, whether it is there or not, until the process ends.
// Thread: any.
void protect_file(const std::string& path);

// Whether an open file is one of them, by whatever name it was opened.
bool is_protected_file(int file);
// Whether this name in an open folder is one of theirs, or leads to one.
bool is_protected_name(int folder, const std::string& name);
// Whether a path leads to one, from `folder` on where it is relative; "" is the working folder.
bool is_protected_path(const std::string& folder, std::string_view path);

}  // namespace millrace::os
