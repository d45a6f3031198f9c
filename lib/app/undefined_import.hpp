// Takes over what another server kept: the data folder of the Undefined server.
#pragma once

#include <cstddef>
#include <string>

#include "app/store_commands.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "store/backend.hpp"

namespace millrace::app {

// Reads conversations, the one history of older releases, attachments and the facts that were
// remembered (`memory.json`). A conversation or a fact that is there already stays as it is. The
// old history is taken over once, as its marker in the folder tells.
// Shape: {"conversations", "messages", "attachments", "facts", "factsBeyond", "skipped": numbers};
// "factsBeyond": the oldest ones, for which `most_facts` of a principal left no room.
// Errors: invalid_option for a folder that is none, or has nothing to import; those of the backend.
Result<json::Tree> import_undefined(store::StorageBackend& backend, const std::string& folder,
                                    const std::string& principal, std::size_t most_facts,
                                    const StoreProgress& progress);

}  // namespace millrace::app
