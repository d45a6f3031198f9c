// A text that libraries can read as a file, without a place on a disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "os/descriptors.hpp"

namespace millrace::os {

class MemoryFile {
 public:
  // None when the system has no such files, or no room.
  static std::optional<MemoryFile> make(const char* name, std::string_view text);

  // Lifetime: readable as long as this lives.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  MemoryFile(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  Descriptor descriptor_;
  std::string path_;
};

}  // namespace millrace::os
