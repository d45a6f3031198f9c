#include "support/source_folder.hpp"

namespace millrace::test {

std::filesystem::path source_folder() {
  return MILLRACE_SOURCE_DIR;
}

}  // namespace millrace::test
