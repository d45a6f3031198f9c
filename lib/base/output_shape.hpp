// How output is handed to the host.
#pragma once

#include <cstdint>

namespace millrace {

enum class OutputShape : std::uint8_t {
  bytes,
  text,   // UTF-8
  items,  // `,{...},{...}`, to be closed by event::close_batch: a JSON array of events
};

}  // namespace millrace
