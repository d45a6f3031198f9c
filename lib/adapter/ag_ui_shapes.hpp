// Rewrites the structured members of AG-UI events so that every client can read them: what the
// protocol requires is there, optional members are absent instead of null or of a wrong type, and
// what has no place is left out.
#pragma once

#include <string>

#include "base/json.hpp"
#include "event/event.hpp"

namespace millrace::adapter::ag_ui {

// Each appends JSON text and gives false, having appended nothing useful, when the value cannot be
// made legal.

// The messages of a snapshot; messages without id or with an unknown role are left out.
bool append_messages(std::string& out, const json::Value& messages);
// Content parts; parts of an unknown kind are left out.
bool append_parts(std::string& out, const json::Value& parts);
// The outcome of a finished subagent.
bool append_subagent_outcome(std::string& out, const json::Value& outcome);

// The outcome of a finished run; what cannot be made legal is none. Appends its list: the ids of
// calls that the client runs, or the interrupts.
event::RunOutcome read_outcome(std::string& list, const json::Value& outcome);

// True for a JSON Patch whose operations every client accepts.
bool is_patch(const json::Value& patch);
// True for a whole number of at most 53 bits.
bool is_safe_integer(const json::Value& number);

// Appends `timestamp` and `rawEvent`, which every event may have, as `"key":value,...`.
void append_source_members(std::string& out, const json::Value& event);
// Appends these and `metadata`.
void append_base_members(std::string& out, const json::Value& event);

// The texts of the text parts, joined.
std::string text_of_parts(const json::Value& parts);

}  // namespace millrace::adapter::ag_ui
