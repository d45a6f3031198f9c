// A made-up stream of each wire that has what answers of it may have, for tests that spoil them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace millrace::test {

struct MadeRecord {
  std::string_view event;  // the name in the frame, or ""
  std::string_view json;
};

struct MadeStream {
  std::string_view wire;
  std::span<const MadeRecord> records;
};

std::span<const MadeStream> made_streams();

// The body of a stream: each text is a record of `stream`, perhaps changed.
std::string made_body(const MadeStream& stream, std::span<const std::string> records);

}  // namespace millrace::test
