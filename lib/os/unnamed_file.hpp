// A file that has no name from its first moment on: nothing of it stays, however the process ends.
#pragma once

#include <string>

namespace millrace::os {

// A descriptor to read and write by, which no program inherits; -1 where the system, or the file
// system of `folder`, has no such files.
int open_unnamed(const std::string& folder);

}  // namespace millrace::os
