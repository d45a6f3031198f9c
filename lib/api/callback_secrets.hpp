// Encrypts what a callback is to be sent with while it waits in the store.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::api {

// The key is in a file beside the store that its user alone can read, made with the first use;
// copies and exports of the store do not have it.
// Thread: engine thread.
class CallbackSecrets {
 public:
  // `file` is "" where the key lives as long as the process.
  explicit CallbackSecrets(std::string file) : file_(std::move(file)) {}

  // Shape: a text that open() takes back for the same message.
  // Errors: store_failed where the file of the key cannot be written.
  Result<std::string> seal(const json::Tree& headers, std::string_view message);
  // Errors: store_damaged where the key is not the one that sealed it.
  Result<json::Tree> open(std::string_view sealed, std::string_view message);

 private:
  Result<std::string_view> key();

  std::string file_;
  std::string key_;
};

}  // namespace millrace::api
