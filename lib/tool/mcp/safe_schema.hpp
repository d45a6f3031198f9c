// Schemas of tools of others, as they may be shown to a model.
#pragma once

#include "base/json_tree.hpp"

namespace millrace::mcp {

// Makes the texts in a schema data, as tool::result_text does: descriptions, titles, defaults and
// examples are changed, other keywords whose texts would have to be are taken out, since they would
// demand something else then. False when a name of a member is not safe.
bool make_safe(json::Tree& schema);

}  // namespace millrace::mcp
