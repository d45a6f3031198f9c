// What a reader that comes to a thread is shown: its messages so far, and the run that goes on
// there.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "store/backend.hpp"

namespace millrace::run {

struct ThreadView {
  // Shape: an array of AG-UI messages. What `run` has added is not among them: its records have it.
  std::string messages_json;
  // The run that is not over, the one at work before those that wait for it.
  std::optional<store::RunId> run;
};

// A thread that is not there has no messages.
// Thread: the store's.
Result<ThreadView> view_thread(store::StorageBackend& backend, const std::string& principal,
                               const std::string& thread);

}  // namespace millrace::run
