// Runs that work for a job. Each has a journal of its own; the job's ledger names it before it
// begins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "store/backend.hpp"

namespace millrace::run {

// As the ledger keeps the run of a child. Shape: {"run": string}.
std::string child_args(std::string_view run);
// Empty where the row is of no child.
store::RunId run_in(const store::CallRow& row);

// The runs that work for a job and for its jobs, each behind the one that began it. One that was
// named and has not begun is left out.
// Errors: those of the backend.
Result<std::vector<store::RunRow>> runs_below(store::StorageBackend& backend,
                                              const store::RunId& job);

// Adds what a child's result reports as "usage", "cost" and "notes" to the state of its job: the
// notes as agent::add_report does.
void add_child_spent(json::Tree& state, const json::Tree& result);
// The same of a row of the ledger, where it is of a child that is over.
void add_child_spent(json::Tree& state, const store::CallRow& row);

}  // namespace millrace::run
