// The ledger's rules: what a call may become, and from what.
#pragma once

#include "base/result.hpp"
#include "journal/facts.hpp"

namespace millrace::journal {

bool may_become(CallState from, CallState to);

// Errors: invalid_state, naming the call: what is over stays as it is.
Result<void> check_move(std::string_view call, CallState from, CallState to);

}  // namespace millrace::journal
