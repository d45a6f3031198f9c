// Tools of a payload, and which of them the model shall call.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "model/payload/payload.hpp"

namespace millrace::model {

// An error that names a member: "`member` must ...".
Error invalid_member(std::string_view member, std::string_view must, const json::Value& given = {});

// Reads the array of tools in OpenAI's, AG-UI's or Anthropic's spelling.
// Errors: invalid_body, json_too_deep.
Result<void> read_tools(const json::Value& tools, ChatPayload& payload);

// The members of an object that are not among `known`, without those that are null.
FurtherMembers further_members(const json::Value& object,
                               std::initializer_list<std::string_view> known);

// Reads a member that is true or false, where it is there.
// Errors: invalid_body, which names it `member`.
Result<void> read_flag(const json::Value& value, std::string_view member, std::optional<bool>& out);

// Reads the choice in the spelling of either API of OpenAI, or Anthropic's.
// Errors: invalid_body.
Result<void> read_tool_choice(const json::Value& choice, ToolChoice& out);

}  // namespace millrace::model
