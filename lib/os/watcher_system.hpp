// What a watcher asks of the system beyond POSIX. Only calls that are safe between fork and exec.
#pragma once

namespace millrace::os {

// Closes the descriptors from `first` to `last`, where they are open.
void close_descriptors(unsigned first, unsigned last);

// Makes this process the parent of what has left the program's group (setsid) and lost its own
// parent, and gives it a name of its own.
void adopt_orphans();
// Kills all children of this process.
void kill_orphans();

}  // namespace millrace::os
