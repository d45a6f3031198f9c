// Counts that others report, such as tokens.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.hpp"

namespace millrace {

// Every whole number up to it is one in JavaScript, too, and sums of many of them fit 64 bits.
inline constexpr std::int64_t largest_count = (std::int64_t{1} << 53) - 1;

// Nothing for what can be no count: less than none, a fraction, a number that no counter reaches.
inline std::optional<std::int64_t> count_of(const json::Value& value) {
  const auto count = value.integer();
  return count && *count >= 0 && *count <= largest_count ? count : std::nullopt;
}

}  // namespace millrace
