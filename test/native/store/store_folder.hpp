// A folder for a store, removed with its test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace millrace::store {

class StoreFolder {
 public:
  StoreFolder() {
    std::string made = (std::filesystem::temp_directory_path() / "millrace-store-XXXXXX").string();
    if (mkdtemp(made.data()) != nullptr) path_ = made;
  }
  ~StoreFolder() {
    std::error_code failed;
    if (!path_.empty()) std::filesystem::remove_all(path_, failed);
  }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;

  [[nodiscard]] std::string file(const std::string& name = "store.db") const {
    return (path_ / name).string();
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace millrace::store
