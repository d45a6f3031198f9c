#include "os/file_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

namespace millrace::os {
namespace {

constexpr std::chrono::milliseconds pause_between_tries{20};

Error lock_failed(const std::string& path, int error) {
  return make_error(Errc::store_failed, "The lock file '" + path + "' cannot be used.",
                    std::generic_category().message(error));
}

std::string text_in(int file) {
  std::array<char, 64> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  std::string holder(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!holder.empty() && holder.back() == '\n') holder.pop_back();
  return holder;
}

bool write_holder(int file) {
  const std::string text = std::to_string(::getpid()) + "\n";
  return ::ftruncate(file, 0) == 0 &&
         ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path, std::chrono::milliseconds timeout) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file.get() < 0) return lock_failed(path, errno);
  const auto until = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const int locked = lock_at_once(file.get());
    if (locked < 0) return lock_failed(path, errno);
    if (locked == 1) {
      // Who waits is shown the holder; the lock itself does not depend on it.
      const bool is_shown = write_holder(file.get());
      return FileLock(std::move(file), true, is_shown ? text_in(file.get()) : std::string());
    }
    if (std::chrono::steady_clock::now() >= until) {
      std::string holder = text_in(file.get());
      return FileLock(std::move(file), false, std::move(holder));
    }
    std::this_thread::sleep_for(pause_between_tries);
  }
}

std::optional<std::string> FileLock::holder_of(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  // A file without a lock is locked for a moment.
  if (file.get() < 0 || lock_at_once(file.get()) != 0) return std::nullopt;
  return text_in(file.get());
}

}  // namespace millrace::os
