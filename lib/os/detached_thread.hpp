// A thread for work that may never end, such as a file of a disk that hangs.
#pragma once

#include <functional>

namespace millrace::os {

// Runs the work on a thread of its own, which blocks all signals and which nothing waits for. False
// when the system could not start one; the work is destroyed unrun then.
// Thread: any.
bool run_detached(std::function<void()> work);

}  // namespace millrace::os
