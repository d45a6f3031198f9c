// Event -> JSON object in AG-UI's spelling.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.hpp"
#include "event/event.hpp"

namespace millrace::event {

// How the events without an AG-UI type are written.
enum class Extras : std::uint8_t {
  custom,      // CUSTOM events whose name starts with "millrace."
  diagnostic,  // objects whose type starts with "@", which a host takes out before a user sees them
};

struct Spelling {
  Extras extras = Extras::custom;
  json::Surrogates surrogates = json::Surrogates::replace;
  bool tool_error_members = false;  // isError and error on TOOL_CALL_RESULT, as OpenUI reads them
  bool tool_result_parts = true;    // content of a tool result may be an array of parts
};

// Appends the event as one JSON object.
void write_json(std::string& out, const Event& event, const Spelling& spelling);

// Appends AG-UI's outcome object; nothing for RunOutcome::none.
void write_outcome(std::string& out, const RunEnd& end);

// Appends the members of AG-UI's TokenUsage as one JSON object.
void write_usage(std::string& out, const Usage& usage);

}  // namespace millrace::event
