// Memory that was freed goes back to the system.

#include "os/heap.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <vector>

#include "support/sanitizers.hpp"

using namespace millrace;

namespace {

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST(Heap, FreeMemoryGoesBack) {
  constexpr std::size_t count = 2000;
  constexpr std::size_t bytes = 64'000;  // less than what the system maps by itself
  if (test::has_address_sanitizer || test::has_thread_sanitizer) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  if (os::free_heap_bytes() == 0) GTEST_SKIP() << "the heap of this build does not tell";
  std::vector<std::unique_ptr<char[]>> blocks;
  std::unique_ptr<char[]> last;
  for (std::size_t n = 0; n < count; ++n) {
    blocks.push_back(std::make_unique<char[]>(bytes));
    blocks.back()[n] = 'x';
  }
  // What stands behind them keeps the end of the heap where it is.
  last = std::make_unique<char[]>(bytes);
  blocks.clear();
  const std::size_t held = resident_bytes();
  os::return_free_memory(std::size_t{1} << 50U);
  EXPECT_GT(resident_bytes() + (count * bytes / 4), held);
  os::return_free_memory();
  EXPECT_LT(resident_bytes() + (count * bytes / 2), held);
}
