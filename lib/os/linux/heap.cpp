#include "os/heap.hpp"

#include <malloc.h>

namespace millrace::os {

// Other C libraries of Linux return memory by themselves.
#ifdef __GLIBC__

std::size_t free_heap_bytes() {
  return mallinfo2().fordblks;
}

void return_free_memory(std::size_t least) {
  if (free_heap_bytes() >= least) malloc_trim(0);
}

#else

std::size_t free_heap_bytes() {
  return 0;
}

void return_free_memory(std::size_t /*least*/) {}

#endif

}  // namespace millrace::os
