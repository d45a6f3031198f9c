// What the store knows of a run that goes on: where it stood, and what its readers have half of.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "event/event.hpp"
#include "journal/fold.hpp"
#include "journal/open_parts.hpp"
#include "journal/record.hpp"
#include "store/backend.hpp"

namespace millrace::run {

struct StoredRun {
  store::Claim claim;
  journal::RunFold fold;
  journal::OpenParts open;
  json::Tree checkpoint;  // {"state", "context"}; null: none
  std::int64_t next_checkpoint = 0;
  std::map<std::string, store::CallRow, std::less<>> ledger;
  // Of the facts `accepted` and the last `segment`.
  std::string client_tools_json;
  std::string context_json;
  std::string ag_ui_run;
  std::string parent_run_id;
  std::string protocol;
  bool is_between_segments = false;  // its last AG-UI run has ended for the readers
  // Answers of the user since the last checkpoint, as AG-UI's resume entries.
  std::vector<std::string> answers;
};

// The last checkpoint and the number of the next one.
// Errors: those of the backend; store_damaged where checkpoints do not fit each other.
struct StoredState {
  json::Tree checkpoint;
  std::int64_t next_number = 0;
};
Result<StoredState> load_state(store::StorageBackend& backend, const store::RunId& run);

// Errors: those of the backend; store_damaged where checkpoints do not fit each other.
Result<std::shared_ptr<StoredRun>> load_run(store::StorageBackend& backend, store::Claim claim);

}  // namespace millrace::run
