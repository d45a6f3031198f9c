// What functions of the host are called with, as it is read of a run's input.
#pragma once

#include "base/result.hpp"
#include "run/durable/function_session.hpp"
#include "run/input.hpp"
#include "store/types.hpp"

namespace millrace::run {

// The task of a run that begins with this input. Its messages are read here where nobody has read
// them before (AgentInput::state_messages).
// Errors: those of Tree::parse.
Result<FunctionTask> function_task(const store::RunId& run, const AgentInput& input);

}  // namespace millrace::run
