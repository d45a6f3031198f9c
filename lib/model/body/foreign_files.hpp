// Files that another provider keeps, which the one that is called cannot read.
#pragma once

#include "message/message.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// Puts a text in the place of each medium of the message whose `source` is a file that another
// provider keeps by its member `provider`, with a note.
void leave_out_foreign_files(message::Message& message, const Draft& draft);

}  // namespace millrace::model
