// Where the repository lies.
#pragma once

#include <filesystem>

namespace millrace::test {

// Known to one file of each test program only, so that clones of the repository share what is
// compiled.
std::filesystem::path source_folder();

}  // namespace millrace::test
