// Deletes a thread of a page that cannot stop its runs first.
#pragma once

#include <functional>
#include <string>

#include "api/api_context.hpp"

namespace millrace::api {

// Stops the runs of a thread that are not over, and deletes it with all that belongs to it.
// Errors: run_conflict where a run is not over within 5 seconds, as one in another process; those of `thread.delete`
// (run/durable/chat_storage.hpp).
// Thread: engine thread.
void remove_thread(const ApiContextPtr& context, json::Tree options,
                   std::function<void(const Result<json::Tree>&)> done);

}  // namespace millrace::api
