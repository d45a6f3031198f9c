// Memory that was freed, and that the heap holds for later.
#pragma once

#include <cstddef>

namespace millrace::os {

// Bytes that are free in the heap; 0 where the system does not tell.
std::size_t free_heap_bytes();

// Gives free memory of the heap back to the system, where it is at least so much: after many large
// answers at once the heap would hold hundreds of megabytes. It takes some milliseconds for each
// 100 MB, and threads that allocate may wait for it.
// Thread: any.
void return_free_memory(std::size_t least = std::size_t{32} << 20U);

}  // namespace millrace::os
