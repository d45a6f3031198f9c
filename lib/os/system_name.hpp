// What the operating system calls itself.
#pragma once

#include <string>

namespace millrace::os {

// "Linux", "Darwin", or "" where the system does not say.
std::string system_name();

}  // namespace millrace::os
