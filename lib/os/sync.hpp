// Brings what was written to the disk, so that a power cut leaves it.
#pragma once

#include <string>

namespace millrace::os {

// Everything that was written to the file so far. False where that failed; errno says why.
bool sync_file(int descriptor);

// The same for a file or folder by its path, which is opened with these flags of open(2).
bool sync_path(const std::string& path, int flags);

}  // namespace millrace::os
