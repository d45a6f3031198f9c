#include "os/protected_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include "os/file_place.hpp"

namespace millrace::os {
namespace {

struct ProtectedFiles {
  std::mutex mutex;
  std::vector<std::filesystem::path> paths;
};

// Never destroyed: tools may be at work while the process ends.
ProtectedFiles& protected_files() {
  static ProtectedFiles& files = *new ProtectedFiles;
  return files;
}

template <class Test>
bool any_protected(Test test) {
  ProtectedFiles& files = protected_files();
  const std::lock_guard lock(files.mutex);
  return std::any_of(files.paths.begin(), files.paths.end(), test);
}

bool is_at(const struct stat& found, const std::filesystem::path& path) {
  const FilePlace place = place_of(path.string());
  return place.links > 0 && place.device == static_cast<std::uint64_t>(found.st_dev) &&
         place.inode == static_cast<std::uint64_t>(found.st_ino);
}

}  // namespace

void protect_file(const std::string& path) {
  std::error_code failed;
  std::filesystem::path place = std::filesystem::absolute(path, failed);
  const auto folder = std::filesystem::canonical(place.parent_path(), failed);
  if (!failed) place = folder / place.filename();
  ProtectedFiles& files = protected_files();
  const std::lock_guard lock(files.mutex);
  if (std::find(files.paths.begin(), files.paths.end(), place) == files.paths.end()) {
    files.paths.push_back(std::move(place));
  }
}

bool is_protected_file(int file) {
  struct stat found {};
  if (::fstat(file, &found) != 0) return false;
  return any_protected([&](const auto& path) { return is_at(found, path); });
}

bool is_protected_name(int folder, const std::string& name) {
  struct stat parent {};
  struct stat found {};
  if (::fstat(folder, &parent) != 0) return false;
  const bool is_there = ::fstatat(folder, name.c_str(), &found, 0) == 0;
  return any_protected([&](const auto& path) {
    if (is_there && is_at(found, path)) return true;
    return path.filename() == name && is_at(parent, path.parent_path());
  });
}

bool is_protected_path(const std::string& folder, std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  const std::filesystem::path whole = std::filesystem::path(folder) / path;
  struct stat found {};
  if (::stat(whole.c_str(), &found) != 0) return false;
  return any_protected([&](const auto& one) { return is_at(found, one); });
}

}  // namespace millrace::os
