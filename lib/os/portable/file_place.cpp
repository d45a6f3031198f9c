#include "os/file_place.hpp"

#if defined(__APPLE__) || defined(__FreeBSD__)
#include <sys/mount.h>
#include <sys/param.h>
#endif

namespace millrace::os {

std::int64_t changed_ns(const struct stat& found) {
  constexpr std::int64_t second_ns = 1'000'000'000;
#ifdef __APPLE__
  const timespec& changed = found.st_mtimespec;
#else
  const timespec& changed = found.st_mtim;
#endif
  return static_cast<std::int64_t>(changed.tv_sec) * second_ns + changed.tv_nsec;
}

std::string network_file_system([[maybe_unused]] const std::string& folder) {
#if defined(MNT_LOCAL)
  struct statfs found {};
  if (::statfs(folder.c_str(), &found) == 0 && (found.f_flags & MNT_LOCAL) == 0) {
    return found.f_fstypename;
  }
#endif
  return {};
}

}  // namespace millrace::os
