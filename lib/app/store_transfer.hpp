// A store as lines of JSON: `millrace storage export` and `import`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "os/descriptors.hpp"
#include "run/durable/run_replay.hpp"
#include "store/backend.hpp"

namespace millrace::app {

// Where the lines are written to or read from: a file, which is made for its user alone and must
// not exist, or a descriptor of the caller.
class TransferFile {
 public:
  // Errors: invalid_option.
  static Result<TransferFile> to_write(const json::Tree& options);
  static Result<TransferFile> to_read(const json::Tree& options);

  [[nodiscard]] int descriptor() const { return borrowed_ >= 0 ? borrowed_ : file_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  // On the disk. Errors: store_failed.
  Result<void> finish();

 private:
  os::Descriptor file_;
  int borrowed_ = -1;
  std::string path_;
};

using TransferProgress = std::function<void(std::uint64_t rows)>;

// Shape of the lines: {"format": "millrace-store", "version": 1} first, then each row
// (store::row_json), {"end": {"rows": number}} last; each with "crc" as its last member, the
// CRC-32C of all text before that member, from the first line on.
// Gives {"rows", "bytes"}. Errors: those of the backend; store_failed.
Result<json::Tree> export_store(store::StorageBackend& backend, TransferFile& to,
                                const TransferProgress& progress);

// Gives {"bytes"}. Errors: those of run::replay_run; store_failed.
Result<json::Tree> replay_into(store::StorageBackend& backend, const run::ReplayRequest& request,
                               TransferFile& to);

// Gives {"rows"}. Errors: as StorageBackend::load; invalid_argument with the number of a line that
// is damaged or missing.
Result<json::Tree> import_store(store::StorageBackend& backend, TransferFile& from,
                                const TransferProgress& progress);

}  // namespace millrace::app
