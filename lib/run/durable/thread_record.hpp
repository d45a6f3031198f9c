// What a thread has recorded of the messages that a client sends again.
#pragma once

#include <string>

#include "base/result.hpp"
#include "run/input.hpp"
#include "store/backend.hpp"

namespace millrace::run {

// True where the client keeps no metadata of messages, or gave state that was withheld.
bool lacks_record(const AgentInput& input);

// Gives answers, reasoning and results the `metadata.millrace` and `encryptedValue` that the
// principal's thread has under the same ids: provider state, and the order of an answer's parts.
// What a message brings of its own counts, unless some was withheld. The record counts where the
// message shows what the thread shows; `unfit_records` counts the others.
// Errors: those of StorageBackend::messages; invalid_json.
// Thread: the store's.
Result<AgentInput> with_thread_record(store::StorageBackend& backend, const std::string& principal,
                                      AgentInput input);

}  // namespace millrace::run
