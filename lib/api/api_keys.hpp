// The keys that requests are sent with: those of the options, and those of a file that is read
// again when it changed. Each has its scopes, its principal, its end and its limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_options.hpp"
#include "api/key_uses.hpp"
#include "base/result.hpp"
#include "http/message.hpp"

namespace millrace::api {

// What `millrace keys` writes.
// Shape: {"version": 1, "keys": [{"id", "name", "sha256", "principal", "scopes"?: [string],
// "createdAt", "expiresAt"?: milliseconds, "limits"?: {"perMinute"?, "perDay"?}, "password"?}]}.
// Errors: invalid_option.
Result<std::vector<ApiKey>> read_key_file(std::string_view text);

// Thread: engine thread.
class ApiKeys {
 public:
  explicit ApiKeys(const ApiOptions& options);

  // Other keys, and another file of them, in place of those that it was made with. What was used of
  // a key's limits stays used.
  void set(const ApiOptions& options);

  // Whether requests need a key: there is one, or the file for them is there. A file that cannot be
  // read leaves those that are known; without any, no key is right.
  [[nodiscard]] bool are_needed();

  struct Found {
    std::shared_ptr<const http::Caller> caller = nullptr;     // null: no such key
    std::optional<std::chrono::seconds> wait = std::nullopt;  // its limit is reached
    std::string password = {};                                // as ApiKey has it
  };
  // Every key is compared, so that the time of an answer tells nothing about them.
  [[nodiscard]] Found find(std::string_view key, bool counts);
  // The same by the hash of the key.
  [[nodiscard]] Found find_hash(std::string_view sha256, bool counts);
  // What is counted of their limits.
  [[nodiscard]] KeyUses& uses() { return *uses_; }
  // Lifetime: until other keys are read. Null where no key has the name.
  [[nodiscard]] const ApiKey* by_name(std::string_view name);

 private:
  // What tells that a file is another one.
  struct Stamp {
    std::int64_t changed_ns = 0;
    std::int64_t size = -1;
    std::uint64_t node = 0;
    bool operator==(const Stamp&) const = default;
  };
  void refresh();
  [[nodiscard]] static std::optional<Stamp> stamp_of(const std::string& file);

  std::vector<ApiKey> fixed_;
  std::vector<ApiKey> stored_;
  std::string file_;
  std::optional<Stamp> stamp_;
  bool has_file_ = false;
  std::chrono::steady_clock::time_point looked_{};
  std::shared_ptr<KeyUses> uses_ = std::make_shared<KeyUses>();
};

}  // namespace millrace::api
