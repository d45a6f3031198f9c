// What the user changes where a new run is made of another one.
#pragma once

#include <string>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "journal/fold.hpp"
#include "run/durable/run_fork.hpp"
#include "store/types.hpp"

namespace millrace::run {

// `root` has the calls of the run by the record.
// Errors: invalid_argument for a call without a result, and where there is no message to edit.
Result<void> edit_state(json::Tree& saved, const ForkRequest& request,
                        const journal::FoldedBranch& root);
// The same in the messages of the thread. False where there is no message to edit.
bool edit_rows(store::ThreadUpdate& update, const ForkRequest& request);
// As the new run records them; null for none.
json::Tree edits_of(const ForkRequest& request);

}  // namespace millrace::run
