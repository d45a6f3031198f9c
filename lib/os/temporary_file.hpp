// A file without a name: it is gone with its descriptor, whatever ends the process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::os {

// Thread: one at a time. Calls block for as long as the disk does.
class TemporaryFile {
 public:
  // Errors: store_failed.
  static Result<TemporaryFile> open(const std::string& folder);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Errors: store_full, store_failed.
  Result<void> append(std::string_view bytes);
  // The whole file, as a view of its pages.
  // Lifetime: the file's. Errors: store_failed.
  Result<std::string_view> map();

 private:
  explicit TemporaryFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
  std::uint64_t size_ = 0;
  void* pages_ = nullptr;
  std::uint64_t mapped_ = 0;
};

}  // namespace millrace::os
