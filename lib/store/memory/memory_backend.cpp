#include "store/memory/memory_backend.hpp"

#include <utility>

#include "store/memory/backend_impl.hpp"

namespace millrace::store {

std::unique_ptr<StorageBackend> make_memory_backend(Clock clock) {
  return std::make_unique<memory::Backend>(std::move(clock));
}

}  // namespace millrace::store
