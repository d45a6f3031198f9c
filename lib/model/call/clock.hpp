// Chance and the clocks that model calls run with.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

#include "model/call/call.hpp"

namespace millrace::model {

class SystemRandom : public model::RandomSource {
 public:
  double next() override { return std::uniform_real_distribution<double>(0.0, 1.0)(engine_); }

 private:
  std::minstd_rand engine_{std::random_device{}()};
};

// Units: milliseconds since 1970.
inline std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

inline model::Moment moment_now() {
  return {std::chrono::steady_clock::now(), std::chrono::system_clock::now()};
}

}  // namespace millrace::model
