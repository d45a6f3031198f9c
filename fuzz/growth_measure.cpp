#include "growth_measure.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "growth_entries.hpp"
#include "growth_shapes.hpp"

namespace millrace::fuzz {
namespace {

constexpr std::size_t step = 4;
constexpr double most_growth = 11;      // memory is slower where there is more of it
constexpr double least_seconds = 0.03;  // less tells nothing
constexpr std::size_t most_bytes = std::size_t{4} << 20U;

double now() {
  std::timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The shortest of some runs: what disturbs a run only makes it longer.
double seconds_of(const json::Tree& shape, const std::string& text, int runs) {
  double best = 1e9;
  for (int run = 0; run < runs; ++run) {
    const double began = now();
    run_entry(shape, text);
    best = std::min(best, now() - began);
  }
  return best;
}

struct Pair {
  double small = 0;
  double large = 0;
  std::size_t bytes = 0;
  [[nodiscard]] bool grows_too_much() const {
    return large > least_seconds && large > small * most_growth;
  }
};

Pair measure(const json::Tree& shape, std::size_t n, int runs) {
  const std::string small = grown(shape["body"], n);
  const std::string large = grown(shape["body"], n * step);
  if (large.size() > most_bytes) return {};
  return {seconds_of(shape, small, runs), seconds_of(shape, large, runs), large.size()};
}

}  // namespace

std::string excess_of(const json::Tree& shape) {
  if (grown(shape["body"], 2).size() == grown(shape["body"], 1).size()) return {};
  for (const std::size_t n : {std::size_t{1024}, std::size_t{4096}}) {
    Pair pair = measure(shape, n, 1);
    for (int again = 0; again < 3 && pair.grows_too_much(); ++again) pair = measure(shape, n, 3);
    if (!pair.grows_too_much()) continue;
    std::array<char, 160> text{};
    std::snprintf(text.data(), text.size(),
                  "n = %zu takes %.4f s, n = %zu takes %.4f s (%zu bytes): %.1f times as long", n,
                  pair.small, n * step, pair.large, pair.bytes, pair.large / pair.small);
    return text.data();
  }
  return {};
}

}  // namespace millrace::fuzz
