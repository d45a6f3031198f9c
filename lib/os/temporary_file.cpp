#include "os/temporary_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "os/unnamed_file.hpp"

namespace millrace::os {
namespace {

Error failure(std::string_view what, int reason) {
  return make_error(reason == ENOSPC || reason == EDQUOT ? Errc::store_full : Errc::store_failed,
                    "A temporary file cannot be " + std::string(what) + ": " +
                        std::generic_category().message(reason) + ".");
}

// Where every file has a name, it loses it at once.
int open_temporary(const std::string& folder) {
  const int unnamed = open_unnamed(folder);
  if (unnamed >= 0) return unnamed;
  std::string path = folder + "/.upload-XXXXXX";
  const int named = mkstemp(path.data());
  if (named < 0) return named;
  ::unlink(path.c_str());
  fcntl(named, F_SETFD, FD_CLOEXEC);
  return named;
}

}  // namespace

Result<TemporaryFile> TemporaryFile::open(const std::string& folder) {
  const int descriptor = open_temporary(folder);
  if (descriptor < 0) return failure("made", errno);
  return TemporaryFile(descriptor);
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      pages_(std::exchange(other.pages_, nullptr)),
      mapped_(other.mapped_) {}

TemporaryFile::~TemporaryFile() {
  if (pages_ != nullptr) munmap(pages_, mapped_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> TemporaryFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failure("written", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
  return {};
}

Result<std::string_view> TemporaryFile::map() {
  if (size_ == 0) return std::string_view();
  if (pages_ == nullptr) {
    void* const pages = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (pages == MAP_FAILED) return failure("read", errno);
    pages_ = pages;
    mapped_ = size_;
  }
  return std::string_view(static_cast<const char*>(pages_), mapped_);
}

}  // namespace millrace::os
