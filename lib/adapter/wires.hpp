// The table of wires: how each is framed and which adapter reads it.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "adapter/adapter.hpp"
#include "adapter/record_shape.hpp"

namespace millrace::adapter {

enum class FramingKind : std::uint8_t {
  sse_records,  // SSE whose records stand in `data:` alone
  sse_blocks,   // SSE whose event names matter
  ndjson,
  aws_event_stream,
};

struct Wire {
  std::string_view name;
  FramingKind framing;
  std::string_view sentinel;     // a payload that says nothing, or ""
  bool json_body;                // a body may be JSON itself: an answer that was not streamed
  bool keeps_ids;                // ids of the source may be reopened and are never replaced
  std::string_view parse_error;  // how a record that is not JSON is announced in as_received mode
  std::unique_ptr<Adapter> (*make)(const Services& services);
  shapes::Check check;  // what its records are held against, or null
};

std::span<const Wire> wires();

// The wire of this name, or nullptr.
const Wire* find_wire(std::string_view name);

}  // namespace millrace::adapter
