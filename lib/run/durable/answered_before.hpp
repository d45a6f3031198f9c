// Why an answer to an interrupt that is over does not count.
#pragma once

#include <optional>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "store/backend.hpp"

namespace millrace::run {

// approval_answered with what was decided, or that no answer is awaited any more.
Error answered_before(const store::ApprovalRow& approval);

// With what the user can do about a run that is damaged; other errors as they are.
Error unanswerable(Error error);

// Why the first entry of a resume list does not count whose interrupt belongs to the thread and the
// principal and is over: as answered_before, or store_damaged where its run is parked for that;
// nothing where there is none.
// Errors: those of the backend.
Result<std::optional<Error>> find_answered(store::StorageBackend& backend, const json::Tree& resume,
                                           std::string_view principal, std::string_view thread);

}  // namespace millrace::run
