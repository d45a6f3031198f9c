// Calls that another provider ran than the one that is called: its models have no such tool, and a
// function of that name was never declared. They are sent as text of the assistant.
// Source: docs/decisions/vendor-calls.md.
#pragma once

#include <string_view>
#include <vector>

#include "message/shared_messages.hpp"
#include "model/payload/request.hpp"
#include "model/provider/config.hpp"
#include "model/provider/providers.hpp"

namespace millrace::model {

// Puts the text of each such call and of its result in their place, and adds one note. An image
// that a call made is in the next message of the user where the API takes images; else the note
// names it. Calls of the provider itself, and those of the host's tools, stay as they are.
void spell_vendor_calls(message::SharedMessages& messages, const ProviderConfig& config,
                        Dialect dialect, std::string_view model, std::vector<Note>& notes);

}  // namespace millrace::model
