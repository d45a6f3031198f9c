// Provider state that a client sends is not the provider's word: it may be forged.
#pragma once

#include <string_view>

#include "message/client_items.hpp"
#include "message/message.hpp"

namespace millrace::message {

// Takes out the state that a client may not give: tools, approvals, results of tools that the
// provider ran, references to files, containers and stored items, members of a request. What stays
// is a closed list of each provider: kinds of state, and of each kind members, without the others.
// Items of calls that the host runs are trimmed to such a list, with their arguments and results.
// Members of messages that only the state of an agent has go as well. State that `known` has, our
// own record of these messages, is as it was. Gives the states and members that were taken out.
Withheld drop_untrusted_state(Messages& messages, const Messages& known = {});

// False where messages as JSON have nothing for drop_untrusted_state.
bool may_have_state(std::string_view messages_json);

}  // namespace millrace::message
