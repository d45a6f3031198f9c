#include "os/memory_file.hpp"

#include <sys/mman.h>

namespace millrace::os {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

std::optional<MemoryFile> MemoryFile::make(const char* name, std::string_view text) {
  Descriptor file(memfd_create(name, MFD_CLOEXEC));
  if (file.get() < 0 || !write_all(file.get(), text)) return std::nullopt;
  std::string path = "/proc/self/fd/" + std::to_string(file.get());
  // Some containers have no /proc.
  if (::access(path.c_str(), R_OK) != 0) return std::nullopt;
  return MemoryFile(std::move(file), std::move(path));
}

}  // namespace millrace::os
