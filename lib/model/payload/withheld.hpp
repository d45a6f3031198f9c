// What a conversation holds for other providers than the one that is called: blocks, members and
// reasoning that only they read. It stays in the history; a note names it, once a request.
#pragma once

#include <string_view>
#include <vector>

#include "message/shared_messages.hpp"
#include "model/payload/request.hpp"
#include "model/provider/config.hpp"
#include "model/provider/providers.hpp"

namespace millrace::model {

// Whether requests of the dialect hold the state of this provider: "anthropic", "google" ...
bool reads_state_of(Dialect dialect, std::string_view provider);

// Adds the note. A message that would say nothing without what is withheld gets a text that names
// it, so that no turn of the conversation is lost. `takes_unsigned`: see unsigned_reasoning.hpp.
void note_withheld(message::SharedMessages& messages, const ProviderConfig& config, Dialect dialect,
                   bool takes_unsigned, std::vector<Note>& notes);

}  // namespace millrace::model
