// Numbers among options that arrive as JSON: what is missing or makes no sense leaves the default.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/json.hpp"

namespace millrace::host {

inline void read_limit(const json::Value& value, std::size_t& limit) {
  if (const auto number = value.integer(); number && *number > 0) {
    limit = static_cast<std::size_t>(*number);
  }
}

// Units: milliseconds.
inline void read_time(const json::Value& value, std::chrono::milliseconds& time) {
  if (const auto number = value.integer(); number && *number >= 0) {
    time = std::chrono::milliseconds(*number);
  }
}

}  // namespace millrace::host
