// Provider state that a client sends is not the provider's word: it may be forged.
#pragma once

#include <cstddef>

#include "message/message.hpp"

namespace millrace::message {

// Takes out the state that a client may not give: tools, approvals, results of tools that the
// provider ran, references to files, containers and stored items, members of a request. What stays
// is a closed list of each provider. Gives how many states were taken out.
std::size_t drop_untrusted_state(Messages& messages);

}  // namespace millrace::message
