#include "tool/builtin/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "base/shown.hpp"
#include "os/protected_files.hpp"

namespace millrace::tool {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

Error failed_at(std::string_view path, int reason) {
  const std::string shown(path.substr(0, 200));
  if (reason == ELOOP || reason == ENOTDIR) {
    return make_error(
        Errc::invalid_argument,
        "'" + shown + "' leads through a symbolic link or a file, which is not followed.");
  }
  return make_error(Errc::invalid_argument,
                    "'" + shown + "': " + std::generic_category().message(reason) + ".");
}

// A store of runs: what waits for the user there is not for an agent to decide.
Error protected_at(std::string_view path) {
  return make_error(Errc::not_authorized, "'" + std::string(path.substr(0, 200)) +
                                              "' belongs to a store of runs, which tools must not "
                                              "read or write.");
}

// The parts of a path below the root. A leading "/" means the root of the tree, as models write it.
Result<std::vector<std::string>> parts_of(std::string_view path) {
  constexpr std::size_t path_limit = 4'096;
  if (path.size() > path_limit || path.find('\0') != std::string_view::npos) {
    return make_error(Errc::invalid_argument, "The path " + shown_text(path) + " is longer than " +
                                                  std::to_string(path_limit) +
                                                  " bytes or contains a NUL character.");
  }
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      return make_error(Errc::invalid_argument,
                        "A path must not contain '..'; give the path from the root.");
    }
    parts.emplace_back(part);
  }
  return parts;
}

// The folder that holds the last part.
Result<Descriptor> parent_of(int root, std::string_view path, const std::vector<std::string>& parts,
                             bool is_made) {
  Descriptor at(fcntl(root, F_DUPFD_CLOEXEC, 0));
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    constexpr mode_t folder_mode = 0777;
    if (is_made) mkdirat(at.get(), parts[i].c_str(), folder_mode);
    Descriptor next(openat(at.get(), parts[i].c_str(), flags));
    if (!next.is_open()) return failed_at(path, errno);
    at = std::move(next);
  }
  if (!at.is_open()) return failed_at(path, errno);
  return at;
}

Result<Descriptor> opened(int root, std::string_view path, int flags) {
  auto parts = parts_of(path);
  if (!parts) return std::move(parts).error();
  auto parent = parent_of(root, path, parts.value(), false);
  if (!parent) return std::move(parent).error();
  const char* name = parts.value().empty() ? "." : parts.value().back().c_str();
  Descriptor file(openat(parent.value().get(), name, flags | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open()) return failed_at(path, errno);
  return file;
}

Result<struct stat> regular(const Descriptor& file, std::string_view path) {
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0) return failed_at(path, errno);
  if (!S_ISREG(facts.st_mode)) {
    return make_error(Errc::invalid_argument,
                      "'" + std::string(path.substr(0, 200)) + "' is not a regular file.");
  }
  if (os::is_protected_file(file.get())) return protected_at(path);
  return facts;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Result<Folder> Folder::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return make_error(Errc::invalid_option, "`root` must be a folder: '" + path + "': " +
                                                std::generic_category().message(errno) + ".");
  }
  std::vector<std::string> places;
  if (path.starts_with('/')) places.push_back(path.substr(0, path.find_last_not_of('/') + 1));
  const std::unique_ptr<char, void (*)(void*)> place(realpath(path.c_str(), nullptr), &free);
  if (place) places.emplace_back(place.get());
  return Folder(descriptor, std::move(places));
}

std::string_view Folder::below(std::string_view path) const {
  for (const std::string& place : places_) {
    const bool is_below = place.size() > 1 && path.starts_with(place) &&
                          (path.size() == place.size() || path[place.size()] == '/');
    if (is_below) return path.substr(place.size());
  }
  return path;
}

Folder::~Folder() {
  if (descriptor_ >= 0) close(descriptor_);
}

Folder::Folder(Folder&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), places_(std::move(other.places_)) {}

Result<Folder::Part> Folder::read(std::string_view path, std::uint64_t offset,
                                  std::size_t most) const {
  // A pipe without a writer would block the open.
  auto file = opened(descriptor_, below(path), O_RDONLY | O_NONBLOCK);
  if (!file) return std::move(file).error();
  const auto facts = regular(file.value(), path);
  if (!facts) return facts.error();
  Part part;
  part.file_bytes = static_cast<std::uint64_t>(facts.value().st_size);
  part.text.resize(most);
  std::size_t got = 0;
  while (got < most) {
    const ssize_t read = pread(file.value().get(), part.text.data() + got, most - got,
                               static_cast<off_t>(offset + got));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return failed_at(path, errno);
    if (read == 0) break;
    got += static_cast<std::size_t>(read);
  }
  part.text.resize(got);
  return part;
}

Result<std::string> Folder::list(std::string_view path, std::size_t most) const {
  auto folder = opened(descriptor_, below(path), O_RDONLY | O_DIRECTORY);
  if (!folder) return std::move(folder).error();
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(folder.value().get()), &closedir);
  if (!stream) return failed_at(path, errno);
  const int descriptor = folder.value().release();
  std::vector<std::string> lines;
  bool is_cut = false;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (lines.size() == most) {
      is_cut = true;
      break;
    }
    struct stat facts {};
    if (fstatat(descriptor, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(facts.st_mode)) {
      lines.push_back(name + "/");
    } else if (S_ISREG(facts.st_mode)) {
      lines.push_back(name + " (" + std::to_string(facts.st_size) + " bytes)");
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text.append(line).append("\n");
  if (is_cut) text.append("[cut here: there are more]\n");
  return text;
}

Result<void> Folder::write(std::string_view path, std::string_view text, bool is_appended) const {
  auto parts = parts_of(below(path));
  if (!parts) return std::move(parts).error();
  if (parts.value().empty()) return failed_at(path, EISDIR);
  auto parent = parent_of(descriptor_, path, parts.value(), true);
  if (!parent) return std::move(parent).error();
  const int folder = parent.value().get();
  const std::string& name = parts.value().back();
  constexpr mode_t file_mode = 0666;
  if (os::is_protected_name(folder, name)) return protected_at(path);
  if (is_appended) {
    constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    const Descriptor file(openat(folder, name.c_str(), flags, file_mode));
    if (!file.is_open()) return failed_at(path, errno);
    if (const auto facts = regular(file, path); !facts) return facts.error();
    if (!write_all(file.get(), text)) return failed_at(path, errno);
    return {};
  }
  // What stands under the name is replaced, a link as well; a reader sees the old or the new.
  struct stat facts {};
  const bool exists = fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && !S_ISREG(facts.st_mode))
    return failed_at(path, S_ISDIR(facts.st_mode) ? EISDIR : ELOOP);
  static std::atomic<unsigned> drafts{0};
  const std::string draft = "." + name.substr(0, 200) + ".part" + std::to_string(getpid()) + "-" +
                            std::to_string(++drafts);
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  constexpr mode_t permissions = 07777;
  unlinkat(folder, draft.c_str(), 0);
  const Descriptor file(openat(folder, draft.c_str(), flags, file_mode));
  if (!file.is_open()) return failed_at(path, errno);
  if (exists) fchmod(file.get(), static_cast<mode_t>(facts.st_mode & permissions));
  if (!write_all(file.get(), text) || renameat(folder, draft.c_str(), folder, name.c_str()) != 0) {
    const int reason = errno;
    unlinkat(folder, draft.c_str(), 0);
    return failed_at(path, reason);
  }
  return {};
}

}  // namespace millrace::tool
