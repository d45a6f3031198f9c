// The members of a request that vendors document beyond those that a payload has a field for.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "message/json_builder.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// What is documented for every server of the dialect, and for this provider of it.
std::vector<std::string_view> documented_members(Dialect dialect, std::string_view provider);
// True when any vendor documents a member of this name.
bool is_documented_member(std::string_view name);

// What some vendor documents for a tool of the caller beyond name, description, schema, strict and
// cache_control: written where this dialect has it, noted otherwise. What no vendor documents goes
// to the first provider of a chain only.
void write_tool_members(message::JsonBuilder& out, const Draft& draft, const Tool& tool,
                        Dialect dialect);

// The payload's further members that `handled` does not name: written where no vendor documents
// them and the provider is the first of its chain, noted otherwise.
void write_undocumented(message::JsonBuilder& out, const Draft& draft,
                        std::span<const std::string_view> handled);

}  // namespace millrace::model
