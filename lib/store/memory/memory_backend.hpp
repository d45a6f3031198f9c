// A store that ends with its process.
#pragma once

#include <memory>

#include "store/backend.hpp"

namespace millrace::store {

std::unique_ptr<StorageBackend> make_memory_backend(Clock clock = system_clock());

}  // namespace millrace::store
