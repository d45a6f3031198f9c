// What of an event a protocol has no member for, so that it goes out as an event of our own beside.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"
#include "event/event.hpp"

namespace millrace::encoder {

// Whether every text and number of `value` is somewhere in what was written, whatever it is called
// there. 0, false, null and "" say nothing.
bool is_shown(const json::Value& value, std::string_view written_json);
// The same of a JSON text; one that is none says nothing.
bool is_shown(std::string_view json, std::string_view written_json);

// What a provider reported of its usage, when is_shown() is false of it, without members, at any
// depth, that say what the operator pays: `cost...` and `upstream...`, as OpenRouter, Perplexity
// and xAI have them. Else, and for a text that is no JSON, "".
std::string unshown_usage(std::string_view json, std::string_view written_json);

// Whether the reason for an end says no more than that the answer is whole, or calls tools.
bool is_usual(const event::Finish& finish);

}  // namespace millrace::encoder
