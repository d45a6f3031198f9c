// Provider state of content parts that a client sends.
#pragma once

#include <functional>

#include "message/client_items.hpp"
#include "message/known_states.hpp"
#include "message/message.hpp"

namespace millrace::message {

// Whether a client may give a state that is no block of a part.
using MayBeGiven = std::function<bool(const ProviderState&)>;

// Whether the state is the list that an API's message has as its content, with nothing in it that a
// client may not give.
bool is_list_given(const ProviderState& state);

// Takes out the blocks of a provider that a client may not give, and parts that are such a block or
// name a file that is stored at the provider; a part without its block is what it shows. What the
// content of `known`, our own record of these messages, has as well stays.
void drop_untrusted_blocks(Content& content, KnownStates& known, const MayBeGiven& may_be_given,
                           Withheld& withheld);

}  // namespace millrace::message
