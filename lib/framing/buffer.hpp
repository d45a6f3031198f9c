// Two habits of a buffer that is used again and again: it grows no further than its limit, and it
// gives back what one large record made it take.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace millrace::framing {

// Appends `bytes`; the capacity doubles but never passes `limit` by itself. From an eighth of the
// limit on all of it is reserved, so that no copy of much stands beside another.
inline void append_bounded(std::string& buffer, std::string_view bytes, std::size_t limit) {
  const std::size_t needed = buffer.size() + bytes.size();
  if (needed > buffer.capacity()) {
    const bool is_large = needed > limit / 8;
    buffer.reserve(std::max(needed, is_large ? limit : std::min(2 * buffer.capacity(), limit)));
  }
  buffer.append(bytes);
}

// Empties the buffer and keeps its memory unless it is large.
inline void reuse(std::string& buffer) {
  constexpr std::size_t retained_bytes = 64UL * 1024UL;
  if (buffer.capacity() > retained_bytes) {
    std::string().swap(buffer);
  } else {
    buffer.clear();
  }
}

}  // namespace millrace::framing
