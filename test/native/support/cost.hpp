// The cost of work that must grow with its size and not with the square of it, measured without a
// clock that other work or a slow machine could make late.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace millrace::test {

// What a try gave back stays in the process: pages that the system makes anew for each try cost
// more than the work on them, and only large tries need any.
inline void keep_heap() {
#ifdef __GLIBC__
  constexpr int most_bytes = 1 << 30;
  constexpr int most_in_heap = 32 << 20;  // glibc takes no more
  mallopt(M_TRIM_THRESHOLD, most_bytes);
  mallopt(M_MMAP_THRESHOLD, most_in_heap);
#endif
}

// Processor time that this thread has used.
inline std::chrono::duration<double> thread_time() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// The sizes of a comparison: sixteen times as much work costs about sixteen times as much, with
// what larger memory takes on a busy machine; a search among all for each one costs 256 times as
// much.
inline constexpr double most_growth = 128;
constexpr std::size_t larger(std::size_t few) {
  return 16 * few;
}

// How many times the cost of `few` the cost of `larger(few)` is. `work` takes a size and does what
// depends on it alone. The best of some tries counts, since what runs beside it takes its caches.
template <class Work>
double growth_of(const Work& work, std::size_t few) {
  constexpr int most_tries = 6;
  keep_heap();
  const auto cost = [&](std::size_t size) {
    const auto before = thread_time();
    work(size);
    return thread_time() - before;
  };
  auto of_few = cost(few);
  auto of_many = cost(larger(few));
  for (int at = 1; at < most_tries && of_many > most_growth * of_few; ++at) {
    of_few = std::min(of_few, cost(few));
    of_many = std::min(of_many, cost(larger(few)));
  }
  return of_many / of_few;
}

}  // namespace millrace::test
