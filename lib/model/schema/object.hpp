// Structured output: how a provider is asked for a JSON value that follows a schema, and what its
// answer is worth.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/provider/config.hpp"

namespace millrace::model {

// How one chat asks for an object.
//
// Shape of a request: { model, schema, name?, description?, strict?, mode?: "auto" | "schema" |
// "tool" | "json", validate?: boolean } Shape of a plan: { mode, name, wrapped, strict, schema,
// payload: { response_format? , tools?, tool_choice? }, instruction? }. `payload` are members of
// the chat's payload; `instruction` is a system message that goes first; `schema` is the caller's.
//
// The mode "schema" is constrained decoding in the vendor's dialect, "tool" a tool whose arguments
// are the object, "json" any JSON with the schema told in a message. "auto" takes the first that
// the provider and the schema allow.
// Errors: invalid_json, json_too_deep, invalid_body (no schema), invalid_option (an unknown mode),
// invalid_schema where answers are to be held to it.
Result<std::string> plan_object(const ProviderConfig& config, std::string_view request_json);

// What an answer is worth.
//
// The JSON is found between a fence's marks or other text. Members that the plan's dialect made the
// model write as null, though the schema would leave them out, are removed. With `validate` the
// value is held to the plan's schema.
// Shape of a verdict: { object } or { problems, repair: [message, message] }. `repair` are the
// messages that ask for a better answer.
// Errors: invalid_schema, schema_too_complex, invalid_json (the plan).
Result<std::string> judge_object(std::string_view plan_json, std::string_view answer,
                                 bool validate);

}  // namespace millrace::model
