// A lock on a file that says which process has something for itself. The system frees it when the
// process ends, however it ends.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "os/descriptors.hpp"

namespace millrace::os {

// Nothing else in this process gets it either. Programs started by this process do not inherit it.
class FileLock {
 public:
  // Waits up to `timeout` for the one who has it; makes the file when it is not there. Blocks.
  // Errors: store_failed when the file cannot be opened or the system has no locks for it.
  static Result<FileLock> take(const std::string& path, std::chrono::milliseconds timeout);

  // What the one who has it wrote into the file; nothing when nobody has it.
  static std::optional<std::string> holder_of(const std::string& path);

  FileLock(FileLock&& other) noexcept = default;
  FileLock& operator=(FileLock&& other) noexcept = default;
  ~FileLock() = default;

  // False when another one has it.
  [[nodiscard]] bool is_held() const { return is_held_; }
  // What the one who has it wrote into the file: its process id.
  [[nodiscard]] const std::string& holder() const { return holder_; }

 private:
  FileLock(Descriptor file, bool is_held, std::string holder)
      : file_(std::move(file)), is_held_(is_held), holder_(std::move(holder)) {}

  Descriptor file_;
  bool is_held_ = false;
  std::string holder_;
};

// Tries once to lock the whole file for writing. 1: locked; 0: another one has it; -1: errno says
// why.
int lock_at_once(int file);

}  // namespace millrace::os
