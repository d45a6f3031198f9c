// Ids of tool calls for models that take those of one shape only.
#pragma once

#include "message/message.hpp"

namespace millrace::model {

// Gives each call whose id is not of nine letters and digits such an id, made of the old one, so
// that it is the same in every request; results follow their calls. True when any was changed.
bool shorten_call_ids(message::Messages& messages);

}  // namespace millrace::model
