#include "store/memory/memory_backend.hpp"

#include "store/conformance.hpp"

namespace millrace::store {
namespace {

std::unique_ptr<StoreRig> memory_rig(Clock clock) {
  auto rig = std::make_unique<StoreRig>();
  rig->backend = make_memory_backend(std::move(clock));
  return rig;
}

INSTANTIATE_TEST_SUITE_P(Memory, StorageConformance, testing::Values(memory_rig));

}  // namespace
}  // namespace millrace::store
