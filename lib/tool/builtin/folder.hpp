// Files below one folder, and nothing else: paths are walked part by part from the folder's own
// descriptor, no link is followed, so that no name leads out, even while the tree is changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace millrace::tool {

// Thread: any, any number of them. Calls block for as long as the disk does.
class Folder {
 public:
  // Errors: invalid_option when there is no such folder.
  static Result<Folder> open(const std::string& path);
  ~Folder();
  Folder(Folder&& other) noexcept;
  Folder& operator=(Folder&&) = delete;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  struct Part {
    std::string text;
    std::uint64_t file_bytes = 0;
  };
  // Errors: invalid_argument for a path that leads nowhere, through a link or out.
  [[nodiscard]] Result<Part> read(std::string_view path, std::uint64_t offset,
                                  std::size_t most) const;
  // One line an entry, folders with a slash, files with their size; at most `most`.
  [[nodiscard]] Result<std::string> list(std::string_view path, std::size_t most) const;
  // Replaces the file in one step or appends to it; missing folders are made.
  [[nodiscard]] Result<void> write(std::string_view path, std::string_view text,
                                   bool is_appended) const;

 private:
  Folder(int descriptor, std::vector<std::string> places)
      : descriptor_(descriptor), places_(std::move(places)) {}
  // What follows the folder's own place in an absolute path; other paths as they are.
  [[nodiscard]] std::string_view below(std::string_view path) const;

  int descriptor_;
  std::vector<std::string>
      places_;  // the folder's absolute path, as it was given and without links
};

}  // namespace millrace::tool
