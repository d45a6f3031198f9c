#include "api/private_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "os/descriptors.hpp"
#include "os/protected_files.hpp"
#include "os/sync.hpp"

namespace millrace::api {
namespace {

constexpr std::string_view draft_mark = ".part";  // and the number of its process
constexpr std::streamsize most_private_bytes = std::streamsize{4} << 20U;

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return os::sync_file(file);
}

// Of this file, by processes that ended while they wrote it: they may hold a key. Drafts of a
// moment ago may be of processes at work.
void remove_old_drafts(const std::filesystem::path& path) {
  constexpr std::chrono::minutes old{1};
  const auto now = std::filesystem::file_time_type::clock::now();
  const std::string name = path.filename().string() + std::string(draft_mark);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (!at->path().filename().string().starts_with(name)) continue;
    std::error_code gone;
    const auto written = at->last_write_time(gone);
    if (!gone && written + old < now) std::filesystem::remove(at->path(), gone);
  }
}

// A draft of the whole text, for the owner alone from its first byte on; "" where it cannot be
// made.
std::string draft_of(const std::string& path, std::string_view text) {
  remove_old_drafts(path);
  std::string draft = path + std::string(draft_mark) + std::to_string(::getpid());
  ::unlink(draft.c_str());
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const os::Descriptor file(::open(draft.c_str(), flags, 0600));
  if (file.get() < 0) return {};
  if (write_all(file.get(), text)) return draft;
  ::unlink(draft.c_str());
  return {};
}

}  // namespace

std::optional<std::string> read_private_file(const std::string& path) {
  os::protect_file(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text(static_cast<std::size_t>(most_private_bytes) + 1, '\0');
  in.read(text.data(), most_private_bytes + 1);
  if (in.bad() || in.gcount() > most_private_bytes) return std::nullopt;
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

bool write_private_file(const std::string& path, std::string_view text) {
  const std::string draft = draft_of(path, text);
  if (draft.empty()) return false;
  if (::rename(draft.c_str(), path.c_str()) == 0) return true;
  ::unlink(draft.c_str());
  return false;
}

bool make_private_file(const std::string& path, std::string_view text) {
  const std::string draft = draft_of(path, text);
  if (draft.empty()) return false;
  const bool is_made = ::link(draft.c_str(), path.c_str()) == 0;
  ::unlink(draft.c_str());
  return is_made;
}

}  // namespace millrace::api
