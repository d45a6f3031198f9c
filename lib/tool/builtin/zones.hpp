// Time zones of the IANA database, as the system's compiled files (TZif, RFC 8536) tell them. The
// C library's own functions would change the zone of the whole process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::tool {

// What the clocks of a zone show at a moment.
struct ZoneOffset {
  std::int32_t seconds = 0;  // east of UTC
  bool is_daylight = false;
  std::string abbreviation;
};

// Reads a compiled zone and says what it has at `unix_seconds`.
// Errors: invalid_argument for bytes that are no TZif file.
Result<ZoneOffset> offset_in(std::string_view tzif, std::int64_t unix_seconds);

// The same for a name such as "Europe/Berlin", in whatever capitals; "UTC" needs no file.
// Errors: invalid_argument for an unknown name.
Result<ZoneOffset> offset_of(std::string_view zone, std::int64_t unix_seconds);

}  // namespace millrace::tool
