// What a server has its model make for its routes: titles of conversations.
#pragma once

#include <string_view>

#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "model/payload/payload.hpp"

namespace millrace::api {

// The request for the title of a conversation.
// Shape: `first` is {"question", "answer"}; what is long of them is cut.
Result<model::ChatPayload> title_request(std::string_view model, const json::Tree& first,
                                         IdSource& ids);

}  // namespace millrace::api
