// Where a file lies, to find out whether it is still the same one and whether syncs of it count.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace millrace::os {

struct FilePlace {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t links = 0;  // 0: there is no such file
  [[nodiscard]] bool is_same_file(const FilePlace& other) const {
    return device == other.device && inode == other.inode && other.links != 0;
  }
};

inline FilePlace place_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino),
          static_cast<std::uint64_t>(found.st_nlink)};
}

// When the contents of a file were changed last, in nanoseconds since 1970. POSIX has the time, but
// not every system has it under POSIX's name.
std::int64_t changed_ns(const struct stat& found);

// The kind of a file system that other machines, or other programs, provide; "" for one of a local
// disk, and where the system does not say.
std::string network_file_system(const std::string& folder);

}  // namespace millrace::os
