// What the fuzzers share: a check that ends the process, and random cuts taken from the input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace millrace::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

// Calls `feed` with consecutive pieces of `bytes`; their sizes follow from `seed`.
template <class Feed>
void feed_in_pieces(std::string_view bytes, std::uint8_t seed, Feed feed) {
  std::uint32_t state = seed * 2654435761U + 1U;
  while (!bytes.empty()) {
    state = state * 1664525U + 1013904223U;
    const std::size_t size = 1 + (state >> 24U) % 17U;
    feed(bytes.substr(0, size));
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
}

}  // namespace millrace::fuzz
