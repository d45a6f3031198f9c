// Tools that a vendor defines, in the requests to others: only the vendor's own models know them.
#pragma once

#include <optional>
#include <vector>

#include "message/vendor_tool.hpp"
#include "model/payload/payload.hpp"
#include "model/payload/request.hpp"
#include "model/provider/config.hpp"
#include "model/provider/providers.hpp"

namespace millrace::model {

// Whether one of the tools is defined by this vendor.
bool has_tool_of(const ChatPayload& payload, message::ToolVendor vendor);

// Whether the messages hold calls of tools that OpenAI defines, which only its Responses API takes
// back as they were. The last request of a run has no tools.
bool has_items_of_openai(const ChatPayload& payload);

// The payload without the tools that the API does not know, each of which a note names; nothing
// where it has none. What the caller alone asked of one provider is sent as it is.
std::optional<ChatPayload> without_foreign_tools(const ChatPayload& payload,
                                                 const ProviderConfig& config, Dialect dialect,
                                                 bool is_fallback, std::vector<Note>& notes);

}  // namespace millrace::model
