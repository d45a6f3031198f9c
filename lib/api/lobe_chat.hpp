// Chats whose model the client of LobeHub's server calls itself: their messages are stored, and
// objects are made for it.
#pragma once

#include <vector>

#include "api/api_context.hpp"

namespace millrace::api {

std::vector<ApiRoute> lobe_chat_routes(const ApiContextPtr& context);

}  // namespace millrace::api
